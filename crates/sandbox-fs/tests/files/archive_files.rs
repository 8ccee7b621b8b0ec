//! Archives that are files, as installs use them: every kind is unpacked by the same rules, with modes that
//! do not depend on the packer.

use std::fs::{self, File};
use std::io::{Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sandbox_fs::{
    ArchiveLimits, Attributes, Backslashes, Error, ExtractOptions, FileFormat, RejectReason, Result,
    extract_file,
};
use tempfile::TempDir;
use zip::write::SimpleFileOptions;

use crate::archives_in::{Packed, pack};
use crate::support::snapshot;

const INSTALL: ExtractOptions = ExtractOptions {
    limits: ArchiveLimits { max_bytes: Some(1 << 20), max_entries: Some(100) },
    strip_components: 0,
    attributes: Attributes::Normalized,
    backslashes: Backslashes::Refuse,
};

fn file_of(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.rewind().unwrap();
    file
}

/// Unpacks into `target` inside a new folder, and checks that nothing else appears there.
fn unpack(bytes: &[u8], format: FileFormat, options: ExtractOptions) -> (TempDir, Result<()>) {
    let around = TempDir::new().unwrap();
    let target = around.path().join("target");
    fs::create_dir(&target).unwrap();
    let result = extract_file(&file_of(bytes), format, &target, options).map(drop);
    assert_eq!(fs::read_dir(around.path()).unwrap().count(), 1, "something was created outside");
    if result.is_err() {
        assert_eq!(fs::read_dir(&target).unwrap().count(), 0, "a part of a refused archive is left");
    }
    (around, result)
}

fn refused(bytes: &[u8], format: FileFormat) -> (String, RejectReason) {
    match unpack(bytes, format, INSTALL).1 {
        Err(Error::ArchiveRejected { entry, reason }) => {
            (entry.map(|entry| entry.display().to_string()).unwrap_or_default(), reason)
        }
        other => panic!("{other:?}"),
    }
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

/// A zip file with one file that has the given name and mode.
fn zip_of(name: &str, unix_mode: u32, content: &str) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .unix_permissions(unix_mode & 0o777)
        .compression_method(zip::CompressionMethod::Deflated);
    zip.start_file(name, options).unwrap();
    zip.write_all(content.as_bytes()).unwrap();
    let mut bytes = zip.finish().unwrap().into_inner();
    // The zip writer sets the kind of an entry itself, so the mode is written into the central directory
    // afterwards.
    let entry = bytes.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
    let attributes = u32::from_le_bytes(bytes[entry + 38..entry + 42].try_into().unwrap());
    let attributes = attributes & 0xffff | unix_mode << 16;
    bytes[entry + 38..entry + 42].copy_from_slice(&attributes.to_le_bytes());
    bytes
}

#[test]
fn every_kind_unpacks_to_the_same_files() {
    let tar = pack(&[
        Packed { mode: 0o4711, ..Packed::file("bin/tool", "run") },
        Packed { mode: 0o600, ..Packed::file("share/text", "read") },
        Packed::directory("share/empty", 0o700),
        Packed::link("tool", "bin/tool"),
    ]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&tar).unwrap();
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(&tar).unwrap();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file("bin/tool", SimpleFileOptions::default().unix_permissions(0o711)).unwrap();
    zip.write_all(b"run").unwrap();
    zip.start_file("share/text", SimpleFileOptions::default().unix_permissions(0o600)).unwrap();
    zip.write_all(b"read").unwrap();
    zip.add_directory("share/empty", SimpleFileOptions::default().unix_permissions(0o700)).unwrap();
    zip.add_symlink("tool", "bin/tool", SimpleFileOptions::default()).unwrap();
    let kinds = [
        (FileFormat::TarGzip, gzip.finish().unwrap()),
        (FileFormat::TarBzip2, bzip2.finish().unwrap()),
        (FileFormat::TarZstd, zstd::encode_all(tar.as_slice(), 1).unwrap()),
        (FileFormat::Zip, zip.finish().unwrap().into_inner()),
    ];
    let mut seen = Vec::new();
    for (format, bytes) in kinds {
        let (around, result) = unpack(&bytes, format, INSTALL);
        result.unwrap_or_else(|error| panic!("{format:?}: {error}"));
        let target = around.path().join("target");
        assert_eq!(mode(&target.join("bin/tool")), 0o755, "{format:?}");
        assert_eq!(mode(&target.join("share/text")), 0o644, "{format:?}");
        assert_eq!((mode(&target.join("share")), mode(&target.join("share/empty"))), (0o755, 0o755));
        assert_eq!(fs::read_to_string(target.join("tool")).unwrap(), "run");
        seen.push(snapshot(&target));
    }
    seen.dedup();
    assert_eq!(seen.len(), 1, "{seen:#?}");
}

#[test]
fn names_in_a_zip_that_lead_out_are_refused() {
    for (name, reason) in [
        ("../evil", RejectReason::ParentComponent),
        ("a/../../evil", RejectReason::ParentComponent),
        ("/etc/evil", RejectReason::AbsoluteName),
        ("a\\evil", RejectReason::Backslash),
    ] {
        assert_eq!(refused(&zip_of(name, 0o100_644, "x"), FileFormat::Zip), (name.to_owned(), reason));
    }
}

#[test]
fn links_and_special_files_in_a_zip_follow_the_same_rules_as_in_a_tar() {
    let outside = RejectReason::LinkOutside { target: "../outside".into() };
    let link = zip_of("link", 0o120_777, "../outside");
    assert_eq!(refused(&link, FileFormat::Zip), ("link".to_owned(), outside));
    let device = zip_of("disk", 0o060_644, "");
    assert_eq!(refused(&device, FileFormat::Zip), ("disk".to_owned(), RejectReason::Device));
    let fifo = zip_of("pipe", 0o010_644, "");
    assert_eq!(refused(&fifo, FileFormat::Zip), ("pipe".to_owned(), RejectReason::Fifo));
}

#[test]
fn a_zip_whose_data_is_longer_than_it_says_is_refused() {
    let mut bytes = zip_of("bomb", 0o100_644, &"0".repeat(100_000));
    let entry = bytes.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
    bytes[entry + 24..entry + 28].copy_from_slice(&10_u32.to_le_bytes());
    let (entry, reason) = refused(&bytes, FileFormat::Zip);
    assert_eq!(entry, "bomb");
    assert!(matches!(reason, RejectReason::BadCompression | RejectReason::WrongSize), "{reason:?}");
}

#[test]
fn zips_above_a_limit_or_damaged_are_refused() {
    let big = zip_of("big", 0o100_644, &"0".repeat(2 << 20));
    let result = unpack(&big, FileFormat::Zip, INSTALL).1;
    assert!(matches!(result, Err(Error::TooLarge { limit: 1_048_576 })), "{result:?}");
    let none = ExtractOptions { limits: ArchiveLimits { max_bytes: None, max_entries: Some(0) }, ..INSTALL };
    let result = unpack(&zip_of("a", 0o100_644, ""), FileFormat::Zip, none).1;
    assert!(matches!(result, Err(Error::TooManyEntries { limit: 0 })), "{result:?}");
    assert_eq!(refused(b"PK\x03\x04 and nothing more", FileFormat::Zip).1, RejectReason::BadZip);
    let mut damaged = zip_of("text", 0o100_644, &"0123456789".repeat(1000));
    let data = 30 + "text".len();
    damaged[data + 4] ^= 0xff;
    let (entry, reason) = refused(&damaged, FileFormat::Zip);
    assert_eq!(entry, "text");
    assert!(matches!(reason, RejectReason::BadCompression | RejectReason::WrongSize), "{reason:?}");
}

#[test]
fn backslashes_are_only_refused_where_the_options_say_so() {
    let archive = zstd::encode_all(pack(&[Packed::file("a\\b", "x")]).as_slice(), 1).unwrap();
    assert_eq!(refused(&archive, FileFormat::TarZstd), ("a\\b".to_owned(), RejectReason::Backslash));
    let (around, result) = unpack(&archive, FileFormat::TarZstd, ExtractOptions::default());
    result.unwrap();
    assert_eq!(fs::read_to_string(around.path().join("target/a\\b")).unwrap(), "x");
}
