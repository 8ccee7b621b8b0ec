//! Restores a bundle: unpacks it into a staging folder, checks everything, then moves it into place.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use sandbox_fs::FileFormat;

use super::tree::{Node, file_digest, walk};
use super::{
    BundleSummary, BundledAgent, FORMAT, INDEX_FILE, Index, IndexedAgent, IndexedEnvironment, invalid,
};
use crate::error::{CatalogError, StorageResult};
use crate::install::archive::{ArchiveKind, unpack};
use crate::layout::{DataDirectory, RECORD_FILE, read_json, remove_tree, write_json};
use crate::locks::FileLock;
use crate::maintenance::INSTALLS_LOCK;
use crate::platform::Platform;
use crate::record::{InstallRecord, Word};

/// Restores every agent of a bundle.
pub(super) async fn restore(data: &DataDirectory, file: &Path) -> Result<BundleSummary, CatalogError> {
    fs::create_dir_all(data.root()).during("create", data.root())?;
    let staging = tempfile::Builder::new()
        .prefix(".unbundle-")
        .tempdir_in(data.root())
        .during("create a folder in", data.root())?;
    let (bundle, folder) = (file.to_owned(), staging.path().to_owned());
    let checked = tokio::task::spawn_blocking(move || unpack_and_check(&bundle, &folder)).await;
    let index = checked.unwrap_or_else(|error| Err(invalid(file, error.to_string())))?;
    for environment in &index.environments {
        point_home(data.root(), staging.path(), environment)?;
    }
    // Hold this lock until the agents' records are in place: before that, nothing on disk says which runtimes
    // they need.
    let _keeps_runtimes = FileLock::acquire_shared(&data.lock(INSTALLS_LOCK)).await?;
    restore_runtimes(data, staging.path()).await?;
    let mut agents = Vec::new();
    for agent in &index.agents {
        restore_agent(data, staging.path(), agent, file).await?;
        agents.push(BundledAgent { id: agent.id.clone(), version: agent.version.clone() });
    }
    let bytes = fs::metadata(file).during("inspect", file)?.len();
    Ok(BundleSummary { agents, files: index.files.len(), bytes })
}

fn unpack_and_check(bundle: &Path, folder: &Path) -> Result<Index, CatalogError> {
    let kind = ArchiveKind::detect(bundle).during("read", bundle)?;
    if kind != ArchiveKind::Packed(FileFormat::TarZstd) {
        return Err(invalid(bundle, "not a bundle: it is not a tar.zst"));
    }
    unpack(bundle, FileFormat::TarZstd, folder, 0).map_err(|detail| invalid(bundle, detail))?;
    let index_path = folder.join(INDEX_FILE);
    let index: Index =
        read_json(&index_path).map_err(|error| invalid(bundle, format!("no usable index: {error}")))?;
    fs::remove_file(&index_path).during("delete", &index_path)?;
    if index.format != FORMAT {
        return Err(invalid(bundle, format!("format {} is not format {FORMAT}", index.format)));
    }
    if index.platform != Platform::current() {
        let detail = format!("it is for {}, this machine is {}", index.platform, Platform::current());
        return Err(invalid(bundle, detail));
    }
    check(bundle, folder, &index)?;
    Ok(index)
}

/// Checks that exactly the indexed files and links are there, with the indexed content.
fn check(bundle: &Path, folder: &Path, index: &Index) -> Result<(), CatalogError> {
    let mut found = BTreeSet::new();
    for (path, node) in walk(folder).during("read", folder)? {
        let expected = match &node {
            Node::Link { target } => index.links.get(&path) == Some(target),
            Node::File { .. } => {
                let full = folder.join(&path);
                index.files.get(&path) == Some(&file_digest(&full).during("read", &full)?)
            }
        };
        if !expected {
            return Err(invalid(bundle, format!("wrong checksum: {}", path.display())));
        }
        found.insert(path);
    }
    match index.files.keys().chain(index.links.keys()).find(|path| !found.contains(*path)) {
        Some(missing) => Err(invalid(bundle, format!("missing: {}", missing.display()))),
        None => Ok(()),
    }
}

/// Writes the absolute path of the interpreter's directory into the configuration of a Python environment.
fn point_home(root: &Path, staging: &Path, environment: &IndexedEnvironment) -> Result<(), CatalogError> {
    let config = staging.join(&environment.path).join("pyvenv.cfg");
    let text = fs::read_to_string(&config).during("read", &config)?;
    let home = root.join(&environment.home);
    let lines = text.lines().map(|line| match line.split_once('=') {
        Some((key, _)) if key.trim() == "home" => format!("home = {}", home.display()),
        _ => line.to_owned(),
    });
    let text = lines.collect::<Vec<_>>().join("\n") + "\n";
    fs::write(&config, text).during("write", &config)
}

/// Moves runtimes into place. An existing complete runtime of the same version is kept.
async fn restore_runtimes(data: &DataDirectory, staging: &Path) -> Result<(), CatalogError> {
    for name in children(&staging.join("runtimes")) {
        let _lock = FileLock::acquire(&data.lock(&format!("runtime-{name}")), || {}).await?;
        for version in children(&staging.join("runtimes").join(&name)) {
            let target = data.runtime(&name, &version);
            // Pythons that uv manages have no install record; for them, an existing directory counts as complete.
            let source = staging.join("runtimes").join(&name).join(&version);
            let is_ours = source.join(RECORD_FILE).exists();
            if target.join(RECORD_FILE).exists() || (!is_ours && target.exists()) {
                continue;
            }
            remove_tree(&target);
            let parent = target.parent().unwrap_or(data.root());
            fs::create_dir_all(parent).during("create", parent)?;
            fs::rename(&source, &target).during("move", &target)?;
        }
    }
    Ok(())
}

async fn restore_agent(
    data: &DataDirectory,
    staging: &Path,
    agent: &IndexedAgent,
    bundle: &Path,
) -> Result<(), CatalogError> {
    let _lock = FileLock::acquire(&data.lock(&format!("agent-{}", agent.id)), || {}).await?;
    // The index is untrusted: a directory name must be a single path component.
    if children(&staging.join("agents").join(agent.id.as_str())).iter().all(|name| *name != agent.directory) {
        return Err(invalid(bundle, format!("agent {} is not in it", agent.id)));
    }
    let source = staging.join("agents").join(agent.id.as_str()).join(&agent.directory);
    let record_path = source.join(RECORD_FILE);
    let mut record: InstallRecord = read_json(&record_path)
        .map_err(|error| invalid(bundle, format!("record of {}: {error}", agent.id)))?;
    let directory = data.unused_directory(&agent.id, &agent.version, &[]);
    rename_version(&mut record, &directory);
    write_json(&record_path, &record)?;
    let target = data.version(&agent.id, &directory);
    let parent = data.agent(&agent.id);
    fs::create_dir_all(&parent).during("create", &parent)?;
    fs::rename(&source, &target).during("move", &target)?;
    data.activate(&agent.id, &directory)?;
    data.remove_unused(&agent.id);
    Ok(())
}

/// Changes the directory of a record, and every path in the record that is below it.
fn rename_version(record: &mut InstallRecord, directory: &str) {
    let home = Path::new("agents").join(record.agent.as_str());
    let (old, new) = (home.join(&record.directory), home.join(directory));
    let artifacts = record.artifacts.iter_mut().map(|artifact| &mut artifact.path);
    let launch = &mut record.launch;
    let words = std::iter::once(&mut launch.program)
        .chain(&mut launch.args)
        .chain(&mut launch.search_path)
        .chain(&mut launch.library_path);
    for word in words.chain(artifacts) {
        if let Word::Data(path) = word
            && let Ok(rest) = path.strip_prefix(&old)
        {
            *path = new.join(rest);
        }
    }
    directory.clone_into(&mut record.directory);
}

fn children(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}
