//! The public store: two collections, each keyed by directory and name.
//!
//! The store has no state in memory. Every read reads the file; every write locks, reads, changes and
//! replaces it, so several servers with the same data directory see each other's changes immediately.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::document::{Document, Entries};
use crate::entry::{Entry, Section};
use crate::files::{DirectoryFile, make_private_folder};
use crate::{Directory, EntryName, Error, McpEntry, SkillsEntry};

/// The configuration under one data directory. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ConfigStore {
    /// `<data directory>/config`, absolute.
    folder: Arc<Path>,
}

impl ConfigStore {
    /// Opens the store in `<data_dir>/config`, which is created if needed and private to its owner.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder cannot be created or belongs to another user.
    pub fn open(data_dir: impl AsRef<Path>) -> Result<Self, Error> {
        let data_dir = data_dir.as_ref();
        let folder: PathBuf =
            std::path::absolute(data_dir).map_err(Error::io("find", data_dir))?.join("config");
        make_private_folder(&folder)?;
        Ok(Self { folder: folder.into() })
    }

    /// The MCP servers.
    #[must_use]
    pub fn mcp(&self) -> Collection<'_, McpEntry> {
        Collection { store: self, entry: PhantomData }
    }

    /// The skills.
    #[must_use]
    pub fn skills(&self) -> Collection<'_, SkillsEntry> {
        Collection { store: self, entry: PhantomData }
    }
}

/// The entries of one kind in a store.
#[derive(Clone, Copy, Debug)]
pub struct Collection<'store, E> {
    store: &'store ConfigStore,
    entry: PhantomData<E>,
}

/// The result of a deletion. Both are successes: deleting is idempotent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// The entry was removed.
    Removed,
    /// The entry did not exist.
    Missing,
}

impl<E: Entry> Collection<'_, E> {
    /// The entry with this name, if there is one.
    ///
    /// # Errors
    /// [`Error::CorruptFile`], [`Error::UnsupportedVersion`] or [`Error::Io`].
    pub fn get(&self, directory: &Directory, name: &EntryName) -> Result<Option<E>, Error> {
        let file = self.file(directory);
        let document = load(&file, directory)?;
        document.section(E::SECTION).get(name).map(|text| stored_entry(&file, name, text)).transpose()
    }

    /// All entries of a directory, sorted by name; empty if nothing was stored.
    ///
    /// # Errors
    /// See [`Collection::get`].
    pub fn entries(&self, directory: &Directory) -> Result<BTreeMap<EntryName, E>, Error> {
        let file = self.file(directory);
        let mut document = load(&file, directory)?;
        let entries: Entries = std::mem::take(document.section_mut(E::SECTION));
        entries
            .into_iter()
            .map(|(name, text)| stored_entry(&file, &name, &text).map(|entry| (name, entry)))
            .collect()
    }

    /// Stores an entry, replacing one with the same name. When it returns, the entry survives a power failure.
    ///
    /// # Errors
    /// See [`Collection::get`], and [`Error::Locked`]. A damaged file is never replaced.
    pub fn put(&self, directory: &Directory, name: &EntryName, entry: &E) -> Result<(), Error> {
        let locked = self.file(directory).lock()?;
        let mut document = load(locked.file(), directory)?;
        let text = serde_json::value::to_raw_value(entry).map_err(encoding(locked.file()))?;
        document.section_mut(E::SECTION).insert(name.clone(), text);
        locked.replace(&document.to_bytes(directory).map_err(encoding(locked.file()))?)
    }

    /// Removes an entry. If it does not exist, this succeeds and writes nothing.
    ///
    /// # Errors
    /// See [`Collection::get`], and [`Error::Locked`]. A damaged file is never replaced.
    pub fn delete(&self, directory: &Directory, name: &EntryName) -> Result<Deletion, Error> {
        // Check without the lock first, so that deleting missing entries does not create a lock file for every
        // directory.
        if !load(&self.file(directory), directory)?.section(E::SECTION).contains_key(name) {
            return Ok(Deletion::Missing);
        }
        let locked = self.file(directory).lock()?;
        let mut document = load(locked.file(), directory)?;
        if document.section_mut(E::SECTION).remove(name).is_none() {
            return Ok(Deletion::Missing);
        }
        locked.replace(&document.to_bytes(directory).map_err(encoding(locked.file()))?)?;
        Ok(Deletion::Removed)
    }

    fn file(&self, directory: &Directory) -> DirectoryFile {
        DirectoryFile::new(&self.store.folder, directory)
    }
}

fn load(file: &DirectoryFile, directory: &Directory) -> Result<Document, Error> {
    match file.read()? {
        Some(content) => Document::from_bytes(&content, directory, file.path()),
        None => Ok(Document::default()),
    }
}

/// Parses a stored entry. Files may have been edited by hand, so entries are validated again when they are
/// read.
fn stored_entry<E: Entry>(
    file: &DirectoryFile,
    name: &EntryName,
    text: &serde_json::value::RawValue,
) -> Result<E, Error> {
    E::check(text).map_err(|error| {
        let section = match E::SECTION {
            Section::Mcp => "mcp",
            Section::Skills => "skills",
        };
        Error::CorruptFile {
            file: file.path().to_owned(),
            reason: format!("{section} entry {name}: {error}"),
        }
    })
}

/// Converts an encoding error. Encoding text that is already JSON cannot fail; if it did, the error would
/// name the file.
fn encoding(file: &DirectoryFile) -> impl FnOnce(serde_json::Error) -> Error {
    let path = file.path().to_owned();
    move |error| Error::io("encode", &path)(error.into())
}
