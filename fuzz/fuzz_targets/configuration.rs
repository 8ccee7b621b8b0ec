//! Fuzzes entries of the MCP and skills store: an accepted entry is kept byte for byte, a rejected one does
//! not reveal its values, and directories have one normal form.

#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use sandbox_config::{
    Collection, ConfigStore, Deletion, Directory, Entry, EntryName, McpEntry, McpKind, SkillsEntry,
};
use serde_json::Value;

/// Marks the values that no error may repeat.
const MARK: char = '§';

fuzz_target!(|data: &[u8]| {
    let store = store();
    if let Some(mcp) = entry::<McpEntry>(data) {
        let value: Value = serde_json::from_str(mcp.as_json()).unwrap_or_default();
        let kind = value.get("type").and_then(Value::as_str);
        // The kind is unknown if a plain parser cannot represent a number in the entry.
        assert!(
            kind.is_none_or(|kind| kind == if mcp.kind() == McpKind::Local { "local" } else { "remote" })
        );
        is_kept(&store.mcp(), &mcp);
    }
    if let Some(skills) = entry::<SkillsEntry>(data) {
        is_kept(&store.skills(), &skills);
    }
    if let Ok(text) = std::str::from_utf8(data) {
        directory(text);
        name(text);
    }
});

fn entry<E: Entry>(data: &[u8]) -> Option<E> {
    match E::parse(data) {
        Ok(entry) => {
            assert_eq!(entry.as_json().as_bytes(), data.trim_ascii(), "an entry is kept byte for byte");
            let again = E::parse(entry.as_json().as_bytes()).expect("it was accepted before");
            assert_eq!(again.as_json(), entry.as_json());
            assert!(!format!("{entry:?}").contains(MARK), "an entry does not show its values");
            Some(entry)
        }
        Err(error) => {
            let has_marked_key = serde_json::from_slice(data).map_or(true, |value: Value| marked_key(&value));
            assert!(
                has_marked_key || !error.to_string().contains(MARK),
                "the error repeats a value: {error}"
            );
            None
        }
    }
}

/// True if a key contains the mark: errors may repeat keys.
fn marked_key(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(marked_key),
        Value::Object(fields) => fields.iter().any(|(key, value)| key.contains(MARK) || marked_key(value)),
        _ => false,
    }
}

fn is_kept<E: Entry>(collection: &Collection<'_, E>, entry: &E) {
    let directory = Directory::parse("/project").expect("a valid directory");
    let name = EntryName::parse("one").expect("a valid name");
    collection.put(&directory, &name, entry).expect("it is stored");
    let kept = collection.get(&directory, &name).expect("it is read").expect("it is there");
    assert_eq!(kept.as_json(), entry.as_json());
    assert_eq!(collection.delete(&directory, &name).expect("it is deleted"), Deletion::Removed);
}

fn directory(text: &str) {
    let Ok(directory) = Directory::resolve(Path::new("/workspace"), text) else { return };
    let normal = directory.as_str();
    assert!(normal.starts_with('/') && !normal.contains("//") && !normal.contains('\0'), "{text:?}");
    assert!(normal.split('/').all(|part| part != "." && part != ".."), "{text:?}");
    assert_eq!(Directory::parse(normal).expect("it is valid"), directory, "the normal form is stable");
}

fn name(text: &str) {
    if let Ok(name) = EntryName::parse(text) {
        assert_eq!(name.as_str(), text);
        assert!(!text.is_empty() && !text.chars().any(char::is_control), "{text:?}");
    }
}

/// The store of the whole run. `scripts/fuzz.sh` removes its folder.
fn store() -> &'static ConfigStore {
    static STORE: OnceLock<ConfigStore> = OnceLock::new();
    STORE.get_or_init(|| {
        let folder = tempfile::Builder::new().prefix("fuzz-").tempdir().expect("a folder can be made").keep();
        ConfigStore::open(folder).expect("the store can be opened")
    })
}
