//! Packed directories can be unpacked again.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use rustix::fs::{CWD, FileType, Mode};
use sandbox_fs::{ArchiveFormat, ArchiveLimits, Error};

use crate::support::{Scratch, path, snapshot};

fn populate(scratch: &Scratch) {
    let long = "n".repeat(150);
    scratch.file(&format!("source/{long}/file"), "deep");
    scratch.file("source/a", &"contents ".repeat(100_000));
    scratch.file("source/empty", "");
    scratch.directory("source/directory");
    scratch.link("source/link", "a");
    scratch.link("source/long", format!("{long}/file"));
    fs::set_permissions(scratch.at("source/a"), PermissionsExt::from_mode(0o640)).unwrap();
}

#[test]
fn an_archive_in_any_format_unpacks_to_the_same_tree() {
    let scratch = Scratch::unconfined();
    populate(&scratch);
    for (name, format) in
        [("tar", ArchiveFormat::Tar), ("gzip", ArchiveFormat::TarGzip), ("zstd", ArchiveFormat::TarZstd)]
    {
        let mut bytes = Vec::new();
        let builder = scratch.service.open_archive(&path("source")).unwrap();
        assert_eq!(builder.path(), scratch.at("source"));
        assert_eq!(builder.write_to(format, &mut bytes).unwrap(), 7);
        let limits = ArchiveLimits::default();
        scratch.service.extract_archive(&path(name), format, limits, bytes.as_slice()).unwrap();
        assert_eq!(snapshot(&scratch.at(name)), snapshot(&scratch.at("source")), "{name}");
    }
}

#[test]
fn the_systems_tar_reads_a_packed_directory() {
    let scratch = Scratch::unconfined();
    populate(&scratch);
    let target = scratch.directory("target");
    let mut child =
        Command::new("tar").args(["-xzf", "-", "-C"]).arg(&target).stdin(Stdio::piped()).spawn().unwrap();
    let builder = scratch.service.open_archive(&path("source")).unwrap();
    builder.write_to(ArchiveFormat::TarGzip, child.stdin.take().unwrap()).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(snapshot(&target), snapshot(&scratch.at("source")));
}

#[test]
fn fifos_and_sockets_are_skipped_and_never_block() {
    let scratch = Scratch::unconfined();
    scratch.file("source/a", "");
    rustix::fs::mknodat(CWD, scratch.at("source/fifo"), FileType::Fifo, Mode::from_raw_mode(0o600), 0)
        .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(scratch.at("source/socket")).unwrap();
    let builder = scratch.service.open_archive(&path("source")).unwrap();
    assert_eq!(builder.write_to(ArchiveFormat::Tar, io::sink()).unwrap(), 1);
}

#[test]
fn only_directories_are_packed() {
    let scratch = Scratch::unconfined();
    scratch.file("file", "");
    assert!(matches!(scratch.service.open_archive(&path("file")), Err(Error::WrongKind { .. })));
    assert!(matches!(scratch.service.open_archive(&path("missing")), Err(Error::NotFound { .. })));
}

#[test]
fn a_client_that_disconnects_is_distinguished_from_an_unreadable_file() {
    struct Gone;
    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let scratch = Scratch::unconfined();
    populate(&scratch);
    for format in [ArchiveFormat::Tar, ArchiveFormat::TarGzip, ArchiveFormat::TarZstd] {
        let builder = scratch.service.open_archive(&path("source")).unwrap();
        let error = builder.write_to(format, Gone).unwrap_err();
        assert!(matches!(error, Error::OutputFailed { .. }), "{error:?}");
    }
}
