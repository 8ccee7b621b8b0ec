//! Memory use is independent of the size of the file or directory.

use std::fs;
use std::io::Read;

use sandbox_fs::{ArchiveFormat, ArchiveLimits, WriteOptions};

use crate::archives_in::Packed;
use crate::support::{Rules, Scratch, in_child, path};

const GIBIBYTE: u64 = 1 << 30;
const ALLOWED_GROWTH: u64 = 16 << 20;

/// The peak memory of this process, in bytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

fn assert_flat(what: &str, body: impl FnOnce()) {
    let before = peak();
    body();
    let growth = peak() - before;
    assert!(growth < ALLOWED_GROWTH, "{what} needed {growth} more bytes");
}

#[test]
fn a_gigabyte_is_transferred_and_archived_in_constant_memory() {
    let test = "memory::a_gigabyte_is_transferred_and_archived_in_constant_memory";
    in_child(test, Rules::Same, || {
        let scratch = Scratch::unconfined();
        let source = scratch.file("source/a", "");
        // A sparse file takes no disk space; its copies take some for the duration of the test.
        fs::File::options().write(true).open(&source).unwrap().set_len(GIBIBYTE).unwrap();
        assert_flat("copying through reader and writer", || {
            let mut chunks = scratch.service.open_file(&path("source/a")).unwrap().whole();
            let mut writer = scratch.service.begin_write(&path("copy"), &WriteOptions::default()).unwrap();
            while let Some(chunk) = chunks.next_chunk().unwrap() {
                writer.write_chunk(&chunk).unwrap();
            }
            assert_eq!(writer.commit().unwrap().bytes_written, GIBIBYTE);
        });
        fs::remove_file(scratch.at("copy")).unwrap();
        assert_flat("packing", || {
            let builder = scratch.service.open_archive(&path("source")).unwrap();
            assert_eq!(builder.write_to(ArchiveFormat::Tar, std::io::sink()).unwrap(), 1);
        });
        assert_flat("unpacking", || {
            let mut header = Packed::file("big", "").header();
            header.set_size(GIBIBYTE);
            header.set_cksum();
            let archive = header.as_bytes().as_slice().chain(std::io::repeat(0).take(GIBIBYTE + 1024));
            let limits = ArchiveLimits::default();
            scratch.service.extract_archive(&path("to"), ArchiveFormat::Tar, limits, archive).unwrap();
            assert_eq!(fs::metadata(scratch.at("to/big")).unwrap().len(), GIBIBYTE);
        });
    });
}
