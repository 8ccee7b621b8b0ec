//! Bundles of agents for machines without a network: packed with their runtimes, restored after every checksum is
//! verified.
//!
//! A bundle is a `tar.zst` of paths below the data directory. Its last entry, [`INDEX_FILE`], lists every file's
//! SHA-256 and every link. No path in it is absolute: the machine's own interpreters are packed as private
//! runtimes, and links to them are made relative.

mod interpreter;
mod pack;
mod restore;
pub(crate) mod tree;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::agent_id::AgentId;
use crate::catalog::Catalog;
use crate::error::CatalogError;
use crate::platform::Platform;
use crate::record::InstallRecord;

/// The index's name inside a bundle.
pub(crate) const INDEX_FILE: &str = "bundle.json";
/// Incremented when older catalogs cannot restore newer bundles.
const FORMAT: u32 = 1;

/// The index of a bundle, which is the bundle's last entry.
#[derive(Debug, Serialize, Deserialize)]
struct Index {
    format: u32,
    platform: Platform,
    agents: Vec<IndexedAgent>,
    /// Python environments whose configuration names an absolute path, each with the directory to name there.
    environments: Vec<IndexedEnvironment>,
    /// The SHA-256 of every file, keyed by path.
    files: BTreeMap<PathBuf, String>,
    /// The target of every symbolic link, keyed by path.
    links: BTreeMap<PathBuf, PathBuf>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct IndexedAgent {
    id: AgentId,
    directory: String,
    version: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct IndexedEnvironment {
    path: PathBuf,
    home: PathBuf,
}

/// The content of a bundle that was written or restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BundleSummary {
    /// The agents, with their versions.
    pub agents: Vec<BundledAgent>,
    /// The number of files.
    pub files: usize,
    /// The size of the bundle on disk.
    pub bytes: u64,
}

/// One agent of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BundledAgent {
    /// The agent's id.
    pub id: AgentId,
    /// The agent's version.
    pub version: String,
}

impl Catalog {
    /// Packs installed agents, with every runtime they need, into one file.
    ///
    /// # Errors
    /// [`CatalogError::AgentNotInstalled`]; [`CatalogError::BundleInvalid`] for an interpreter that cannot be
    /// bundled; [`CatalogError::Storage`].
    pub async fn bundle(&self, agents: &[String], file: &Path) -> Result<BundleSummary, CatalogError> {
        let mut records = Vec::new();
        let mut leases = Vec::new();
        for id in agents {
            let id = self.canonical(id)?;
            let record = self.data().current(&id).filter(|record| record.is_launchable(self.data().root()));
            let record = record.ok_or_else(|| CatalogError::AgentNotInstalled {
                agent: id.to_string(),
                command: crate::catalog::install_command(&id),
            })?;
            // The lease is held until everything is packed, so that no update deletes the version in the
            // meantime.
            leases.extend(self.data().lease(&record));
            records.push(record);
        }
        let mut packed_agents: Vec<(InstallRecord, interpreter::BundleParts)> = Vec::new();
        for record in records {
            let parts = interpreter::prepare(self, &record, file).await?;
            packed_agents.push((record, parts));
        }
        let (data, target) = (self.data().clone(), file.to_owned());
        let packed = tokio::task::spawn_blocking(move || pack::pack(&data, packed_agents, &target)).await;
        drop(leases);
        packed.unwrap_or_else(|error| Err(invalid(file, error.to_string())))
    }

    /// Restores a bundle into this catalog's data directory, without network, and activates its agents.
    ///
    /// # Errors
    /// [`CatalogError::BundleInvalid`] if anything in the bundle is damaged, unsafe or for another platform;
    /// nothing is changed then.
    pub async fn unbundle(&self, file: &Path) -> Result<BundleSummary, CatalogError> {
        restore::restore(self.data(), file).await
    }
}

fn invalid(bundle: &Path, detail: impl Into<String>) -> CatalogError {
    CatalogError::BundleInvalid { path: bundle.to_owned(), detail: detail.into() }
}
