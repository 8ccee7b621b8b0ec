//! Removals: what is removed, what stays, and that links cannot redirect them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sandbox_fs::{Error, Recursion};

use crate::support::{Scratch, StopOnDrop, path};

#[test]
fn files_links_and_empty_directories_are_removed_one_by_one() {
    let scratch = Scratch::unconfined();
    scratch.file("file", "");
    scratch.directory("directory");
    scratch.link("link", "file");
    scratch.link("dangling", "nowhere");
    scratch.link("to-outside", &scratch.outside);
    for name in ["link", "dangling", "to-outside", "file", "directory"] {
        let removed = scratch.service.remove(&path(name), Recursion::Single).unwrap();
        assert_eq!(removed, scratch.at(name));
    }
    assert!(scratch.snapshot().is_empty());
    scratch.assert_outside_untouched();
}

#[test]
fn a_non_empty_directory_is_removed_only_recursively() {
    let scratch = Scratch::unconfined();
    scratch.file("a/b/c", "");
    scratch.link("a/outside", &scratch.outside);
    let error = scratch.service.remove(&path("a"), Recursion::Single).unwrap_err();
    assert!(matches!(error, Error::NotEmpty { .. }));
    scratch.service.remove(&path("a/"), Recursion::Recursive).unwrap();
    assert!(scratch.snapshot().is_empty());
    scratch.assert_outside_untouched();
}

#[test]
fn a_recursive_removal_of_a_link_removes_only_the_link() {
    let scratch = Scratch::unconfined();
    scratch.link("link", &scratch.outside);
    scratch.service.remove(&path("link"), Recursion::Recursive).unwrap();
    assert!(scratch.snapshot().is_empty());
    scratch.assert_outside_untouched();
}

#[test]
fn missing_and_invalid_names_are_refused() {
    let scratch = Scratch::unconfined();
    scratch.file("a/file", "");
    let remove = |name: &str| scratch.service.remove(&path(name), Recursion::Recursive).unwrap_err();
    assert!(matches!(remove("missing"), Error::NotFound { .. }));
    assert!(matches!(remove("a/.."), Error::BadName { .. }));
    assert!(matches!(remove("/"), Error::BadName { .. }));
    assert!(matches!(remove("a/file/x"), Error::WrongKind { .. }));
    assert_eq!(scratch.read("a/file"), "");
}

#[test]
fn the_workspace_and_its_parents_are_protected_in_every_spelling() {
    let scratch = Scratch::unconfined();
    let (workspace, top) = (scratch.workspace.clone(), scratch.workspace.parent().unwrap().to_path_buf());
    for name in [".".as_ref(), workspace.as_path(), top.as_path(), &workspace.join("../workspace")] {
        let error = scratch.service.remove(&path(name), Recursion::Recursive).unwrap_err();
        assert!(matches!(error, Error::Protected { .. }), "{name:?}: {error:?}");
    }
    assert!(workspace.exists());
}

#[test]
fn a_removal_stays_inside_while_links_are_swapped_in() {
    let scratch = Scratch::confined();
    let stop = AtomicBool::new(false);
    let until = Instant::now() + Duration::from_millis(1500);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Repeatedly replaces a directory by a link to the outside and back.
            while !stop.load(Ordering::Relaxed) {
                let _ = std::fs::create_dir_all(scratch.at("tree/inner/deep"));
                let _ = std::fs::rename(scratch.at("tree/inner"), scratch.at("tree/away"));
                let _ = std::os::unix::fs::symlink(&scratch.outside, scratch.at("tree/inner"));
                let _ = std::fs::remove_file(scratch.at("tree/inner"));
                let _ = std::fs::rename(scratch.at("tree/away"), scratch.at("tree/inner"));
            }
        });
        let _stop = StopOnDrop(&stop);
        let mut removed = 0;
        while Instant::now() < until {
            match scratch.service.remove(&path("tree"), Recursion::Recursive) {
                Ok(_) => removed += 1,
                Err(
                    Error::NotFound { .. }
                    | Error::Changed { .. }
                    | Error::NotEmpty { .. }
                    | Error::WrongKind { .. },
                ) => {}
                Err(error) => panic!("{error:?}"),
            }
        }
        assert!(removed > 0, "the removal never succeeded, so nothing was tested");
    });
    scratch.assert_outside_untouched();
}
