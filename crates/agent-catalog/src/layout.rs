//! The data directory: where versions live, which one is current, and when one may be deleted.
//!
//! A version directory without a record was left by an interrupted install. A complete version is deleted only
//! when it is neither current nor leased. Nothing here decides what to install.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::agent_id::AgentId;
use crate::error::{CatalogError, StorageResult};
use crate::launch::VersionLease;
use crate::record::InstallRecord;

/// The install record. Its presence marks a version as complete.
pub(crate) const RECORD_FILE: &str = ".install.json";
/// The cached probe report, next to the record.
pub(crate) const PROBE_FILE: &str = ".probe.json";
const CURRENT: &str = "current";

/// The product's data directory, as an absolute path.
#[derive(Debug, Clone)]
pub(crate) struct DataDirectory {
    root: PathBuf,
}

impl DataDirectory {
    pub(crate) fn new(root: &Path) -> Result<Self, CatalogError> {
        let root = std::path::absolute(root).during("resolve", root)?;
        Ok(Self { root })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn agent(&self, id: &AgentId) -> PathBuf {
        self.root.join("agents").join(id.as_str())
    }

    pub(crate) fn version(&self, id: &AgentId, directory: &str) -> PathBuf {
        self.agent(id).join(directory)
    }

    pub(crate) fn runtime(&self, name: &str, version: &str) -> PathBuf {
        self.root.join("runtimes").join(name).join(version)
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    pub(crate) fn lock(&self, name: &str) -> PathBuf {
        self.root.join("locks").join(format!("{name}.lock"))
    }

    fn lease_file(&self, id: &AgentId, directory: &str) -> PathBuf {
        self.root.join("locks/leases").join(id.as_str()).join(directory)
    }

    /// The record of the version in use; `None` if no complete version is in use.
    pub(crate) fn current(&self, id: &AgentId) -> Option<InstallRecord> {
        let target = fs::read_link(self.agent(id).join(CURRENT)).ok()?;
        // The catalog writes a relative link of one component; any other link is foreign and ignored.
        let directory = target.to_str().filter(|name| !name.contains('/'))?;
        read_json(&self.version(id, directory).join(RECORD_FILE)).ok()
    }

    /// Makes a version the current one, atomically.
    pub(crate) fn activate(&self, id: &AgentId, directory: &str) -> Result<(), CatalogError> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let fresh = self.agent(id).join(format!(".current-{}-{count}", std::process::id()));
        let current = self.agent(id).join(CURRENT);
        std::os::unix::fs::symlink(directory, &fresh).during("link", &fresh)?;
        fs::rename(&fresh, &current).during("switch", &current)
    }

    /// Makes no version the current one.
    pub(crate) fn deactivate(&self, id: &AgentId) -> Result<(), CatalogError> {
        let current = self.agent(id).join(CURRENT);
        match fs::remove_file(&current) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).during("delete", &current),
            _ => Ok(()),
        }
    }

    /// Deletes the directory of an agent that has no versions. The caller must hold the agent's lock.
    pub(crate) fn remove_agent_if_empty(&self, id: &AgentId) {
        // Fails if the directory is not empty.
        let _ = fs::remove_dir(self.agent(id));
    }

    /// The directories of an agent's complete versions.
    pub(crate) fn versions_on_disk(&self, id: &AgentId) -> Vec<String> {
        let complete =
            |(name, path): &(String, PathBuf)| !name.starts_with('.') && path.join(RECORD_FILE).exists();
        let mut names: Vec<String> =
            subdirectories(&self.agent(id)).into_iter().filter(complete).map(|(name, _)| name).collect();
        names.sort();
        names
    }

    /// A directory name for a version that no directory has yet and that is not in `avoided`: the names of
    /// interrupted installs, whose orphaned tools may still be writing there.
    pub(crate) fn unused_directory(&self, id: &AgentId, version: &str, avoided: &[String]) -> String {
        let base = directory_name(version);
        let mut candidate = base.clone();
        let mut generation = 2;
        while avoided.contains(&candidate) || self.version(id, &candidate).symlink_metadata().is_ok() {
            candidate = format!("{base}+{generation}");
            generation += 1;
        }
        candidate
    }

    /// Keeps a version on disk for as long as the lease lives. `None` when the version is deleted or being
    /// deleted.
    pub(crate) fn lease(&self, record: &InstallRecord) -> Option<VersionLease> {
        let path = self.lease_file(&record.agent, &record.directory);
        let file = match open_lock_file(&path) {
            Ok(file) => file,
            // If the data directory is read-only, this process does not clean it up, so no lease is needed.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
                ) =>
            {
                return Some(VersionLease::default());
            }
            Err(_) => return None,
        };
        file.try_lock_shared().ok()?;
        let still_there = self.version(&record.agent, &record.directory).join(RECORD_FILE).exists();
        still_there.then(|| VersionLease::holding(file))
    }

    /// Deletes what interrupted installs left behind and returns the directory names. The caller must hold the
    /// agent's lock.
    pub(crate) fn remove_incomplete(&self, id: &AgentId) -> Vec<String> {
        let mut removed = Vec::new();
        for (name, path) in subdirectories(&self.agent(id)) {
            if name.starts_with('.') || !path.join(RECORD_FILE).exists() {
                remove_tree(&path);
                removed.push(name);
            }
        }
        removed
    }

    /// Deletes complete versions that are neither current nor leased. The caller must hold the agent's lock.
    pub(crate) fn remove_unused(&self, id: &AgentId) {
        let current = fs::read_link(self.agent(id).join(CURRENT)).unwrap_or_default();
        for (name, path) in subdirectories(&self.agent(id)) {
            if Path::new(&name) == current || name.starts_with('.') {
                continue;
            }
            let Ok(lease) = open_lock_file(&self.lease_file(id, &name)) else { continue };
            if lease.try_lock().is_ok() {
                let trash = self.agent(id).join(format!(".removed-{name}"));
                if fs::rename(&path, &trash).is_ok() {
                    remove_tree(&trash);
                }
            }
        }
    }

    /// Private runtimes, as `name/version` and directory.
    pub(crate) fn runtimes_on_disk(&self) -> Vec<(String, PathBuf)> {
        let mut found = Vec::new();
        for (name, directory) in subdirectories(&self.root.join("runtimes")) {
            found.extend(
                subdirectories(&directory)
                    .into_iter()
                    .map(|(version, path)| (format!("{name}/{version}"), path)),
            );
        }
        found
    }

    /// The agents that have a directory here.
    pub(crate) fn agents_on_disk(&self) -> Vec<AgentId> {
        let mut ids: Vec<AgentId> = subdirectories(&self.root.join("agents"))
            .into_iter()
            .filter_map(|(name, _)| name.parse().ok())
            .collect();
        ids.sort();
        ids
    }
}

/// Turns a version into one safe path component.
fn directory_name(version: &str) -> String {
    let safe: String = version
        .chars()
        .take(80)
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+') { c } else { '_' })
        .collect();
    if safe.is_empty() || safe.starts_with('.') || safe == CURRENT { format!("v{safe}") } else { safe }
}

pub(crate) fn subdirectories(parent: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = fs::read_dir(parent) else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .collect()
}

/// Deletes a tree as far as possible; the next attempt deletes what remains.
pub(crate) fn remove_tree(path: &Path) {
    if let Err(error) = fs::remove_dir_all(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(path = %path.display(), %error, "cannot delete");
    }
}

/// Opens a lock file, creating its parent directories.
pub(crate) fn open_lock_file(path: &Path) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    File::options().create(true).truncate(false).read(true).write(true).open(path)
}

pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

/// Writes JSON so that a reader sees the complete old file or the complete new one.
pub(crate) fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), CatalogError> {
    let text = serde_json::to_vec_pretty(value).map_err(io::Error::from).during("encode", path)?;
    write_atomically(path, &text)
}

pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), CatalogError> {
    let parent = path.parent().unwrap_or(Path::new("."));
    let write = || -> io::Result<()> {
        fs::create_dir_all(parent)?;
        // The umask decides the mode, as for any new file: one user may install and another run.
        let mode = fs::Permissions::from_mode(0o666);
        let mut file = tempfile::Builder::new().prefix(".write-").permissions(mode).tempfile_in(parent)?;
        io::Write::write_all(&mut file, bytes)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().during("write", path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_becomes_one_safe_component() {
        assert_eq!(directory_name("1.2.3-rc.1+build"), "1.2.3-rc.1+build");
        assert_eq!(directory_name("../../etc"), "v.._.._etc");
        assert_eq!(directory_name("current"), "vcurrent");
        assert_eq!(directory_name(""), "v");
    }

    #[test]
    fn a_new_attempt_never_shares_a_directory_with_an_old_one() {
        let temp = tempfile::tempdir().unwrap();
        let data = DataDirectory::new(temp.path()).unwrap();
        let id: AgentId = "x".parse().unwrap();
        assert_eq!(data.unused_directory(&id, "1.0", &[]), "1.0");
        fs::create_dir_all(data.version(&id, "1.0")).unwrap();
        assert_eq!(data.unused_directory(&id, "1.0", &[]), "1.0+2");
        let avoided = data.remove_incomplete(&id);
        assert_eq!(data.unused_directory(&id, "1.0", &avoided), "1.0+2");
    }
}
