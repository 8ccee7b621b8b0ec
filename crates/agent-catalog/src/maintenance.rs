//! Uninstalls agents, deletes files that are no longer needed, and checks whether a newer version is offered.
//!
//! Nothing here breaks a running agent: a version with a lease stays on disk until the lease ends.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::agent_id::AgentId;
use crate::catalog::{Catalog, install_command};
use crate::error::CatalogError;
use crate::layout::{DataDirectory, RECORD_FILE, read_json, remove_tree};
use crate::locks::FileLock;
use crate::manifest::Manifest;
use crate::plan::{self, Pins};
use crate::record::{InstallRecord, Source, Word};

/// The name of a lock file. Every install holds a shared lock on it. Deleting unused runtimes needs the exclusive
/// lock, so it never happens during an install.
pub(crate) const INSTALLS_LOCK: &str = "installs";

/// The result of an uninstall.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Uninstalled {
    /// The agent.
    pub agent: AgentId,
    /// The version that was in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Directories of versions that a running process still uses. The server deletes them when the process ends, or
    /// the next [`Catalog::prune`] does.
    pub still_in_use: Vec<String>,
}

/// What [`Catalog::prune`] deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pruned {
    /// The deleted directories.
    pub removed: Vec<PrunedDirectory>,
    /// Agents that were skipped, because an install of them is running.
    pub skipped: Vec<AgentId>,
    /// True if the private runtimes were skipped, because an install is running.
    pub runtimes_skipped: bool,
}

/// One deleted directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PrunedDirectory {
    /// The path of the directory, relative to the data directory.
    pub path: PathBuf,
    /// The size of its files.
    pub bytes: u64,
}

impl Catalog {
    /// The installed agents. Configured commands are not installed.
    #[must_use]
    pub fn installed(&self) -> Vec<AgentId> {
        let data = self.data();
        data.agents_on_disk().into_iter().filter(|id| data.current(id).is_some()).collect()
    }

    /// Uninstalls an agent: all its versions, except those that a running process uses.
    ///
    /// # Errors
    /// [`CatalogError::InvalidAgentId`], [`CatalogError::AgentNotInstalled`], [`CatalogError::Storage`].
    pub async fn uninstall(&self, id: &str) -> Result<Uninstalled, CatalogError> {
        let id = self.canonical(id)?;
        let data = self.data().clone();
        if !data.agent(&id).exists() {
            return Err(not_installed(&id));
        }
        let _lock = FileLock::acquire(&data.lock(&format!("agent-{id}")), || {}).await?;
        blocking(&data.agent(&id), move || {
            let version = data.current(&id).map(|record| record.version);
            let had_versions = !data.versions_on_disk(&id).is_empty();
            data.deactivate(&id)?;
            data.remove_incomplete(&id);
            data.remove_unused(&id);
            let still_in_use = data.versions_on_disk(&id);
            data.remove_agent_if_empty(&id);
            if version.is_none() && (!had_versions || !still_in_use.is_empty()) {
                return Err(not_installed(&id));
            }
            Ok(Uninstalled { agent: id, version, still_in_use })
        })
        .await
    }

    /// Deletes files that are no longer needed: versions that are neither current nor in use, the remains of
    /// interrupted installs, and private runtimes that no installed version refers to.
    ///
    /// # Errors
    /// [`CatalogError::Storage`].
    pub async fn prune(&self) -> Result<Pruned, CatalogError> {
        let data = self.data().clone();
        blocking(self.data().root(), move || {
            let mut pruned = Pruned::default();
            for id in data.agents_on_disk() {
                // A running install holds the lock.
                match FileLock::try_acquire(&data.lock(&format!("agent-{id}"))) {
                    Some(_lock) => prune_agent(&data, &id, &mut pruned),
                    None => pruned.skipped.push(id),
                }
            }
            match FileLock::try_acquire(&data.lock(INSTALLS_LOCK)) {
                Some(_lock) => prune_runtimes(&data, &mut pruned),
                None => pruned.runtimes_skipped = true,
            }
            Ok(pruned)
        })
        .await
    }

    /// True if the installed version is the one that an install would bring now, according to the registry's
    /// last answer ([`crate::RegistryClient::refresh`] downloads a new one). Also true if the agent was installed
    /// from the registry and the registry cannot be reached. False if the agent is offered without a version,
    /// so that only an install can tell.
    ///
    /// # Errors
    /// [`CatalogError::InvalidAgentId`], [`CatalogError::AgentNotInstalled`], or why it cannot be installed any more.
    pub async fn is_up_to_date(&self, id: &str) -> Result<bool, CatalogError> {
        let id = self.canonical(id)?;
        let record = self.data().current(&id).ok_or_else(|| not_installed(&id))?;
        let answer = self.registry().lookup().await;
        let manifest = Manifest::embedded().find(id.as_str());
        let plan = plan::make(&id, manifest, &answer, &Pins::default())?;
        if (plan.source, record.source) == (Source::Fallback, Source::Registry) {
            // The registry cannot be reached. The pinned version may be older than the installed one.
            return Ok(true);
        }
        let offered = plan.version().is_some_and(|version| version == record.version);
        let native = plan.native.as_ref().and_then(|native| native.version.as_deref());
        let native_matches = native.is_none_or(|version| record.native_version() == Some(version));
        Ok(offered && native_matches && record.is_launchable(self.data().root()))
    }
}

/// Runs work on a blocking thread: a version may have tens of thousands of files.
async fn blocking<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce() -> Result<T, CatalogError> + Send + 'static,
) -> Result<T, CatalogError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(CatalogError::storage("clean up", path, &std::io::Error::other(error))))
}

fn not_installed(id: &AgentId) -> CatalogError {
    CatalogError::AgentNotInstalled { agent: id.to_string(), command: install_command(id) }
}

fn prune_agent(data: &DataDirectory, id: &AgentId, pruned: &mut Pruned) {
    let home = Path::new("agents").join(id.as_str());
    let before = measured(&data.agent(id));
    data.remove_incomplete(id);
    data.remove_unused(id);
    for (name, bytes) in before {
        if !data.version(id, &name).exists() {
            pruned.removed.push(PrunedDirectory { path: home.join(name), bytes });
        }
    }
    data.remove_agent_if_empty(id);
}

/// Deletes private runtimes that no version on disk refers to. A Python that uv manages has no record and is kept: uv
/// may refer to it.
fn prune_runtimes(data: &DataDirectory, pruned: &mut Pruned) {
    let mut used = BTreeSet::new();
    for id in data.agents_on_disk() {
        for directory in data.versions_on_disk(&id) {
            let version = data.version(&id, &directory);
            // If the needs of a version are unknown, keep all runtimes.
            let Ok(record) = read_json::<InstallRecord>(&version.join(RECORD_FILE)) else { return };
            used.extend(recorded_paths(&record).filter_map(runtime_directory));
            used.extend(links(&version).iter().filter_map(|link| {
                let target = fs::canonicalize(link).ok()?;
                let root = fs::canonicalize(data.root()).ok()?;
                runtime_directory(target.strip_prefix(root).ok()?)
            }));
        }
    }
    for (name, directory) in data.runtimes_on_disk() {
        let path = Path::new("runtimes").join(name);
        if directory.join(RECORD_FILE).exists() && !used.contains(&path) {
            let bytes = size(&directory);
            remove_tree(&directory);
            pruned.removed.push(PrunedDirectory { path, bytes });
        }
    }
}

/// All paths in a record that are below the data directory.
fn recorded_paths(record: &InstallRecord) -> impl Iterator<Item = &Path> {
    let launch = &record.launch;
    let words = std::iter::once(&launch.program)
        .chain(&launch.args)
        .chain(&launch.search_path)
        .chain(&launch.library_path)
        .chain(record.artifacts.iter().map(|artifact| &artifact.path));
    words.filter_map(|word| match word {
        Word::Data(path) => Some(path.as_path()),
        Word::Text(_) | Word::Host(_) => None,
    })
}

/// The `runtimes/<name>/<version>` prefix of a path.
fn runtime_directory(path: &Path) -> Option<PathBuf> {
    path.starts_with("runtimes").then(|| path.components().take(3).collect())
}

/// The subdirectories of a directory with their sizes.
fn measured(parent: &Path) -> Vec<(String, u64)> {
    let found = crate::layout::subdirectories(parent);
    let mut found: Vec<_> = found.into_iter().map(|(name, path)| (name, size(&path))).collect();
    found.sort();
    found
}

/// The symbolic links below a directory, such as the Python of a virtual environment.
fn links(directory: &Path) -> Vec<PathBuf> {
    let (mut links, mut pending) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => pending.push(entry.path()),
                Ok(kind) if kind.is_symlink() => links.push(entry.path()),
                _ => {}
            }
        }
    }
    links
}

/// The size of all files below a directory. Hard-linked files count once.
fn size(directory: &Path) -> u64 {
    let (mut bytes, mut seen, mut pending) = (0, HashSet::new(), vec![directory.to_owned()]);
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                pending.push(entry.path());
            } else if seen.insert((metadata.dev(), metadata.ino())) {
                bytes += metadata.len();
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Writes a complete version whose program is in the private Node.js.
    fn version(data: &DataDirectory, id: &AgentId, directory: &str) {
        let path = data.version(id, directory);
        fs::create_dir_all(&path).unwrap();
        let launch = json!({"program": {"data": "runtimes/node/1/bin/node"}, "args": []});
        let record = json!({"agent": id, "directory": directory, "version": directory, "source": "registry",
            "artifacts": [], "launch": launch, "verified": "ok", "installed_at_ms": 1});
        fs::write(path.join(RECORD_FILE), record.to_string()).unwrap();
    }

    fn runtime(data: &DataDirectory, name: &str, version: &str) -> PathBuf {
        let path = data.runtime(name, version);
        fs::create_dir_all(path.join("bin")).unwrap();
        fs::write(path.join("bin/program"), "12345").unwrap();
        fs::write(path.join(RECORD_FILE), "{}").unwrap();
        path
    }

    #[test]
    fn a_runtime_is_kept_while_a_version_refers_to_it_by_path_or_by_link() {
        let temp = tempfile::tempdir().unwrap();
        let data = DataDirectory::new(temp.path()).unwrap();
        let id: AgentId = "x".parse().unwrap();
        version(&data, &id, "1.0");
        let [node, python, uv, old] = [("node", "1"), ("python", "3"), ("uv", "1"), ("node", "0")]
            .map(|(name, version)| runtime(&data, name, version));
        fs::remove_file(uv.join(RECORD_FILE)).unwrap();
        let linked = data.version(&id, "1.0").join("venv/bin");
        fs::create_dir_all(&linked).unwrap();
        std::os::unix::fs::symlink(python.join("bin/program"), linked.join("python")).unwrap();
        let mut pruned = Pruned::default();
        prune_runtimes(&data, &mut pruned);
        assert_eq!(pruned.removed, [PrunedDirectory { path: "runtimes/node/0".into(), bytes: 7 }]);
        assert!(node.exists() && python.exists() && uv.exists() && !old.exists());
    }

    #[test]
    fn a_version_in_use_and_the_current_one_are_kept() {
        let temp = tempfile::tempdir().unwrap();
        let data = DataDirectory::new(temp.path()).unwrap();
        let id: AgentId = "x".parse().unwrap();
        for directory in ["1.0", "1.1", "1.2"] {
            version(&data, &id, directory);
        }
        fs::create_dir_all(data.version(&id, "1.3")).unwrap();
        data.activate(&id, "1.0").unwrap();
        let lease = data.lease(&data.current(&id).unwrap()).unwrap();
        data.activate(&id, "1.2").unwrap();
        let prune = || {
            let mut pruned = Pruned::default();
            prune_agent(&data, &id, &mut pruned);
            pruned.removed.into_iter().map(|directory| directory.path).collect::<Vec<_>>()
        };
        assert_eq!(prune(), [Path::new("agents/x/1.1"), Path::new("agents/x/1.3")]);
        drop(lease);
        assert_eq!(prune(), [Path::new("agents/x/1.0")]);
        assert_eq!(data.versions_on_disk(&id), ["1.2"]);
    }
}
