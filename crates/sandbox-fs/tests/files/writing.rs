//! Uploads are atomic and preserve a file's metadata.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Barrier;

use rustix::fs::{CWD, FileType, Mode, XattrFlags};
use sandbox_fs::{Atomicity, Durability, Error, FileService, Options, Precondition, Root, WriteOptions};

use crate::support::{Scratch, leftovers, path};

fn when(precondition: Precondition) -> WriteOptions {
    WriteOptions { precondition, max_bytes: None }
}

#[test]
fn a_new_file_is_created_with_its_parents_and_obeys_the_umask() {
    let scratch = Scratch::unconfined();
    let outcome = scratch.put("a/b/c", "hello").unwrap();
    assert_eq!(outcome.path, scratch.at("a/b/c"));
    assert_eq!((outcome.bytes_written, outcome.atomic, outcome.created), (5, Atomicity::Atomic, true));
    assert_eq!(scratch.read("a/b/c"), "hello");
    let ordinary = scratch.file("ordinary", "");
    let mode = |path| fs::metadata(path).unwrap().mode();
    assert_eq!(mode(scratch.at("a/b/c")), mode(ordinary));
    assert!(leftovers(&scratch.workspace).is_empty());
}

#[test]
fn an_existing_file_keeps_its_mode_owner_and_attributes() {
    let scratch = Scratch::unconfined();
    let file = scratch.file("a", "old");
    fs::set_permissions(&file, PermissionsExt::from_mode(0o751)).unwrap();
    rustix::fs::setxattr(&file, "user.note", b"kept", XattrFlags::empty()).unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&file, Some(1234), Some(4321)).unwrap();
    }
    let before = fs::metadata(&file).unwrap();
    let outcome = scratch.put("a", "new").unwrap();
    assert_eq!((outcome.atomic, outcome.created), (Atomicity::Atomic, false));
    let after = fs::metadata(&file).unwrap();
    assert_eq!((before.mode(), before.uid(), before.gid()), (after.mode(), after.uid(), after.gid()));
    assert_ne!(before.ino(), after.ino());
    let mut value = [0; 16];
    let length = rustix::fs::getxattr(&file, "user.note", &mut value).unwrap();
    assert_eq!(&value[..length], b"kept");
}

#[test]
fn an_interrupted_upload_leaves_the_old_file_and_nothing_else() {
    let scratch = Scratch::unconfined();
    scratch.file("a", "old");
    let before = scratch.snapshot();
    for name in ["a", "new", "made/on/the/way/new"] {
        let mut writer = scratch.begin(name).unwrap();
        writer.write_chunk(b"half of it").unwrap();
        assert_eq!(writer.bytes_written(), 10);
        drop(writer);
        assert_eq!(scratch.snapshot(), before, "{name}");
    }
}

#[test]
fn a_private_file_is_not_readable_by_others_while_it_is_uploaded() {
    let scratch = Scratch::unconfined();
    let file = scratch.file("a", "old");
    fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    let _writer = scratch.begin("a").unwrap();
    let temporary = scratch.at(leftovers(&scratch.workspace)[0].to_str().unwrap());
    assert_eq!(fs::metadata(temporary).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn a_final_link_is_followed_and_stays() {
    let scratch = Scratch::unconfined();
    scratch.file("real/file", "old");
    scratch.link("link", "real/file");
    scratch.link("dangling", "real/made");
    assert_eq!(scratch.put("link", "new").unwrap().atomic, Atomicity::Atomic);
    scratch.put("dangling", "made").unwrap();
    assert!(scratch.at("link").is_symlink() && scratch.at("dangling").is_symlink());
    assert_eq!((scratch.read("real/file"), scratch.read("real/made")), ("new".into(), "made".into()));
}

#[test]
fn a_file_with_several_hard_links_is_written_in_place_even_when_it_becomes_shorter() {
    let scratch = Scratch::unconfined();
    let file = scratch.file("a", "a long old text");
    fs::hard_link(&file, scratch.at("b")).unwrap();
    assert_eq!(scratch.put("a", "new").unwrap().atomic, Atomicity::InPlace);
    assert_eq!((scratch.read("a"), scratch.read("b")), ("new".into(), "new".into()));
    assert_eq!(fs::metadata(&file).unwrap().nlink(), 2);
    let mut writer = scratch.begin("a").unwrap();
    writer.write_chunk(b"cut off").unwrap();
    drop(writer);
    assert_eq!(scratch.read("b"), "new", "an interrupted upload changed the old bytes");
    assert!(leftovers(&scratch.workspace).is_empty());
}

#[test]
fn only_regular_files_are_written() {
    let scratch = Scratch::unconfined();
    scratch.directory("directory");
    scratch.file("file", "");
    rustix::fs::mknodat(CWD, scratch.at("fifo"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let before = scratch.snapshot();
    for name in ["directory", "fifo", "file/below", "file/far/below", "/dev/null"] {
        let error = scratch.put(name, "x").unwrap_err();
        assert!(matches!(error, Error::WrongKind { .. }), "{name}: {error:?}");
    }
    for name in ["new/", "new/.", "..", &"x".repeat(300)] {
        let error = scratch.put(name, "x").unwrap_err();
        assert!(matches!(error, Error::BadName { .. }), "{name}: {error:?}");
    }
    assert!(matches!(scratch.put("missing/../new", "x"), Err(Error::NotFound { .. })));
    assert_eq!(scratch.snapshot(), before);
}

#[test]
fn preconditions_are_checked_before_the_first_byte() {
    let scratch = Scratch::unconfined();
    scratch.file("a", "old");
    let tag = scratch.service.stat(&path("a")).unwrap().1.etag;
    let other = sandbox_fs::ETag::parse("\"other\"").unwrap();
    let begin =
        |name: &str, precondition| scratch.service.begin_write(&path(name), &when(precondition)).map(drop);
    assert!(matches!(begin("a", Precondition::MustNotExist), Err(Error::PreconditionFailed { .. })));
    assert!(matches!(
        begin("a", Precondition::MustMatch(vec![other.clone()])),
        Err(Error::PreconditionFailed { .. })
    ));
    assert!(matches!(begin("b", Precondition::MustExist), Err(Error::PreconditionFailed { .. })));
    begin("a", Precondition::MustExist).unwrap();
    begin("a", Precondition::MustMatch(vec![other, tag])).unwrap();
    begin("b", Precondition::MustNotExist).unwrap();
    assert!(matches!(begin("made/b", Precondition::MustExist), Err(Error::PreconditionFailed { .. })));
    assert!(!scratch.at("made").exists());
}

#[test]
fn preconditions_are_checked_again_at_commit() {
    let scratch = Scratch::unconfined();
    let tag = scratch.put("a", "old").unwrap().etag;
    let begin =
        |name: &str, precondition| scratch.service.begin_write(&path(name), &when(precondition)).unwrap();
    let matching = begin("a", Precondition::MustMatch(vec![tag]));
    let fresh = begin("b", Precondition::MustNotExist);
    scratch.put("a", "by another").unwrap();
    scratch.put("b", "by another").unwrap();
    assert!(matches!(matching.commit(), Err(Error::PreconditionFailed { .. })));
    assert!(matches!(fresh.commit(), Err(Error::PreconditionFailed { .. })));
    assert_eq!((scratch.read("a"), scratch.read("b")), ("by another".into(), "by another".into()));
    assert!(leftovers(&scratch.workspace).is_empty());
}

#[test]
fn of_many_uploads_with_the_same_etag_exactly_one_succeeds() {
    let scratch = Scratch::unconfined();
    scratch.directory("real");
    scratch.link("alias", "real");
    for round in 0..20 {
        let tag = scratch.put("real/a", &format!("round {round}")).unwrap().etag;
        let barrier = Barrier::new(8);
        let wins: usize = std::thread::scope(|scope| {
            let runs: Vec<_> = (0..8)
                .map(|number| {
                    let (scratch, barrier, tag) = (&scratch, &barrier, tag.clone());
                    scope.spawn(move || {
                        // Two spellings of one path share a lock.
                        let name = if number % 2 == 0 { "real/a" } else { "alias/../alias/a" };
                        barrier.wait();
                        let result = scratch.put_with(
                            name,
                            &format!("by {number}"),
                            &when(Precondition::MustMatch(vec![tag])),
                        );
                        match result {
                            Ok(_) => 1,
                            Err(Error::PreconditionFailed { .. }) => 0,
                            Err(error) => panic!("{error:?}"),
                        }
                    })
                })
                .collect();
            runs.into_iter().map(|run| run.join().unwrap()).sum()
        });
        assert_eq!(wins, 1);
    }
    assert!(leftovers(&scratch.workspace).is_empty());
}

#[test]
fn concurrent_uploads_into_new_directories_succeed_while_others_are_aborted() {
    let scratch = Scratch::unconfined();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let scratch = &scratch;
            scope.spawn(move || {
                for round in 0..50 {
                    let name = format!("round-{round}/below/{number}");
                    if number % 2 == 0 {
                        scratch.put(&name, "kept").unwrap();
                    } else {
                        drop(scratch.begin(&name).unwrap());
                    }
                }
            });
        }
    });
    for round in 0..50 {
        for number in 0..8 {
            let there = scratch.at(&format!("round-{round}/below/{number}")).exists();
            assert_eq!(there, number % 2 == 0);
        }
    }
    assert!(leftovers(&scratch.workspace).is_empty());
}

#[test]
fn more_bytes_than_allowed_are_refused_and_nothing_is_left() {
    let scratch = Scratch::unconfined();
    let options = WriteOptions { precondition: Precondition::None, max_bytes: Some(10) };
    assert!(scratch.put_with("fits", "0123456789", &options).is_ok());
    let error = scratch.put_with("a", "0123456789x", &options).unwrap_err();
    assert!(matches!(error, Error::TooLarge { limit: 10 }));
    assert!(!scratch.at("a").exists() && leftovers(&scratch.workspace).is_empty());
}

#[test]
fn a_target_that_became_a_directory_is_not_replaced() {
    let scratch = Scratch::unconfined();
    let writer = scratch.begin("a").unwrap();
    scratch.file("a/inner", "theirs");
    assert!(matches!(writer.commit(), Err(Error::WrongKind { .. })));
    assert_eq!(scratch.read("a/inner"), "theirs");
    assert!(leftovers(&scratch.workspace).is_empty());
}

#[test]
fn a_synced_service_writes_the_same() {
    let scratch = Scratch::unconfined();
    let options = Options { durability: Durability::Synced, ..Options::default() };
    let root = Root::Unconfined { workspace: scratch.workspace.clone() };
    let service = FileService::open_with(&root, options).unwrap();
    let mut writer = service.begin_write(&path("a"), &WriteOptions::default()).unwrap();
    writer.write_chunk(b"on disk").unwrap();
    writer.commit().unwrap();
    assert_eq!(scratch.read("a"), "on disk");
}

#[test]
fn directories_are_created_with_their_parents_and_may_exist_already() {
    let scratch = Scratch::unconfined();
    scratch.file("file", "");
    scratch.link("dangling", "nowhere");
    scratch.directory("real");
    scratch.link("link", "real");
    let make = |name: &str| scratch.service.make_directory(&path(name));
    assert_eq!(make("a/b/c").unwrap(), scratch.at("a/b/c"));
    make("a/b/c").unwrap();
    make("link").unwrap();
    make("link/below").unwrap();
    assert!(scratch.at("a/b/c").is_dir() && scratch.at("real/below").is_dir());
    assert!(matches!(make("file"), Err(Error::Exists { .. })));
    assert!(matches!(make("dangling"), Err(Error::Exists { .. })));
    assert!(matches!(make("file/below"), Err(Error::WrongKind { .. })));
    assert!(matches!(make(&"x".repeat(300)), Err(Error::BadName { .. })));
}
