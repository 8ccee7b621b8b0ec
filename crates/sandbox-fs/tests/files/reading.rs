//! Downloads: kinds, ranges, versions, links.

use std::fs;
use std::io::Read;

use rustix::fs::{CWD, FileType, Mode};
use sandbox_fs::{CHUNK_BYTES, Error, Length};

use crate::support::{Scratch, path};

#[test]
fn a_file_is_read_whole_in_bounded_chunks() {
    let scratch = Scratch::unconfined();
    let contents = "0123456789".repeat(CHUNK_BYTES / 4);
    scratch.file("a", &contents);
    let reader = scratch.service.open_file(&path("a")).unwrap();
    assert_eq!(reader.length(), Length::Known(contents.len() as u64));
    let mut chunks = reader.whole();
    let mut read = Vec::new();
    while let Some(chunk) = chunks.next_chunk().unwrap() {
        assert!(chunk.len() <= CHUNK_BYTES);
        read.extend(chunk);
    }
    assert_eq!(read, contents.as_bytes());
}

#[test]
fn a_range_gives_exactly_its_bytes() {
    let scratch = Scratch::unconfined();
    scratch.file("a", "0123456789");
    let mut text = String::new();
    scratch.service.open_file(&path("a")).unwrap().range(3..7).read_to_string(&mut text).unwrap();
    assert_eq!(text, "3456");
    text.clear();
    scratch.service.open_file(&path("a")).unwrap().range(4..4).read_to_string(&mut text).unwrap();
    assert_eq!(text, "");
}

#[test]
fn reading_a_shrinking_file_fails_and_reading_a_growing_one_does_not() {
    let scratch = Scratch::unconfined();
    let file = scratch.file("a", "0123456789");
    let mut shrunk = scratch.service.open_file(&path("a")).unwrap().whole();
    fs::write(&file, "012").unwrap();
    assert_eq!(shrunk.next_chunk().unwrap().as_deref(), Some(b"012".as_slice()));
    assert_eq!(shrunk.next_chunk().unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);

    let mut grown = scratch.service.open_file(&path("a")).unwrap().whole();
    fs::write(&file, "012345").unwrap();
    assert_eq!(grown.next_chunk().unwrap().as_deref(), Some(b"012".as_slice()));
    assert_eq!(grown.next_chunk().unwrap(), None);
}

#[test]
fn only_regular_files_are_read_and_others_never_block() {
    let scratch = Scratch::unconfined();
    scratch.directory("directory");
    rustix::fs::mknodat(CWD, scratch.at("fifo"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(scratch.at("socket")).unwrap();
    scratch.link("to-fifo", "fifo");
    for name in ["directory", "fifo", "socket", "to-fifo", ".", "..", "/dev/null", "directory/.."] {
        let error = scratch.service.open_file(&path(name)).unwrap_err();
        assert!(matches!(error, Error::WrongKind { .. }), "{name}: {error:?}");
    }
}

#[test]
fn missing_files_loops_and_files_used_as_directories_have_different_errors() {
    let scratch = Scratch::unconfined();
    scratch.file("file", "");
    scratch.link("loop", "loop");
    scratch.link("dangling", "nowhere");
    let open = |name: &str| scratch.service.open_file(&path(name)).unwrap_err();
    assert!(matches!(open("missing"), Error::NotFound { .. }));
    assert!(matches!(open("dangling"), Error::NotFound { .. }));
    assert!(matches!(open("loop"), Error::WrongKind { .. }));
    assert!(matches!(open("file/below"), Error::WrongKind { .. }));
    assert!(matches!(open("file/"), Error::WrongKind { .. }));
    assert!(matches!(open(&"x".repeat(300)), Error::BadName { .. }));
}

#[test]
fn links_are_followed_to_their_end() {
    let scratch = Scratch::unconfined();
    scratch.file("deep/er/file", "here");
    scratch.link("deep/one", "er/two");
    scratch.link("deep/er/two", "../er/./file");
    let mut text = String::new();
    scratch.service.open_file(&path("deep/one")).unwrap().whole().read_to_string(&mut text).unwrap();
    assert_eq!(text, "here");
}

#[test]
fn the_etag_changes_with_every_write_and_otherwise_never() {
    let scratch = Scratch::unconfined();
    scratch.put("a", "one").unwrap();
    let tag = || scratch.service.open_file(&path("a")).unwrap().metadata().etag.clone();
    let first = tag();
    assert_eq!(first, tag());
    assert_eq!(first, scratch.service.stat(&path("a")).unwrap().1.etag);
    let outcome = scratch.put("a", "two").unwrap();
    assert_ne!(first, tag());
    assert_eq!(outcome.etag, tag());
}

#[test]
fn a_file_with_generated_contents_is_read_to_its_end() {
    let scratch = Scratch::unconfined();
    let reader = scratch.service.open_file(&path("/proc/self/stat")).unwrap();
    assert_eq!(reader.length(), Length::Unknown);
    let mut text = String::new();
    reader.whole().read_to_string(&mut text).unwrap();
    assert!(text.starts_with(&std::process::id().to_string()));
}

#[test]
fn stat_describes_the_link_itself_and_prints_the_mode_in_octal() {
    let scratch = Scratch::unconfined();
    let file = scratch.file("file", "12345");
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    scratch.link("link", "file");
    let (shown, metadata) = scratch.service.stat(&path("file")).unwrap();
    assert_eq!(shown, file);
    assert_eq!((metadata.entry_type.as_str(), metadata.size), ("file", 5));
    assert_eq!(metadata.mode_text(), "0640");
    let (_, metadata) = scratch.service.stat(&path("link")).unwrap();
    assert_eq!((metadata.entry_type.as_str(), metadata.size), ("symlink", 4));
    assert_eq!(scratch.service.stat(&path("..")).unwrap().1.entry_type.as_str(), "directory");
    assert!(matches!(scratch.service.stat(&path("missing")), Err(Error::NotFound { .. })));
    assert!(matches!(scratch.service.stat(&path("file/")), Err(Error::WrongKind { .. })));
}
