//! Fuzzes uploaded archives: nothing is written outside of the target, a rejected archive changes nothing,
//! and the limits hold.

#![no_main]

use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sandbox_agent_fuzz::Sandbox;
use sandbox_fs::{ArchiveFormat, ArchiveLimits, Error, UserPath};

const LIMITS: ArchiveLimits = ArchiveLimits { max_bytes: Some(100_000), max_entries: Some(50) };

#[derive(Debug, Arbitrary)]
enum Archive {
    /// Any bytes, in one of the formats.
    Bytes(Compressed, Vec<u8>),
    /// Entries with valid headers. The fuzzer would rarely guess the checksum of a header.
    Entries(bool, Vec<Entry>),
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Compressed {
    No,
    Gzip,
    Zstd,
}

#[derive(Debug, Arbitrary)]
struct Entry {
    /// The type flag in the header: file, links, device, directory, extended headers, or any other byte.
    kind: u8,
    name: Vec<u8>,
    link: Vec<u8>,
    mode: u16,
    /// The size in the header, if it differs from the size of the content.
    size: Option<u32>,
    content: Vec<u8>,
    /// The number of zero blocks after the content.
    padding: u8,
}

impl Entry {
    /// Writes the entry with a tar header in the "ustar" format.
    fn write_to(&self, archive: &mut Vec<u8>) {
        const KINDS: &[u8] = b"0123456789xgLKSV\0";
        let mut header = [0_u8; 512];
        let mut put = |at: usize, length: usize, bytes: &[u8]| {
            let length = bytes.len().min(length);
            header[at..at + length].copy_from_slice(&bytes[..length]);
        };
        let size = self.size.unwrap_or(self.content.len() as u32);
        put(0, 100, &self.name);
        put(100, 8, format!("{:07o}", self.mode).as_bytes());
        put(108, 8, b"0000000");
        put(116, 8, b"0000000");
        put(124, 12, format!("{size:011o}").as_bytes());
        put(136, 12, b"00000000000");
        put(156, 1, &[KINDS[usize::from(self.kind) % KINDS.len()]]);
        put(157, 100, &self.link);
        put(257, 8, b"ustar\x0000");
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        archive.extend_from_slice(&header);
        archive.extend_from_slice(&self.content);
        archive.resize(archive.len().next_multiple_of(512), 0);
        archive.resize(archive.len() + usize::from(self.padding % 3) * 512, 0);
    }
}

impl Archive {
    fn encoded(&self) -> (ArchiveFormat, Vec<u8>) {
        match self {
            Self::Bytes(Compressed::No, bytes) => (ArchiveFormat::Tar, bytes.clone()),
            Self::Bytes(Compressed::Gzip, bytes) => (ArchiveFormat::TarGzip, bytes.clone()),
            Self::Bytes(Compressed::Zstd, bytes) => (ArchiveFormat::TarZstd, bytes.clone()),
            Self::Entries(is_compressed, entries) => {
                let mut archive = Vec::new();
                for entry in entries {
                    entry.write_to(&mut archive);
                }
                archive.resize(archive.len() + 1024, 0);
                if !is_compressed {
                    return (ArchiveFormat::Tar, archive);
                }
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(&archive).expect("memory takes it");
                (ArchiveFormat::TarGzip, encoder.finish().expect("memory takes it"))
            }
        }
    }
}

fuzz_target!(|archive: Archive| {
    let sandbox = Sandbox::new();
    let (format, bytes) = archive.encoded();
    let path = UserPath::parse("target").expect("a valid path");
    let target = sandbox.workspace().join("target");
    match sandbox.service.extract_archive(&path, format, LIMITS, &bytes[..]) {
        Ok(extracted) => {
            let mut found = Found::default();
            found.look_at(&target, &target);
            assert!(Some(extracted.count) <= LIMITS.max_entries, "{} entries", extracted.count);
            assert!(Some(found.bytes) <= LIMITS.max_bytes, "{} bytes", found.bytes);
            // The archive may contain an entry twice, or leave out folders that its names imply.
            assert!(Some(found.entries) <= LIMITS.max_entries, "{} entries on disk", found.entries);
        }
        Err(
            Error::ArchiveRejected { .. }
            | Error::TooLarge { .. }
            | Error::TooManyEntries { .. }
            | Error::InputFailed { .. },
        ) => assert!(!target.exists(), "a rejected archive changes nothing"),
        Err(error) => panic!("an archive cannot cause this: {error:?}"),
    }
    sandbox.check();
});

#[derive(Default)]
struct Found {
    entries: u64,
    bytes: u64,
}

impl Found {
    fn look_at(&mut self, target: &Path, folder: &Path) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let metadata = path.symlink_metadata().expect("it is there");
            let kind = metadata.file_type();
            self.entries += 1;
            assert!(!kind.is_block_device() && !kind.is_char_device(), "{path:?} is a device");
            assert!(!kind.is_fifo() && !kind.is_socket(), "{path:?} is a pipe or a socket");
            if kind.is_symlink() {
                if let Ok(leads_to) = path.canonicalize() {
                    assert!(leads_to.starts_with(target), "{path:?} leads to {leads_to:?}");
                }
                assert!(!fs::read_link(&path).expect("a link").as_os_str().as_bytes().starts_with(b"/"));
                continue;
            }
            assert_eq!(metadata.permissions().mode() & 0o6000, 0, "{path:?} has set-id bits");
            if kind.is_dir() {
                self.look_at(target, &path);
            } else {
                self.bytes += metadata.len();
            }
        }
    }
}
