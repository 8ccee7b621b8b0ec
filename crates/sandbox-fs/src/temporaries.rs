//! Removes temporary files and folders of processes that were killed.
//!
//! Every temporary name of an upload or a move is written to a list before the file is created. A list
//! belongs to the process that holds its lock. If no process holds the lock, the entries of the list are
//! removed, and then the list itself. Names are random and never reused, so a list may contain names that no
//! longer exist; it is emptied when none of its names is in use.
//!
//! Recording is best effort: an upload does not fail because its temporary name could not be recorded.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::FlockOperation;

use crate::sys;

/// A list larger than this is replaced with one that has only the names in use.
const LIST_BYTES: u64 = 1 << 20;
const ENDING: &str = ".list";

/// The list of this process.
#[derive(Debug)]
pub(crate) struct Temporaries {
    folder: PathBuf,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    /// The list, created when the first name is recorded.
    list: Option<List>,
    /// The names in use, with their directories.
    names: HashMap<OsString, PathBuf>,
}

#[derive(Debug)]
struct List {
    path: PathBuf,
    file: File,
    bytes: u64,
}

/// A recorded name; drop it once the entry is removed or renamed.
#[derive(Debug)]
pub(crate) struct Noted {
    temporaries: Arc<Temporaries>,
    name: OsString,
}

impl Temporaries {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, open: Mutex::default() }
    }

    /// Records a name that is about to be created in a directory.
    pub(crate) fn note(self: &Arc<Self>, directory: PathBuf, name: &OsStr) -> Noted {
        let mut open = self.locked();
        let record = record(&directory, name);
        open.names.insert(name.to_os_string(), directory);
        let is_full = open.list.as_ref().is_some_and(|list| list.bytes > LIST_BYTES);
        let written = match &mut open.list {
            Some(list) if !is_full => list.append(&record),
            _ => self.renew(&mut open),
        };
        if written.is_err() {
            open.list = None;
        }
        drop(open);
        Noted { temporaries: Arc::clone(self), name: name.to_os_string() }
    }

    /// Starts a new list with all names in use. The previous list is removed last, so that every name is always on one.
    fn renew(&self, open: &mut Open) -> std::io::Result<()> {
        let mut list = List::create(&self.folder)?;
        let records: Vec<u8> =
            open.names.iter().flat_map(|(name, directory)| record(directory, name)).collect();
        list.append(&records)?;
        if let Some(before) = open.list.replace(list) {
            let _ = fs::remove_file(before.path);
        }
        Ok(())
    }

    fn forget(&self, name: &OsStr) {
        let mut open = self.locked();
        open.names.remove(name);
        if open.names.is_empty()
            && let Some(list) = &mut open.list
            && list.file.set_len(0).is_ok()
        {
            list.bytes = 0;
        }
    }

    /// Removes the entries of processes that are gone. `remove` returns whether an entry needs no further attempt.
    pub(crate) fn sweep(&self, mut remove: impl FnMut(&Path, &OsStr) -> bool) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.as_os_str().as_bytes().ends_with(ENDING.as_bytes())
                && let Ok(file) = File::open(&path)
                && rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
                && let Ok(bytes) = fs::read(&path)
            {
                let names = records(&bytes);
                let kept = names.into_iter().filter(|(directory, name)| !remove(directory, name)).count();
                if kept == 0 {
                    let _ = fs::remove_file(&path);
                }
            }
        }
    }

    fn locked(&self) -> MutexGuard<'_, Open> {
        // The worst effect of a panic is an unneeded name on the list.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Temporaries {
    fn drop(&mut self) {
        if let Some(list) = self.locked().list.take() {
            let _ = fs::remove_file(list.path);
        }
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        self.temporaries.forget(&self.name);
    }
}

impl List {
    fn create(folder: &Path) -> std::io::Result<Self> {
        fs::create_dir_all(folder)?;
        loop {
            let mut name = sys::temporary_name("temporaries");
            name.push(ENDING);
            let path = folder.join(name);
            let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path)?;
            rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
            // Another process that starts now may have locked and removed it before this one locked it.
            if file.metadata()?.nlink() > 0 {
                return Ok(Self { path, file, bytes: 0 });
            }
        }
    }

    fn append(&mut self, records: &[u8]) -> std::io::Result<()> {
        self.file.write_all(records)?;
        self.bytes += records.len() as u64;
        Ok(())
    }
}

/// A directory and a name, each terminated by a NUL, which neither can contain.
fn record(directory: &Path, name: &OsStr) -> Vec<u8> {
    [directory.as_os_str().as_bytes(), b"\0", name.as_bytes(), b"\0"].concat()
}

/// Parses a list. An incomplete last record was never used. Names that are not temporary names are ignored.
fn records(bytes: &[u8]) -> Vec<(PathBuf, OsString)> {
    let mut parts = bytes.split(|byte| *byte == 0);
    let mut found = Vec::new();
    while let (Some(directory), Some(name)) = (parts.next(), parts.next()) {
        let name = OsStr::from_bytes(name);
        if sys::is_temporary(name) {
            found.push((PathBuf::from(OsStr::from_bytes(directory)), name.to_os_string()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_back_and_other_names_are_ignored() {
        let name = sys::temporary_name("upload");
        let mut bytes = record(Path::new("/a b\nc"), &name);
        bytes.extend(record(Path::new("/etc"), OsStr::new("passwd")));
        bytes.extend(b"/cut");
        assert_eq!(records(&bytes), [(PathBuf::from("/a b\nc"), name)]);
    }

    #[test]
    fn a_list_is_swept_only_when_its_process_is_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = sys::temporary_name("upload");
        let living = Arc::new(Temporaries::new(folder.path().join("lists")));
        let noted = living.note("/somewhere".into(), &name);
        let next = Temporaries::new(folder.path().join("lists"));
        next.sweep(|_, _| panic!("its process is still running"));
        // A list without a lock, as a killed process leaves it.
        let list = living.locked().list.as_ref().expect("a list").path.clone();
        fs::copy(&list, folder.path().join("lists/left.list")).expect("copied");
        let mut swept = Vec::new();
        next.sweep(|directory, name| {
            swept.push((directory.to_path_buf(), name.to_os_string()));
            true
        });
        assert_eq!(swept, [(PathBuf::from("/somewhere"), name)]);
        next.sweep(|_, _| panic!("it was swept already"));
        drop(noted);
        assert_eq!(fs::metadata(&list).expect("the list").len(), 0);
        drop(living);
        assert!(!list.exists());
    }

    #[test]
    fn a_list_that_grows_is_replaced_by_one_with_the_names_in_use() {
        let folder = tempfile::tempdir().expect("a folder");
        let temporaries = Arc::new(Temporaries::new(folder.path().to_path_buf()));
        let stays = sys::temporary_name("upload");
        let _held = temporaries.note("/stays".into(), &stays);
        let long = PathBuf::from(format!("/{}", "d".repeat(4000)));
        for _ in 0..2 * LIST_BYTES / 4000 {
            drop(temporaries.note(long.clone(), &sys::temporary_name("upload")));
        }
        let open = temporaries.locked();
        let list = open.list.as_ref().expect("a list");
        let bytes = fs::read(&list.path).expect("readable");
        assert!(bytes.len() as u64 <= LIST_BYTES + 8192, "{}", bytes.len());
        assert!(records(&bytes).contains(&(PathBuf::from("/stays"), stays)));
    }
}
