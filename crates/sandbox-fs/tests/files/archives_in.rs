//! Ordinary archives are unpacked as by `tar x` and merged with existing entries.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sandbox_fs::{ArchiveFormat, ArchiveLimits, Error, Extracted, LISTED_PATHS, Result};

use crate::support::{Scratch, leftovers, path, snapshot};

/// One entry of an archive, with arbitrary bytes in its header.
#[derive(Debug, Clone)]
pub(crate) struct Packed {
    pub(crate) name: Vec<u8>,
    pub(crate) kind: u8,
    pub(crate) mode: u32,
    pub(crate) modified: u64,
    pub(crate) link: Vec<u8>,
    pub(crate) data: Vec<u8>,
}

impl Packed {
    pub(crate) fn new(kind: u8, name: &str, link: &str, data: &[u8]) -> Self {
        let (name, link, data) = (name.into(), link.into(), data.to_vec());
        Self { name, kind, mode: 0o644, modified: 1_600_000_000, link, data }
    }

    pub(crate) fn file(name: &str, contents: &str) -> Self {
        Self::new(b'0', name, "", contents.as_bytes())
    }

    pub(crate) fn directory(name: &str, mode: u32) -> Self {
        Self { mode, ..Self::new(b'5', name, "", b"") }
    }

    pub(crate) fn link(name: &str, target: &str) -> Self {
        Self::new(b'2', name, target, b"")
    }

    pub(crate) fn hard_link(name: &str, target: &str) -> Self {
        Self::new(b'1', name, target, b"")
    }

    pub(crate) fn header(&self) -> tar::Header {
        let mut header = tar::Header::new_ustar();
        header.as_old_mut().name[..self.name.len()].copy_from_slice(&self.name);
        header.as_old_mut().linkname[..self.link.len()].copy_from_slice(&self.link);
        header.as_mut_bytes()[156] = self.kind;
        header.set_mode(self.mode);
        header.set_mtime(self.modified);
        header.set_size(self.data.len() as u64);
        header.set_cksum();
        header
    }

    pub(crate) fn append_to(&self, archive: &mut Vec<u8>) {
        archive.extend_from_slice(self.header().as_bytes());
        archive.extend_from_slice(&self.data);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
}

/// Builds a complete archive, end marker included.
pub(crate) fn pack(entries: &[Packed]) -> Vec<u8> {
    let mut archive = Vec::new();
    for entry in entries {
        entry.append_to(&mut archive);
    }
    archive.resize(archive.len() + 1024, 0);
    archive
}

pub(crate) fn extract(scratch: &Scratch, name: &str, archive: &[u8]) -> Result<Extracted> {
    scratch.service.extract_archive(&path(name), ArchiveFormat::Tar, ArchiveLimits::default(), archive)
}

/// Modification times of everything below a directory, to the second.
fn times(top: &Path) -> BTreeMap<PathBuf, i64> {
    let names = snapshot(top).into_keys();
    names.map(|name| (name.clone(), top.join(name).symlink_metadata().unwrap().mtime())).collect()
}

/// Unpacks with the system's `tar`, as a user other than root would.
fn unpack_with_tar(archive: &[u8], target: &Path) {
    let mut child = Command::new("tar")
        .args(["-x", "-f", "-", "--no-same-owner", "--no-same-permissions", "-C"])
        .arg(target)
        .stdin(Stdio::piped())
        .spawn()
        .expect("this test needs tar");
    child.stdin.take().unwrap().write_all(archive).unwrap();
    assert!(child.wait().unwrap().success());
}

fn assert_same_as_tar(entries: &[Packed], prepare: impl Fn(&Path)) {
    let archive = pack(entries);
    let scratch = Scratch::unconfined();
    let (ours, theirs) = (scratch.directory("ours"), scratch.directory("theirs"));
    prepare(&ours);
    prepare(&theirs);
    extract(&scratch, "ours", &archive).unwrap();
    unpack_with_tar(&archive, &theirs);
    assert_eq!(snapshot(&ours), snapshot(&theirs));
    assert_eq!(times(&ours), times(&theirs));
}

#[test]
fn links_repeated_names_modes_and_times_come_out_as_with_tar() {
    let entries = [
        Packed::directory("top/", 0o750),
        Packed { mode: 0o4755, ..Packed::file("top/program", "run") },
        Packed { mode: 0o444, ..Packed::file("top/fixed", "fixed") },
        Packed::directory("top/closed", 0o555),
        Packed::file("top/closed/inner", "inner"),
        Packed::file("twice", "first"),
        Packed::link("link", "top/closed/inner"),
        Packed::hard_link("twin", "top/program"),
        Packed::file("twice", "second"),
        Packed::file("becomes", "a file"),
        Packed::directory("becomes", 0o755),
        Packed::file("becomes/inner", "a directory now"),
        Packed::directory("goes", 0o755),
        Packed::file("goes", "a file now"),
        Packed::link("relink", "nowhere"),
        Packed::link("relink", "twice"),
        Packed::file("./dotted/./implied/file", "x"),
        Packed::hard_link("twice-too", "twice"),
        Packed::new(b'7', "contiguous", "", b"x"),
        Packed::new(b'\0', "old-style", "", b"x"),
    ];
    // Implied directories get the current time, so this archive has explicit entries for them.
    let implied = [Packed::directory("dotted", 0o755), Packed::directory("dotted/implied", 0o755)];
    assert_same_as_tar(&[&entries[..], &implied[..]].concat(), |_| {});
}

#[test]
fn links_that_go_up_but_stay_inside_are_unpacked() {
    let scratch = Scratch::unconfined();
    let entries =
        [Packed::link("a/b/up", "../../c/file"), Packed::file("c/file", "here"), Packed::link("a/self", ".")];
    extract(&scratch, "to", &pack(&entries)).unwrap();
    assert_eq!((scratch.read("to/a/b/up"), scratch.read("to/a/self/b/up")), ("here".into(), "here".into()));
}

#[test]
fn existing_entries_are_merged_as_with_tar() {
    let entries = [
        Packed::directory("directory", 0o700),
        Packed::file("directory/new", "new"),
        Packed::file("directory/replaced", "new"),
        Packed::file("was-link", "new"),
        Packed::file("was-empty-directory", "new"),
        Packed::directory("was-file", 0o755),
        Packed::file("was-file/inner", "new"),
        Packed::directory("was-link-to-directory", 0o755),
        Packed::file("was-link-to-directory/inner", "new"),
        Packed::link("link-for-file", "directory"),
    ];
    assert_same_as_tar(&entries, |target| {
        fs::create_dir(target.join("directory")).unwrap();
        fs::write(target.join("directory/replaced"), "old").unwrap();
        fs::write(target.join("directory/untouched"), "old").unwrap();
        fs::write(target.join("kept"), "kept").unwrap();
        std::os::unix::fs::symlink("kept", target.join("was-link")).unwrap();
        fs::create_dir(target.join("was-empty-directory")).unwrap();
        fs::write(target.join("was-file"), "old").unwrap();
        std::os::unix::fs::symlink("directory", target.join("was-link-to-directory")).unwrap();
        fs::write(target.join("link-for-file"), "old").unwrap();
        for name in ["directory/replaced", "directory/untouched", "kept"] {
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_500_000_000);
            fs::File::open(target.join(name)).unwrap().set_modified(time).unwrap();
        }
    });
}

#[test]
fn names_below_a_link_of_the_same_archive_follow_it_as_with_tar() {
    let entries = [
        Packed::file("lib64/a", "a"),
        Packed::link("lib", "lib64"),
        Packed::file("lib/b", "b"),
        Packed::directory("lib64", 0o755),
    ];
    assert_same_as_tar(&entries, |_| {});
}

#[test]
fn archives_of_every_format_that_tar_writes_are_read() {
    let scratch = Scratch::unconfined();
    let long = "n".repeat(120);
    scratch.file(&format!("source/{long}/{long}/file"), "deep");
    scratch.file("source/plain", &"contents ".repeat(10_000));
    scratch.file("source/empty", "");
    scratch.link("source/link", format!("{long}/{long}/file"));
    fs::hard_link(scratch.at("source/plain"), scratch.at("source/twin")).unwrap();
    fs::set_permissions(scratch.at("source/plain"), PermissionsExt::from_mode(0o640)).unwrap();
    for format in ["gnu", "pax", "oldgnu", "posix"] {
        let output = Command::new("tar")
            .args(["-c", "-C"])
            .arg(scratch.at("source"))
            .args([&format!("--format={format}"), "."])
            .output()
            .expect("this test needs tar");
        assert!(output.status.success());
        let outcome = extract(&scratch, format, &output.stdout).unwrap();
        assert_eq!(snapshot(&scratch.at(format)), snapshot(&scratch.at("source")), "{format}");
        assert_eq!(times(&scratch.at(format)), times(&scratch.at("source")), "{format}");
        assert_eq!(outcome.count, 8);
    }
    let pax = fs::metadata(scratch.at("pax/plain")).unwrap();
    assert_eq!(pax.mtime_nsec(), fs::metadata(scratch.at("source/plain")).unwrap().mtime_nsec());
}

#[test]
fn compressed_archives_are_read_as_they_are_declared() {
    let archive = pack(&[Packed::file("a", &"text ".repeat(100_000))]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&archive[..1000]).unwrap();
    let mut first = gzip.finish().unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&archive[1000..]).unwrap();
    // Two consecutive members are one stream.
    first.extend(gzip.finish().unwrap());
    let zstd = zstd::encode_all(archive.as_slice(), 3).unwrap();
    for (format, bytes) in [(ArchiveFormat::TarGzip, first), (ArchiveFormat::TarZstd, zstd)] {
        let scratch = Scratch::unconfined();
        let limits = ArchiveLimits::default();
        scratch.service.extract_archive(&path("."), format, limits, bytes.as_slice()).unwrap();
        assert_eq!(scratch.read("a"), "text ".repeat(100_000));
        let cut = &bytes[..bytes.len() - 4];
        let error = scratch.service.extract_archive(&path("b"), format, limits, cut).unwrap_err();
        assert!(matches!(error, Error::ArchiveRejected { .. }), "{error:?}");
        let error =
            scratch.service.extract_archive(&path("b"), format, limits, archive.as_slice()).unwrap_err();
        assert!(matches!(error, Error::ArchiveRejected { .. }), "{error:?}");
        assert!(!scratch.at("b").exists());
    }
}

#[test]
fn the_result_lists_the_first_paths_and_counts_all() {
    let scratch = Scratch::unconfined();
    let entries: Vec<_> =
        (0..LISTED_PATHS + 5).map(|number| Packed::file(&format!("d/{number}"), "")).collect();
    let outcome = extract(&scratch, "to", &pack(&entries)).unwrap();
    assert_eq!(outcome.target, scratch.at("to"));
    assert_eq!(outcome.paths.len(), LISTED_PATHS);
    assert_eq!(outcome.paths[1], scratch.at("to/d/1"));
    assert_eq!((outcome.count, outcome.truncated), (LISTED_PATHS as u64 + 5, true));
    let outcome = extract(&scratch, "to", &pack(&entries[..3])).unwrap();
    assert_eq!((outcome.paths.len(), outcome.count, outcome.truncated), (3, 3, false));
}

#[test]
fn an_existing_target_keeps_its_mode_and_a_new_one_gets_the_archives() {
    let scratch = Scratch::unconfined();
    let there = scratch.directory("there");
    fs::set_permissions(&there, PermissionsExt::from_mode(0o755)).unwrap();
    let archive = pack(&[Packed::directory("./", 0o700), Packed::file("./a", "")]);
    let mode = |name: &str| fs::metadata(scratch.at(name)).unwrap().mode() & 0o777;
    extract(&scratch, "there", &archive).unwrap();
    extract(&scratch, "made/new", &archive).unwrap();
    assert_eq!((mode("there"), mode("made/new")), (0o755, 0o700));
}

#[test]
fn a_hard_link_may_name_an_existing_file_of_the_target() {
    let scratch = Scratch::unconfined();
    scratch.file("to/there", "kept");
    extract(&scratch, "to", &pack(&[Packed::hard_link("twin", "there")])).unwrap();
    assert_eq!(scratch.read("to/twin"), "kept");
    assert!(leftovers(&scratch.workspace).is_empty());
}

#[test]
fn an_empty_archive_creates_its_target_and_nothing_else() {
    let scratch = Scratch::unconfined();
    let outcome = extract(&scratch, "to", &pack(&[])).unwrap();
    assert_eq!((outcome.count, outcome.truncated), (0, false));
    assert_eq!(snapshot(&scratch.at("to")).len(), 0);
    let error = extract(&scratch, "to", b"").unwrap_err();
    assert!(matches!(error, Error::ArchiveRejected { .. }), "an empty stream is not an archive: {error:?}");
}

#[test]
fn a_failing_source_is_not_reported_as_a_damaged_archive() {
    struct Cut(Vec<u8>, usize);
    impl std::io::Read for Cut {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let left = &self.0[self.1..];
            if left.is_empty() {
                return Err(std::io::ErrorKind::ConnectionReset.into());
            }
            let count = left.len().min(buffer.len()).min(100);
            buffer[..count].copy_from_slice(&left[..count]);
            self.1 += count;
            Ok(count)
        }
    }
    let scratch = Scratch::unconfined();
    let archive = pack(&[Packed::file("a", &"x".repeat(5000))]);
    let limits = ArchiveLimits::default();
    for cut in [0, 300, 3000] {
        let source = Cut(archive[..cut].to_vec(), 0);
        let error =
            scratch.service.extract_archive(&path("to"), ArchiveFormat::Tar, limits, source).unwrap_err();
        assert!(matches!(error, Error::InputFailed { .. }), "{error:?}");
        assert!(scratch.snapshot().is_empty());
    }
}
