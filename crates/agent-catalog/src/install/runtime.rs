//! Private runtimes: installed once below the data directory, shared by every agent that needs them.

use std::path::{Path, PathBuf};

use sandbox_fs::FileFormat;
use serde::{Deserialize, Serialize};

use crate::error::{CatalogError, InstallStep, StorageResult};
use crate::install::archive::unpack;
use crate::install::context::InstallContext;
use crate::layout::{RECORD_FILE, remove_tree, write_json};
use crate::locks::FileLock;
use crate::record::{ArtifactKind, RecordedArtifact, Source, Word};

/// The record of a complete runtime.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RuntimeRecord {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) origin: String,
}

/// An installed runtime.
#[derive(Debug, Clone)]
pub(crate) struct Runtime {
    pub(crate) record: RuntimeRecord,
    pub(crate) directory: PathBuf,
}

impl Runtime {
    /// The artifact to report. Its source is never the registry, which does not choose runtimes.
    pub(crate) fn artifact(&self, context: &InstallContext, program: &Path) -> RecordedArtifact {
        RecordedArtifact {
            kind: ArtifactKind::Runtime,
            path: Word::path(context.data.root(), program),
            version: Some(self.record.version.clone()),
            source: Source::Fallback,
            origin: self.record.origin.clone(),
            sha256: None,
        }
    }
}

/// Ensures that a runtime is installed; `fill` installs it into the empty directory if it is not.
pub(crate) async fn ensure(
    context: &InstallContext,
    record: RuntimeRecord,
    fill: impl AsyncFnOnce(&Path) -> Result<(), CatalogError>,
) -> Result<Runtime, CatalogError> {
    let directory = context.data.runtime(&record.name, &record.version);
    let complete = directory.join(RECORD_FILE);
    let lock_path = context.data.lock(&format!("runtime-{}", record.name));
    let _lock = FileLock::acquire(&lock_path, || {}).await?;
    if !complete.exists() {
        let what = format!("{} {}", record.name, record.version);
        context.progress.enter(InstallStep::PrepareRuntime, what);
        remove_tree(&directory);
        std::fs::create_dir_all(&directory).during("create", &directory)?;
        if let Err(error) = fill(&directory).await {
            remove_tree(&directory);
            return Err(error);
        }
        write_json(&complete, &record)?;
    }
    Ok(Runtime { record, directory })
}

/// Unpacks an npm tarball (everything below `package/`) into a directory.
pub(crate) async fn unpack_tarball(
    context: &InstallContext,
    tarball: PathBuf,
    directory: &Path,
) -> Result<(), CatalogError> {
    let target = directory.to_owned();
    let unpacked =
        tokio::task::spawn_blocking(move || unpack(&tarball, FileFormat::TarGzip, &target, 1)).await;
    let result = unpacked.unwrap_or_else(|error| Err(error.to_string()));
    result.map_err(|detail| context.failed(InstallStep::PrepareRuntime, detail, String::new()))
}
