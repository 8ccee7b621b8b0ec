//! Watches report every change, or that changes were lost.

use std::fs;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode};
use sandbox_fs::{Change, Depth, Error, WatchOptions, Watcher};

use crate::support::{Scratch, path};

/// Waits for a change that satisfies `wanted`, and returns all changes until then.
fn until(watcher: &mut Watcher, mut wanted: impl FnMut(&Change) -> bool) -> Vec<Change> {
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut seen = Vec::new();
    while Instant::now() < deadline {
        if let Some(change) = watcher.next(Duration::from_millis(200)) {
            let done = wanted(&change);
            seen.push(change);
            if done {
                return seen;
            }
        }
    }
    panic!("the change was not reported; seen {seen:?}");
}

fn watch(scratch: &Scratch, name: &str) -> Watcher {
    scratch.service.watch(&path(name), &WatchOptions::default()).unwrap()
}

#[test]
fn creation_change_and_removal_are_reported() {
    let scratch = Scratch::confined();
    let mut watcher = watch(&scratch, ".");
    let file = scratch.file("a", "");
    until(&mut watcher, |change| *change == Change::Created(file.clone()));
    fs::write(&file, "more").unwrap();
    until(&mut watcher, |change| *change == Change::Changed(file.clone()));
    fs::remove_file(&file).unwrap();
    until(&mut watcher, |change| *change == Change::Removed(file.clone()));
}

#[test]
fn a_rename_is_one_change_with_both_names() {
    let scratch = Scratch::unconfined();
    scratch.file("a", "");
    scratch.directory("sub");
    let mut watcher = watch(&scratch, ".");
    fs::rename(scratch.at("a"), scratch.at("sub/b")).unwrap();
    let renamed = Change::Renamed { from: scratch.at("a"), to: scratch.at("sub/b") };
    let seen = until(&mut watcher, |change| *change == renamed);
    let halves = [Change::Removed(scratch.at("a")), Change::Created(scratch.at("sub/b"))];
    assert!(!seen.iter().any(|change| halves.contains(change)), "{seen:?}");
}

#[test]
fn a_rename_from_or_to_elsewhere_is_a_creation_or_a_removal() {
    let scratch = Scratch::unconfined();
    scratch.file("watched/goes", "");
    scratch.file("comes", "");
    let mut watcher = watch(&scratch, "watched");
    fs::rename(scratch.at("watched/goes"), scratch.at("gone")).unwrap();
    until(&mut watcher, |change| *change == Change::Removed(scratch.at("watched/goes")));
    fs::rename(scratch.at("comes"), scratch.at("watched/came")).unwrap();
    until(&mut watcher, |change| *change == Change::Created(scratch.at("watched/came")));
}

#[test]
fn files_created_together_with_their_directory_are_reported() {
    let scratch = Scratch::unconfined();
    let mut watcher = watch(&scratch, ".");
    let mut wanted: Vec<_> =
        ["new", "new/deep", "new/deep/er", "new/deep/er/file"].map(|name| scratch.at(name)).into();
    scratch.file("new/deep/er/file", "");
    let seen = until(&mut watcher, |change| {
        if let Change::Created(path) = change {
            wanted.retain(|other| other != path);
        }
        wanted.is_empty()
    });
    assert!(!seen.contains(&Change::Overflow));
    // Later files are reported too, as the directory is watched by now.
    let later = scratch.file("new/deep/er/later", "");
    until(&mut watcher, |change| *change == Change::Created(later.clone()));
}

#[test]
fn a_slow_reader_receives_an_overflow() {
    let scratch = Scratch::unconfined();
    let options = WatchOptions { depth: Depth::Children, capacity: 4 };
    let mut watcher = scratch.service.watch(&path("."), &options).unwrap();
    for number in 0..200 {
        scratch.file(&number.to_string(), "");
    }
    let seen = until(&mut watcher, |change| *change == Change::Overflow);
    assert!(seen.len() < 200);
    // The watch continues afterwards.
    let deadline = Instant::now() + Duration::from_secs(10);
    while watcher.next(Duration::from_millis(300)).is_some() {
        assert!(Instant::now() < deadline);
    }
    let file = scratch.file("after", "");
    until(&mut watcher, |change| *change == Change::Created(file.clone()));
}

#[test]
fn a_file_and_a_link_to_a_directory_are_watched_under_their_requested_names() {
    let scratch = Scratch::confined();
    let file = scratch.file("real/file", "");
    scratch.link("link", "real");
    let mut single = watch(&scratch, "real/file");
    let mut linked = watch(&scratch, "link");
    fs::write(&file, "more").unwrap();
    until(&mut single, |change| *change == Change::Changed(file.clone()));
    until(&mut linked, |change| *change == Change::Changed(scratch.at("link/file")));
}

#[test]
fn links_inside_a_watched_directory_are_not_followed() {
    let scratch = Scratch::confined();
    scratch.link("link", &scratch.outside);
    let mut watcher = watch(&scratch, ".");
    fs::write(scratch.outside.join("secret"), "secret").unwrap();
    let marker = scratch.file("marker", "");
    let seen = until(&mut watcher, |change| *change == Change::Created(marker.clone()));
    assert_eq!(seen, [Change::Created(marker)]);
}

#[test]
fn a_new_directory_that_becomes_a_link_out_of_the_root_is_not_watched_through() {
    let scratch = Scratch::confined();
    fs::create_dir(scratch.outside.join("deep")).unwrap();
    let mut watcher = watch(&scratch, ".");
    // Swap quickly, so that some directories are links before their creation has been read.
    for number in 0..500 {
        let path = scratch.directory(&format!("d{number}"));
        fs::remove_dir(&path).unwrap();
        std::os::unix::fs::symlink(&scratch.outside, &path).unwrap();
    }
    let settled = scratch.file("settled", "");
    until(&mut watcher, |change| *change == Change::Created(settled.clone()));
    fs::write(scratch.outside.join("secret"), "changed").unwrap();
    fs::write(scratch.outside.join("deep/new"), "").unwrap();
    let marker = scratch.file("marker", "");
    let seen = until(&mut watcher, |change| *change == Change::Created(marker.clone()));
    let below_a_link = |change: &&Change| match change {
        Change::Created(path) | Change::Changed(path) => path.parent() != Some(&scratch.workspace),
        _ => false,
    };
    assert_eq!(seen.iter().find(below_a_link), None);
}

#[test]
fn a_directory_keeps_being_watched_under_its_new_name() {
    let scratch = Scratch::confined();
    scratch.directory("a/inner");
    let mut watcher = watch(&scratch, ".");
    fs::rename(scratch.at("a"), scratch.at("b")).unwrap();
    let renamed = Change::Renamed { from: scratch.at("a"), to: scratch.at("b") };
    until(&mut watcher, |change| *change == renamed);
    let file = scratch.file("b/inner/file", "");
    until(&mut watcher, |change| *change == Change::Created(file.clone()));
}

#[test]
fn entries_that_cannot_be_watched_are_refused() {
    let scratch = Scratch::unconfined();
    rustix::fs::mknodat(CWD, scratch.at("fifo"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let refused = |name: &str| scratch.service.watch(&path(name), &WatchOptions::default()).unwrap_err();
    assert!(matches!(refused("missing"), Error::NotFound { .. }));
    assert!(matches!(refused("fifo"), Error::WrongKind { .. }));
}
