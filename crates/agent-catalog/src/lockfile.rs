//! `agents.lock`: the installed agents, their sources and checksums.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::agent_id::AgentId;
use crate::bundle::tree::digest;
use crate::catalog::Catalog;
use crate::error::{CatalogError, StorageResult};
use crate::install::RuntimeRecord;
use crate::layout::{RECORD_FILE, read_json, write_atomically};
use crate::platform::Platform;
use crate::record::{ArtifactKind, Source};

/// The content of a lock file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentsLock {
    /// The version of the file format.
    pub format: u32,
    /// The platform of the machine: checksums differ between platforms.
    pub platform: Platform,
    /// Installed agents by id.
    #[serde(default)]
    pub agents: BTreeMap<AgentId, LockedAgent>,
    /// Private runtimes, as `name/version`.
    #[serde(default)]
    pub runtimes: BTreeMap<String, LockedRuntime>,
}

/// One installed agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedAgent {
    /// The agent's version.
    pub version: String,
    /// Where the agent came from.
    pub source: Source,
    /// One checksum over every installed file.
    pub sha256: String,
    /// The parts that it consists of.
    pub artifacts: Vec<LockedArtifact>,
}

/// One part of an installed agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedArtifact {
    /// The kind of the part.
    pub kind: ArtifactKind,
    /// The requested package or address, such as `npm:pi-acp@0.0.34`.
    pub origin: String,
    /// The version of the part, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The checksum of the downloaded archive, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// One private runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedRuntime {
    /// The requested package or address.
    pub origin: String,
    /// One checksum over every file.
    pub sha256: String,
}

impl Catalog {
    /// Describes everything that is installed. Reads every file.
    ///
    /// # Errors
    /// [`CatalogError::Storage`].
    pub async fn lock(&self) -> Result<AgentsLock, CatalogError> {
        let catalog = self.clone();
        let described = tokio::task::spawn_blocking(move || catalog.describe_installed()).await;
        described.unwrap_or_else(|error| Err(CatalogError::Configuration { detail: error.to_string() }))
    }

    /// Writes the result of [`Self::lock`] as TOML.
    ///
    /// # Errors
    /// [`CatalogError::Storage`].
    pub async fn write_lock(&self, file: &Path) -> Result<AgentsLock, CatalogError> {
        let lock = self.lock().await?;
        let text = toml::to_string_pretty(&lock).map_err(|error| CatalogError::Storage {
            action: "encode",
            path: file.to_owned(),
            detail: error.to_string(),
            no_space: false,
        })?;
        write_atomically(file, text.as_bytes())?;
        Ok(lock)
    }

    fn describe_installed(&self) -> Result<AgentsLock, CatalogError> {
        let mut lock = AgentsLock {
            format: 1,
            platform: Platform::current(),
            agents: BTreeMap::new(),
            runtimes: BTreeMap::new(),
        };
        for id in self.data().agents_on_disk() {
            let Some(record) = self.data().current(&id) else { continue };
            let directory = self.data().version(&id, &record.directory);
            let artifacts = record.artifacts.into_iter().map(|artifact| LockedArtifact {
                kind: artifact.kind,
                origin: artifact.origin,
                version: artifact.version,
                sha256: artifact.sha256,
            });
            let agent = LockedAgent {
                version: record.version,
                source: record.source,
                sha256: digest(&directory).during("read", &directory)?,
                artifacts: artifacts.collect(),
            };
            lock.agents.insert(id, agent);
        }
        for (name, directory) in self.data().runtimes_on_disk() {
            if let Ok(record) = read_json::<RuntimeRecord>(&directory.join(RECORD_FILE)) {
                let sha256 = digest(&directory).during("read", &directory)?;
                lock.runtimes.insert(name, LockedRuntime { origin: record.origin, sha256 });
            }
        }
        Ok(lock)
    }
}
