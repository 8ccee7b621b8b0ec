//! The store when it has a single caller: entries are returned unchanged, kinds and directories do not mix, and a
//! damaged file is never replaced.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail by panicking, as the test itself does")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use sandbox_config::{ConfigStore, Deletion, Directory, Entry, EntryName, Error, McpEntry, SkillsEntry};
use tempfile::TempDir;

const LOCAL: &str = r#"{"type":"local","command":"c","big":12345678901234567890123456789.10}"#;
const SKILLS: &str = r#"{"sources":[{"type":"github","source":"o/r","new":1e400}],"z":1,"a":2}"#;

fn store() -> (TempDir, ConfigStore) {
    let data = tempfile::tempdir().unwrap();
    let store = ConfigStore::open(data.path()).unwrap();
    (data, store)
}

fn directory(path: &str) -> Directory {
    Directory::parse(path).unwrap()
}

fn name(name: &str) -> EntryName {
    EntryName::parse(name).unwrap()
}

fn mcp(json: &str) -> McpEntry {
    McpEntry::parse(json.as_bytes()).unwrap()
}

fn files(data: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> =
        fs::read_dir(data.join("config")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// The one `.json` file of a store with one directory.
fn content_file(data: &Path) -> PathBuf {
    files(data)
        .into_iter()
        .find(|path| path.extension().is_some_and(|extension| extension == "json"))
        .unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn an_entry_is_returned_byte_for_byte_even_from_a_reopened_store() {
    let (data, store) = store();
    store.mcp().put(&directory("/app"), &name("m"), &mcp(LOCAL)).unwrap();
    let skills = SkillsEntry::parse(SKILLS.as_bytes()).unwrap();
    store.skills().put(&directory("/app"), &name("s"), &skills).unwrap();
    for store in [store, ConfigStore::open(data.path()).unwrap()] {
        assert_eq!(store.mcp().get(&directory("/app/"), &name("m")).unwrap().unwrap().as_json(), LOCAL);
        assert_eq!(store.skills().get(&directory("/app"), &name("s")).unwrap().unwrap().as_json(), SKILLS);
    }
}

#[test]
fn a_second_put_of_a_name_replaces_the_first() {
    let (_data, store) = store();
    let newer = r#"{"type":"remote","url":"http://h"}"#;
    for json in [LOCAL, newer] {
        store.mcp().put(&directory("/app"), &name("m"), &mcp(json)).unwrap();
    }
    let entries = store.mcp().entries(&directory("/app")).unwrap();
    assert_eq!(serde_json::to_string(&entries).unwrap(), format!(r#"{{"m":{newer}}}"#));
}

#[test]
fn kinds_and_directories_do_not_mix() {
    let (_data, store) = store();
    store.mcp().put(&directory("/a"), &name("x"), &mcp(LOCAL)).unwrap();
    assert!(store.mcp().get(&directory("/b"), &name("x")).unwrap().is_none());
    assert!(store.mcp().get(&directory("/a/b"), &name("x")).unwrap().is_none());
    assert!(store.mcp().entries(&directory("/")).unwrap().is_empty());
    assert!(store.skills().get(&directory("/a"), &name("x")).unwrap().is_none());

    store
        .skills()
        .put(&directory("/a"), &name("x"), &SkillsEntry::parse(SKILLS.as_bytes()).unwrap())
        .unwrap();
    assert_eq!(store.skills().delete(&directory("/b"), &name("x")).unwrap(), Deletion::Missing);
    assert_eq!(store.skills().delete(&directory("/a"), &name("x")).unwrap(), Deletion::Removed);
    assert!(store.mcp().get(&directory("/a"), &name("x")).unwrap().is_some());
}

#[test]
fn names_are_any_text_compared_exactly_and_listed_in_order() {
    let (_data, store) = store();
    let names = [" ", "../../etc/passwd", "A", "\"q\\", "__proto__", "a", "e\u{301}", "é", "日本語", "🦀"];
    for (index, text) in names.iter().enumerate() {
        let entry = mcp(&format!(r#"{{"type":"local","command":"{index}"}}"#));
        store.mcp().put(&directory("/ünï/日本"), &name(text), &entry).unwrap();
    }
    let entries = store.mcp().entries(&directory("/ünï/日本")).unwrap();
    let mut sorted = names;
    sorted.sort_unstable();
    assert_eq!(entries.keys().map(EntryName::as_str).collect::<Vec<_>>(), sorted);
    for (index, text) in names.iter().enumerate() {
        let stored = store.mcp().get(&directory("/ünï/日本"), &name(text)).unwrap().unwrap();
        assert_eq!(stored.as_json(), format!(r#"{{"type":"local","command":"{index}"}}"#));
    }
}

#[test]
fn deleting_is_idempotent_and_deleting_nothing_writes_nothing() {
    let (data, store) = store();
    assert_eq!(store.mcp().delete(&directory("/app"), &name("m")).unwrap(), Deletion::Missing);
    assert_eq!(files(data.path()), Vec::<PathBuf>::new());
    store.mcp().put(&directory("/app"), &name("m"), &mcp(LOCAL)).unwrap();
    assert_eq!(store.mcp().delete(&directory("/app"), &name("m")).unwrap(), Deletion::Removed);
    assert_eq!(store.mcp().delete(&directory("/app"), &name("m")).unwrap(), Deletion::Missing);
    assert!(store.mcp().get(&directory("/app"), &name("m")).unwrap().is_none());
    assert!(!fs::read_to_string(content_file(data.path())).unwrap().contains("command"));
}

#[test]
fn only_the_owner_can_read_what_is_stored() {
    let data = tempfile::tempdir().unwrap();
    let nested = data.path().join("not/yet/there");
    let store = ConfigStore::open(&nested).unwrap();
    store.mcp().put(&directory("/app"), &name("m"), &mcp(LOCAL)).unwrap();
    assert_eq!(mode(&nested.join("config")), 0o700);
    let files = files(&nested);
    assert_eq!(files.len(), 2, "{files:?}");
    for file in &files {
        assert_eq!(mode(file), 0o600, "{file:?}");
    }

    fs::set_permissions(nested.join("config"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(content_file(&nested), fs::Permissions::from_mode(0o644)).unwrap();
    let store = ConfigStore::open(&nested).unwrap();
    store.mcp().put(&directory("/app"), &name("m"), &mcp(LOCAL)).unwrap();
    assert_eq!(mode(&nested.join("config")), 0o700);
    assert_eq!(mode(&content_file(&nested)), 0o600);
}

#[test]
fn the_file_is_named_by_a_hash_and_contains_its_directory_in_plain_text() {
    let (data, store) = store();
    store.mcp().put(&directory("/app"), &name("m"), &mcp(LOCAL)).unwrap();
    let file = content_file(data.path());
    // printf /app | sha256sum
    let hash = "f53b52ad6d21cceb72dfa78fb67614fe14f110c58e68412b01508d6a485501c3";
    assert_eq!(file.file_stem().unwrap().to_str().unwrap(), hash);
    let expected =
        format!("{{\"version\":1,\"directory\":\"/app\",\"mcp\":{{\"m\":{LOCAL}}},\"skills\":{{}}}}\n");
    assert_eq!(fs::read_to_string(file).unwrap(), expected);
}

#[test]
fn every_operation_on_a_damaged_file_fails_with_the_files_name_and_changes_nothing() {
    let (data, store) = store();
    let (app, m) = (directory("/app"), name("m"));
    store.mcp().put(&app, &m, &mcp(LOCAL)).unwrap();
    let file = content_file(data.path());
    let whole = fs::read(&file).unwrap();
    for damaged in [&whole[..whole.len() / 2], b"", b"\xff\xfe", b"{}", br#"{"version":99}"#] {
        fs::write(&file, damaged).unwrap();
        let errors = [
            store.mcp().get(&app, &m).unwrap_err(),
            store.mcp().entries(&app).unwrap_err(),
            store.mcp().put(&app, &name("other"), &mcp(LOCAL)).unwrap_err(),
            store.mcp().delete(&app, &m).unwrap_err(),
            store.skills().get(&app, &m).unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, Error::CorruptFile { .. } | Error::UnsupportedVersion { .. }), "{error}");
            assert!(error.to_string().contains(file.to_str().unwrap()), "{error}");
            assert!(!error.is_invalid_input());
        }
        assert_eq!(fs::read(&file).unwrap(), damaged);
        // Other directories are not affected.
        store.mcp().put(&directory("/other"), &m, &mcp(LOCAL)).unwrap();
    }
    fs::write(&file, whole).unwrap();
    assert_eq!(store.mcp().get(&app, &m).unwrap().unwrap().as_json(), LOCAL);
}

#[test]
fn an_entry_made_invalid_by_hand_is_named_and_does_not_block_others() {
    let (data, store) = store();
    let app = directory("/app");
    for text in ["good", "bad"] {
        store.mcp().put(&app, &name(text), &mcp(LOCAL)).unwrap();
    }
    let file = content_file(data.path());
    let edited =
        fs::read_to_string(&file).unwrap().replacen(r#""command":"c""#, r#""command":"c","env":{"A":1}"#, 1);
    fs::write(&file, edited).unwrap();
    let error = store.mcp().get(&app, &name("bad")).unwrap_err().to_string();
    assert!(error.contains("mcp entry bad: env.A must be a string"), "{error}");
    assert!(error.contains(file.to_str().unwrap()), "{error}");
    assert!(store.mcp().entries(&app).is_err());
    assert_eq!(store.mcp().get(&app, &name("good")).unwrap().unwrap().as_json(), LOCAL);
    assert_eq!(store.mcp().delete(&app, &name("bad")).unwrap(), Deletion::Removed);
    assert_eq!(store.mcp().entries(&app).unwrap().len(), 1);
}

#[test]
fn a_store_whose_folder_was_removed_creates_it_again() {
    let (data, store) = store();
    store.mcp().put(&directory("/app"), &name("m"), &mcp(LOCAL)).unwrap();
    fs::remove_dir_all(data.path().join("config")).unwrap();
    assert!(store.mcp().get(&directory("/app"), &name("m")).unwrap().is_none());
    store.mcp().put(&directory("/app"), &name("n"), &mcp(LOCAL)).unwrap();
    assert_eq!(mode(&data.path().join("config")), 0o700);
    assert_eq!(store.mcp().entries(&directory("/app")).unwrap().len(), 1);
}

#[test]
fn a_failed_write_keeps_the_old_content_and_names_the_file() {
    let (data, store) = store();
    let (app, m) = (directory("/app"), name("m"));
    store.mcp().put(&app, &m, &mcp(LOCAL)).unwrap();
    // A folder with the temporary file's name makes the write fail, even if the test runs as root. Permissions
    // would not.
    let blocker = content_file(data.path()).with_extension("tmp");
    fs::create_dir(&blocker).unwrap();
    let error = store.mcp().put(&app, &name("n"), &mcp(LOCAL)).unwrap_err();
    assert!(matches!(&error, Error::Io { path, .. } if *path == blocker), "{error}");
    fs::remove_dir(&blocker).unwrap();
    assert_eq!(store.mcp().entries(&app).unwrap().len(), 1);
    store.mcp().put(&app, &name("n"), &mcp(LOCAL)).unwrap();
    assert_eq!(store.mcp().entries(&app).unwrap().len(), 2);
}

#[test]
fn a_data_directory_that_is_a_file_is_refused_when_the_store_is_opened() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(ConfigStore::open(&file).unwrap_err(), Error::Io { .. }));
    fs::create_dir(data.path().join("d")).unwrap();
    fs::write(data.path().join("d/config"), "").unwrap();
    assert!(matches!(ConfigStore::open(data.path().join("d")).unwrap_err(), Error::Io { .. }));
}
