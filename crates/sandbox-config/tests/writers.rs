//! Concurrent writers: threads, processes, and processes that are killed. Every acknowledged entry is stored.
//!
//! The child processes run this test binary again, with only the test
//! `a_writer_stores_its_share_and_acknowledges_each` and their share of the entries in the environment. When
//! the variable is not set, that test uses a share of its own.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail by panicking, as the test itself does")]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use sandbox_config::{ConfigStore, Deletion, Directory, Entry as _, EntryName, McpEntry};

const WRITER: &str = "a_writer_stores_its_share_and_acknowledges_each";
const ACKNOWLEDGED: &str = "acknowledged ";

fn directory() -> Directory {
    Directory::parse("/app").unwrap()
}

fn name(name: &str) -> EntryName {
    EntryName::parse(name).unwrap()
}

/// An entry unique to `name`, and long enough to reveal torn writes.
fn json_for(name: &str) -> String {
    format!(r#"{{"type":"local","command":"{name}","pad":"{}"}}"#, name.repeat(100))
}

fn put(store: &ConfigStore, text: &str) {
    let entry = McpEntry::parse(json_for(text).as_bytes()).unwrap();
    store.mcp().put(&directory(), &name(text), &entry).unwrap();
}

/// Reopens the store and returns its names, after checking that each has its own entry.
fn stored_names(data: &Path) -> BTreeSet<String> {
    let entries = ConfigStore::open(data).unwrap().mcp().entries(&directory()).unwrap();
    for (name, entry) in &entries {
        assert_eq!(entry.as_json(), json_for(name.as_str()));
    }
    entries.into_keys().map(|name| name.to_string()).collect()
}

fn start_writer(data: &Path, prefix: &str, count: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", WRITER, "--nocapture"])
        .env("WRITER_DATA", data)
        .env("WRITER_PREFIX", prefix)
        .env("WRITER_COUNT", count.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The names that a writer acknowledges, as they arrive.
fn acknowledgements(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| Some(line.split_once(ACKNOWLEDGED)?.1.to_owned()))
}

#[test]
fn a_writer_stores_its_share_and_acknowledges_each() {
    let own = tempfile::tempdir().unwrap();
    let data = std::env::var_os("WRITER_DATA").map_or(own.path().to_owned(), Into::into);
    let prefix = std::env::var("WRITER_PREFIX").unwrap_or_else(|_| "own".to_owned());
    let count: usize = std::env::var("WRITER_COUNT").map_or(4, |count| count.parse().unwrap());
    let store = ConfigStore::open(&data).unwrap();
    for index in 0..count {
        let text = format!("{prefix}-{index}");
        put(&store, &text);
        println!("\n{ACKNOWLEDGED}{text}");
    }
    let mine = stored_names(&data).into_iter().filter(|name| name.starts_with(&format!("{prefix}-"))).count();
    assert_eq!(mine, count);
}

#[test]
fn two_hundred_concurrent_puts_from_threads_are_all_stored() {
    let data = tempfile::tempdir().unwrap();
    let store = ConfigStore::open(data.path()).unwrap();
    let together = Barrier::new(200);
    thread::scope(|scope| {
        for index in 0..200 {
            let (store, together) = (&store, &together);
            scope.spawn(move || {
                together.wait();
                put(store, &format!("n{index}"));
            });
        }
    });
    let expected: BTreeSet<_> = (0..200).map(|index| format!("n{index}")).collect();
    assert_eq!(stored_names(data.path()), expected);
}

#[test]
fn fifty_puts_from_each_of_eight_processes_are_all_stored() {
    let data = tempfile::tempdir().unwrap();
    let children: Vec<_> =
        (0..8).map(|process| start_writer(data.path(), &format!("p{process}"), 50)).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let expected: BTreeSet<_> =
        (0..8).flat_map(|process| (0..50).map(move |index| format!("p{process}-{index}"))).collect();
    assert_eq!(stored_names(data.path()), expected);
}

#[test]
fn acknowledged_entries_survive_kill_9_during_writes() {
    let data = tempfile::tempdir().unwrap();
    let mut expected = BTreeSet::new();
    for (round, kill_after) in [1, 2, 5, 11, 23, 47].into_iter().enumerate() {
        let survivor = start_writer(data.path(), &format!("survivor{round}"), 10);
        let mut victim = start_writer(data.path(), &format!("victim{round}"), 1_000_000);
        let mut acknowledged = acknowledgements(&mut victim);
        expected.extend(acknowledged.by_ref().take(kill_after));
        victim.kill().unwrap();
        // Acknowledgements between the last read and the kill count as well.
        expected.extend(acknowledged);
        assert!(!victim.wait().unwrap().success());
        // The kernel released the killed process's lock, so the other one finishes.
        assert!(survivor.wait_with_output().unwrap().status.success());
        expected.extend((0..10).map(|index| format!("survivor{round}-{index}")));

        let stored = stored_names(data.path());
        assert!(stored.is_superset(&expected), "lost: {:?}", expected.difference(&stored));
        // One put without an acknowledgement may be stored: the one that was in progress.
        assert!(stored.len() <= expected.len() + 1, "unexpected: {:?}", stored.difference(&expected));
        expected = stored;
    }
    put(&ConfigStore::open(data.path()).unwrap(), "last");
    let mut kinds: Vec<_> = std::fs::read_dir(data.path().join("config"))
        .unwrap()
        .map(|entry| entry.unwrap().path().extension().unwrap().to_owned())
        .collect();
    kinds.sort();
    assert_eq!(kinds, ["json", "lock"], "a killed writer's temporary file is cleared by the next write");
}

#[test]
fn readers_always_see_complete_entries_during_writes() {
    let data = tempfile::tempdir().unwrap();
    let store = ConfigStore::open(data.path()).unwrap();
    put(&store, "kept");
    thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let store = &store;
                scope.spawn(move || {
                    for _ in 0..40 {
                        let text = format!("w{writer}");
                        put(store, &text);
                        assert_eq!(
                            store.mcp().delete(&directory(), &name(&text)).unwrap(),
                            Deletion::Removed
                        );
                    }
                })
            })
            .collect();
        while !writers.iter().all(thread::ScopedJoinHandle::is_finished) {
            assert!(stored_names(data.path()).contains("kept"));
        }
    });
    assert_eq!(stored_names(data.path()), BTreeSet::from(["kept".to_owned()]));
}

/// The number of this process's open files that are the file at `path`.
fn open_files_at(path: &Path) -> usize {
    let links = std::fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path());
    links.filter(|link| std::fs::read_link(link).is_ok_and(|target| target == path)).count()
}

#[test]
fn removing_the_lock_file_during_writes_loses_nothing() {
    let data = tempfile::tempdir().unwrap();
    let store = ConfigStore::open(data.path()).unwrap();
    put(&store, "first");
    let lock = std::fs::read_dir(data.path().join("config"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|extension| extension == "lock"))
        .unwrap();
    // Hold the lock, let a writer queue up behind it, then remove the file: the writer must not continue with the
    // old lock.
    let held = std::fs::File::options().write(true).open(&lock).unwrap();
    held.lock().unwrap();
    thread::scope(|scope| {
        let writer = scope.spawn(|| put(&store, "second"));
        let deadline = Instant::now() + Duration::from_secs(30);
        while open_files_at(&lock) < 2 {
            assert!(Instant::now() < deadline, "the writer never waited for the lock");
            thread::yield_now();
        }
        std::fs::remove_file(&lock).unwrap();
        held.unlock().unwrap();
        writer.join().unwrap();
    });
    assert!(lock.exists(), "the writer did not lock the new file");
    assert_eq!(stored_names(data.path()), BTreeSet::from(["first".to_owned(), "second".to_owned()]));
}
