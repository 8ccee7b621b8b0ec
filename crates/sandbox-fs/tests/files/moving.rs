//! Moves. A refused move changes nothing.

use std::fs;
use std::os::unix::fs::MetadataExt;

use rustix::io::Errno;
use sandbox_fs::{Error, Moved, Overwrite, Result};

use crate::support::{RENAMEAT2, Rules, Scratch, deny, in_child, leftovers, path};

fn mv(scratch: &Scratch, from: &str, to: &str, overwrite: Overwrite) -> Result<Moved> {
    scratch.service.move_entry(&path(from), &path(to), overwrite)
}

fn everything_moves_to_a_free_name() {
    let scratch = Scratch::unconfined();
    scratch.file("file", "1");
    scratch.file("directory/inner", "2");
    scratch.link("link", "nowhere");
    scratch.directory("to");
    for name in ["file", "directory", "link"] {
        let moved = mv(&scratch, name, &format!("to/{name}"), Overwrite::Refuse).unwrap();
        assert_eq!((moved.from, moved.to), (scratch.at(name), scratch.at("to").join(name)));
        assert!(scratch.at(name).symlink_metadata().is_err());
    }
    assert_eq!((scratch.read("to/file"), scratch.read("to/directory/inner")), ("1".into(), "2".into()));
    assert_eq!(scratch.at("to/link").read_link().unwrap().to_str(), Some("nowhere"));
}

fn an_existing_target_is_refused_or_replaced() {
    let scratch = Scratch::unconfined();
    for name in ["one", "two"] {
        scratch.file(&format!("{name}/inner"), name);
        scratch.file(&format!("{name}.txt"), name);
        scratch.link(&format!("{name}.link"), name);
    }
    scratch.file("two/more", "more");
    let before = scratch.snapshot();
    for kind in ["", ".txt", ".link"] {
        let error =
            mv(&scratch, &format!("one{kind}"), &format!("two{kind}"), Overwrite::Refuse).unwrap_err();
        assert!(matches!(error, Error::Exists { .. }), "{error:?}");
    }
    assert_eq!(scratch.snapshot(), before);
    for kind in ["", ".txt", ".link"] {
        mv(&scratch, &format!("one{kind}"), &format!("two{kind}"), Overwrite::Replace).unwrap();
        assert!(scratch.at(&format!("one{kind}")).symlink_metadata().is_err());
    }
    assert_eq!((scratch.read("two/inner"), scratch.read("two.txt")), ("one".into(), "one".into()));
    assert!(!scratch.at("two/more").exists(), "the old directory was merged, not replaced");
    assert_eq!(scratch.at("two.link").read_link().unwrap().to_str(), Some("one"));
    assert!(leftovers(&scratch.workspace).is_empty());
}

#[test]
fn entries_of_every_kind_move_to_a_free_name() {
    everything_moves_to_a_free_name();
}

#[test]
fn existing_targets_are_refused_or_replaced_as_requested() {
    an_existing_target_is_refused_or_replaced();
}

#[test]
fn moves_work_where_renameat2_is_missing() {
    in_child("moving::moves_work_where_renameat2_is_missing", Rules::Same, || {
        deny(RENAMEAT2, Errno::NOSYS);
        everything_moves_to_a_free_name();
        an_existing_target_is_refused_or_replaced();
    });
}

#[test]
fn moving_an_entry_onto_itself_in_any_spelling_changes_nothing() {
    let scratch = Scratch::unconfined();
    scratch.file("a/file", "kept");
    scratch.link("alias", "a");
    let before = scratch.snapshot();
    for (from, to) in
        [("a/file", "a/file"), ("a/file", "alias/file"), ("a/../a/file", "a/./file"), ("a", "a/../a")]
    {
        for overwrite in [Overwrite::Refuse, Overwrite::Replace] {
            mv(&scratch, from, to, overwrite).unwrap();
        }
    }
    assert_eq!(scratch.snapshot(), before);
}

#[test]
fn moving_a_hard_link_over_another_one_removes_the_source() {
    let scratch = Scratch::unconfined();
    let file = scratch.file("a", "kept");
    fs::hard_link(&file, scratch.at("b")).unwrap();
    assert!(matches!(mv(&scratch, "a", "b", Overwrite::Refuse), Err(Error::Exists { .. })));
    mv(&scratch, "a", "b", Overwrite::Replace).unwrap();
    assert!(!file.exists());
    assert_eq!((scratch.read("b"), fs::metadata(scratch.at("b")).unwrap().nlink()), ("kept".into(), 1));
}

#[test]
fn a_directory_cannot_move_into_itself_or_replace_its_parent() {
    let scratch = Scratch::unconfined();
    scratch.file("a/b/c/file", "kept");
    scratch.link("alias", "a/b");
    let before = scratch.snapshot();
    for (from, to) in [("a", "a/x"), ("a", "a/b/c/x"), ("a", "alias/x"), ("a/b", "a/b/c/../x")] {
        let error = mv(&scratch, from, to, Overwrite::Refuse).unwrap_err();
        assert!(matches!(error, Error::IntoItself { .. }), "{from} {to}: {error:?}");
    }
    for (from, to) in [("a/b/c", "a"), ("a/b/c/file", "a/b")] {
        let error = mv(&scratch, from, to, Overwrite::Replace).unwrap_err();
        assert!(matches!(error, Error::IntoItself { .. }), "{from} {to}: {error:?}");
    }
    assert_eq!(scratch.snapshot(), before);
}

#[test]
fn directories_and_non_directories_never_replace_each_other() {
    let scratch = Scratch::unconfined();
    scratch.file("file", "kept");
    scratch.directory("empty");
    scratch.file("full/inner", "kept");
    scratch.link("link", "empty");
    let before = scratch.snapshot();
    for (from, to) in
        [("file", "empty"), ("file", "full"), ("link", "empty"), ("full", "file"), ("empty", "link")]
    {
        let error = mv(&scratch, from, to, Overwrite::Replace).unwrap_err();
        assert!(matches!(error, Error::WrongKind { .. }), "{from} {to}: {error:?}");
    }
    assert_eq!(scratch.snapshot(), before);
}

#[test]
fn missing_and_protected_entries_are_not_moved() {
    let scratch = Scratch::unconfined();
    scratch.file("file", "kept");
    scratch.directory("a");
    let refused = |from: &str, to: &str| mv(&scratch, from, to, Overwrite::Replace).unwrap_err();
    assert!(matches!(refused("missing", "x"), Error::NotFound { .. }));
    assert!(matches!(refused("file", "missing/x"), Error::NotFound { .. }));
    assert!(matches!(refused("file", "file/x"), Error::WrongKind { .. }));
    assert!(matches!(refused("file", "a/.."), Error::BadName { .. }));
    assert!(matches!(refused(".", "../elsewhere"), Error::Protected { .. }));
    assert!(matches!(refused("../outside", "."), Error::Protected { .. }));
    assert_eq!(scratch.read("file"), "kept");
    scratch.assert_outside_untouched();
}

#[test]
fn concurrent_moves_lose_nothing() {
    let scratch = Scratch::unconfined();
    for number in 0..4 {
        scratch.file(&number.to_string(), &number.to_string());
    }
    std::thread::scope(|scope| {
        for thread in 0..4_usize {
            let scratch = &scratch;
            scope.spawn(move || {
                for round in 0..200 {
                    let (from, to) = ((thread + round) % 7, (thread * 3 + round * 5) % 7);
                    match mv(scratch, &from.to_string(), &to.to_string(), Overwrite::Refuse) {
                        Ok(_) | Err(Error::NotFound { .. } | Error::Exists { .. }) => {}
                        Err(error) => panic!("{error:?}"),
                    }
                }
            });
        }
    });
    let mut contents: Vec<String> = scratch.snapshot().into_values().collect();
    contents.sort();
    assert_eq!(contents.len(), 4, "{contents:?}");
    for (number, described) in contents.iter().enumerate() {
        assert!(described.ends_with(&format!("\"{number}\"")), "{contents:?}");
    }
}
