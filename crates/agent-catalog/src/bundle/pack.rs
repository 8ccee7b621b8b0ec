//! Writes bundles.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::interpreter::BundleParts;
use super::tree::{HashingReader, Node, walk};
use super::{BundleSummary, BundledAgent, FORMAT, INDEX_FILE, Index, IndexedAgent, invalid};
use crate::error::{CatalogError, StorageResult};
use crate::layout::{DataDirectory, RECORD_FILE};
use crate::platform::Platform;
use crate::record::InstallRecord;

/// Parts of Python's standard library that agents do not need.
const LEFT_OUT: [&str; 4] = ["site-packages", "dist-packages", "test", "idlelib"];

/// Packs agents with everything they need. The file appears completely or not at all.
pub(super) fn pack(
    data: &DataDirectory,
    agents: Vec<(InstallRecord, BundleParts)>,
    target: &Path,
) -> Result<BundleSummary, CatalogError> {
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = tempfile::Builder::new()
        .prefix(".bundle-")
        .permissions(std::fs::Permissions::from_mode(0o666))
        .tempfile_in(parent)
        .during("create a file in", parent)?;
    let summary = agents
        .iter()
        .map(|(record, _)| BundledAgent { id: record.agent.clone(), version: record.version.clone() })
        .collect();
    let mut writer = Writer::new(file.as_file()).during("write", target)?;
    for (record, parts) in agents {
        writer.agent(data, record, parts).during("pack into", target)?;
    }
    let files = writer.finish().during("write", target)?;
    let bytes = file.as_file().metadata().during("inspect", target)?.len();
    file.persist(target).map_err(|error| invalid(target, error.to_string()))?;
    Ok(BundleSummary { agents: summary, files, bytes })
}

struct Writer<'a> {
    archive: tar::Builder<zstd::Encoder<'a, &'a File>>,
    index: Index,
    /// Files already packed, by device and inode. Installers hard-link large binaries; each is packed once.
    seen: HashMap<(u64, u64), PathBuf>,
}

impl<'a> Writer<'a> {
    fn new(file: &'a File) -> io::Result<Self> {
        let mut encoder = zstd::Encoder::new(file, 3)?;
        encoder.include_checksum(true)?;
        let index = Index {
            format: FORMAT,
            platform: Platform::current(),
            agents: Vec::new(),
            environments: Vec::new(),
            files: BTreeMap::new(),
            links: BTreeMap::new(),
        };
        Ok(Self { archive: tar::Builder::new(encoder), index, seen: HashMap::new() })
    }

    fn agent(
        &mut self,
        data: &DataDirectory,
        mut record: InstallRecord,
        parts: BundleParts,
    ) -> io::Result<()> {
        let root = data.root();
        for runtime in &parts.runtimes {
            self.directory(root, &root.join(runtime), runtime, &[])?;
        }
        for (from, to) in &parts.directories {
            self.directory(root, from, to, &LEFT_OUT)?;
        }
        for (from, to) in &parts.files {
            self.file(from, to)?;
        }
        for (directory, runtime) in &parts.records {
            self.bytes(&directory.join(RECORD_FILE), &serde_json::to_vec_pretty(runtime)?)?;
        }
        for (path, target) in &parts.links {
            self.link(path, target)?;
        }
        if let Some(launch) = parts.launch {
            record.launch = launch;
        }
        let place = Path::new("agents").join(record.agent.as_str()).join(&record.directory);
        self.bytes(&place.join(RECORD_FILE), &serde_json::to_vec_pretty(&record)?)?;
        self.directory(root, &root.join(&place), &place, &[])?;
        self.index.environments.extend(parts.environments);
        self.index.agents.push(IndexedAgent {
            id: record.agent,
            directory: record.directory,
            version: record.version,
        });
        Ok(())
    }

    /// Packs a directory. Paths that were packed before are skipped.
    fn directory(&mut self, root: &Path, from: &Path, to: &Path, left_out: &[&str]) -> io::Result<()> {
        for (relative, node) in walk(from)? {
            let first = relative.components().next().and_then(|part| part.as_os_str().to_str());
            if first.is_some_and(|name| left_out.contains(&name)) {
                continue;
            }
            let (source, place) = (from.join(&relative), to.join(&relative));
            match node {
                Node::File { .. } => self.file(&source, &place)?,
                Node::Link { target } if target.is_relative() => self.link(&place, &target)?,
                Node::Link { target } => self.absolute_link(root, &source, &place, &target)?,
            }
        }
        Ok(())
    }

    /// Makes an absolute link relative if it points into the data directory. Replaces a link to a file
    /// outside by that file.
    fn absolute_link(&mut self, root: &Path, source: &Path, place: &Path, target: &Path) -> io::Result<()> {
        if let Ok(inside) = target.strip_prefix(root) {
            let up: PathBuf = place.components().skip(1).map(|_| "..").collect();
            return self.link(place, &up.join(inside));
        }
        if source.is_file() {
            return self.file(source, place);
        }
        if self.is_new(place) {
            tracing::warn!(link = %source.display(), "skipping a link to outside the data directory");
        }
        Ok(())
    }

    fn is_new(&self, place: &Path) -> bool {
        !self.index.files.contains_key(place) && !self.index.links.contains_key(place)
    }

    fn file(&mut self, source: &Path, place: &Path) -> io::Result<()> {
        if !self.is_new(place) {
            return Ok(());
        }
        let mut file = File::open(source)?;
        let metadata = file.metadata()?;
        let mode = if metadata.mode() & 0o111 == 0 { 0o644 } else { 0o755 };
        let identity = (metadata.dev(), metadata.ino());
        if metadata.nlink() > 1
            && let Some(first) = self.seen.get(&identity)
        {
            let mut header = header(tar::EntryType::Link, mode, 0);
            self.archive.append_link(&mut header, place, first)?;
            let digest = self.index.files[first].clone();
            self.index.files.insert(place.to_owned(), digest);
            return Ok(());
        }
        self.seen.insert(identity, place.to_owned());
        self.content(place, mode, metadata.len(), &mut file)
    }

    fn bytes(&mut self, place: &Path, bytes: &[u8]) -> io::Result<()> {
        if !self.is_new(place) {
            return Ok(());
        }
        self.content(place, 0o644, bytes.len() as u64, &mut { bytes })
    }

    fn content(&mut self, place: &Path, mode: u32, size: u64, content: &mut impl Read) -> io::Result<()> {
        let mut reader = HashingReader::new(content);
        let mut header = header(tar::EntryType::Regular, mode, size);
        // Fails if the file's size changes in the meantime, so that the archive stays well-formed.
        self.archive.append_data(&mut header, place, &mut reader)?;
        self.index.files.insert(place.to_owned(), reader.finish());
        Ok(())
    }

    fn link(&mut self, place: &Path, target: &Path) -> io::Result<()> {
        if !self.is_new(place) {
            return Ok(());
        }
        let mut header = header(tar::EntryType::Symlink, 0o777, 0);
        self.archive.append_link(&mut header, place, target)?;
        self.index.links.insert(place.to_owned(), target.to_owned());
        Ok(())
    }

    fn finish(mut self) -> io::Result<usize> {
        let files = self.index.files.len();
        let index = serde_json::to_vec(&self.index)?;
        let mut header = header(tar::EntryType::Regular, 0o644, index.len() as u64);
        self.archive.append_data(&mut header, INDEX_FILE, index.as_slice())?;
        self.archive.into_inner()?.finish()?.flush()?;
        Ok(files)
    }
}

fn header(kind: tar::EntryType, mode: u32, size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header
}
