//! Unpacks an uploaded archive in three steps: stage it, check it completely, merge it.
//!
//! As with `tar x` for users other than root, owners are not restored, set-id bits are dropped, and modes obey the
//! umask. Files are not synced one by one, as `tar` does not sync them either.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::input::Input;
use super::links::stays_inside;
use super::merge;
use super::names::{EntryName, printable};
use super::staging::{Staging, open_below};
use super::tar_reader::{Kind, TarEntry, TarReader};
use super::{ArchiveFormat, ArchiveLimits, Extracted, LISTED_PATHS, RejectReason};
use crate::attributes;
use crate::error::{At, Error, Result};
use crate::metadata::EntryType;
use crate::path::{UserPath, split};
use crate::service::FileService;
use crate::sys;
use crate::timestamp::Timestamp;
use crate::walk::{Visit, Visited, Visitor, walk};

const COPY_BYTES: usize = 256 * 1024;

/// Attributes to set on a directory once its contents are in place, since writing into it would change them.
#[derive(Debug, Clone, Copy)]
pub(super) struct DirectoryAttributes {
    mode: u32,
    modified: Timestamp,
}

impl FileService {
    /// Unpacks an archive into a directory, which is created if it does not exist.
    ///
    /// # Errors
    /// [`Error::ArchiveRejected`], [`Error::TooLarge`], [`Error::TooManyEntries`], [`Error::NoSpace`] and
    /// [`Error::InputFailed`] leave everything unchanged. A system error while the checked entries are moved into
    /// place (a directory without write permission, a disk failure) can leave some of them there.
    pub fn extract_archive(
        &self,
        path: &UserPath,
        format: ArchiveFormat,
        limits: ArchiveLimits,
        source: impl Read,
    ) -> Result<Extracted> {
        let located = self.tree().locate(path)?;
        let (target, created) = self.tree().make_directories(&located.inner, &located.shown)?;
        // Declared after `created`: the staging folder must be removed before the directories that were created
        // for it.
        let staging = Staging::create(target, &located.shown, limits.max_entries)?;
        let mut extraction = Extraction {
            staging,
            shown: located.shown.clone(),
            directories: BTreeMap::new(),
            has_links: false,
            paths: Vec::new(),
            count: 0,
            buffer: vec![0; COPY_BYTES],
        };
        let mut reader = TarReader::new(Input::open(source, format)?, limits);
        while let Some(entry) = reader.next_entry()? {
            extraction.unpack(&entry, &mut reader)?;
        }
        if extraction.has_links {
            extraction.check_links()?;
        }
        let Extraction { staging, directories, paths, count, .. } = extraction;
        merge::check(&staging, &directories, &located.shown)?;
        merge::merge(&staging, &directories, &located.shown)?;
        for (name, attributes) in directories.iter().rev() {
            // An existing target keeps its mode; only one that was created for this archive gets the archive's.
            if !name.is_target_itself() || !created.is_empty() {
                finish_directory(&staging, name, *attributes);
            }
        }
        created.keep();
        Ok(Extracted { target: located.shown, truncated: count > LISTED_PATHS as u64, paths, count })
    }
}

struct Extraction {
    staging: Staging,
    shown: PathBuf,
    directories: BTreeMap<EntryName, DirectoryAttributes>,
    has_links: bool,
    paths: Vec<PathBuf>,
    count: u64,
    buffer: Vec<u8>,
}

impl Extraction {
    fn unpack(&mut self, entry: &TarEntry, reader: &mut TarReader<'_>) -> Result<()> {
        self.staging.count_entry()?;
        let reject = |reason| Error::rejected(&printable(&entry.name), reason);
        let name = EntryName::parse(&entry.name).map_err(reject)?;
        if name.is_target_itself() && entry.kind != Kind::Directory {
            return Err(reject(RejectReason::BadName));
        }
        match &entry.kind {
            Kind::Directory => {
                if !name.is_target_itself() {
                    self.staging.make_directory(&name)?;
                }
                let attributes = DirectoryAttributes { mode: entry.mode, modified: entry.modified };
                self.directories.insert(name.clone(), attributes);
            }
            Kind::File { size } => {
                let file = self.staging.create_file(&name, entry.mode)?;
                self.write(file, *size, &name, reader)
                    .and_then(|file| {
                        let times = attributes::modified_at(entry.modified);
                        rustix::fs::futimens(file, &times).at(&self.shown)
                    })
                    .map_err(|error| named(error, &name))?;
            }
            Kind::SymbolicLink { target } => {
                if target.is_empty() || target.contains(&0) {
                    return Err(reject(RejectReason::BadName));
                }
                self.staging.make_link(&name, OsStr::from_bytes(target), entry.modified)?;
                self.has_links = true;
            }
            Kind::HardLink { target } => {
                let outside = || RejectReason::HardLinkOutside { target: printable(target) };
                let original = EntryName::parse(target).map_err(|_| reject(outside()))?;
                self.staging.make_hard_link(&name, &original)?;
            }
        }
        // An entry of another kind has replaced the directory.
        if entry.kind != Kind::Directory {
            self.directories.remove(&name);
        }
        self.count += 1;
        if self.paths.len() < LISTED_PATHS {
            self.paths.push(self.shown.join(name.as_path()).components().collect());
        }
        Ok(())
    }

    fn write(
        &mut self,
        mut file: File,
        size: u64,
        name: &EntryName,
        reader: &mut TarReader<'_>,
    ) -> Result<File> {
        let mut left = size;
        while left > 0 {
            let count = reader.read_data(&mut self.buffer)?;
            file.write_all(&self.buffer[..count]).at(&self.shown.join(name.as_path()))?;
            left -= count as u64;
        }
        Ok(file)
    }

    /// Checks every symbolic link at its final location.
    fn check_links(&self) -> Result<()> {
        let mut collector = LinkCollector { shown: &self.shown, links: HashMap::new() };
        let top = rustix::io::fcntl_dupfd_cloexec(self.staging.top(), 0).at(&self.shown)?;
        walk(top, &self.shown, &mut collector)?;
        let links = collector.links;
        for (link, target) in &links {
            if !stays_inside(link, target, &links, |path| self.was_link_before(path)) {
                let reason = RejectReason::LinkOutside { target: target.clone() };
                return Err(Error::rejected(link, reason));
            }
        }
        Ok(())
    }

    fn was_link_before(&self, path: &Path) -> bool {
        let Some((parent, name)) = split(path) else { return false };
        match open_below(self.staging.target(), parent) {
            Ok(directory) => sys::find_name(directory, name)
                .is_ok_and(|found| found.is_some_and(|stat| stat.entry_type() == EntryType::Symlink)),
            // The name is missing, or only reachable through a link: then that link itself was checked.
            Err(_) => false,
        }
    }
}

struct LinkCollector<'a> {
    shown: &'a Path,
    links: HashMap<PathBuf, PathBuf>,
}

impl Visitor for LinkCollector<'_> {
    fn entry(&mut self, entry: Visited<'_>) -> Result<Visit> {
        let stat = sys::stat_name(entry.directory, entry.name).at(self.shown)?;
        match stat.entry_type() {
            EntryType::Directory => return Ok(Visit::Enter),
            EntryType::Symlink => {
                let target = sys::read_link(entry.directory, entry.name).at(self.shown)?;
                self.links.insert(entry.path.to_path_buf(), target.into());
            }
            EntryType::File | EntryType::Other => {}
        }
        Ok(Visit::Next)
    }

    fn leave(&mut self, _: Visited<'_>) -> Result<()> {
        Ok(())
    }
}

/// Adds the entry's name to the error of an archive that ends early.
fn named(error: Error, name: &EntryName) -> Error {
    match error {
        Error::ArchiveRejected { entry: None, reason } => Error::rejected(name.as_path(), reason),
        other => other,
    }
}

/// Best effort, since the contents are in place: a directory that belongs to another user keeps its mode and time.
fn finish_directory(staging: &Staging, name: &EntryName, attributes: DirectoryAttributes) {
    let finish = || -> rustix::io::Result<()> {
        let directory = readable_below(staging.target(), name.as_path())?;
        // Keep the set-group-id bit that is inherited from the parent.
        let inherited = sys::stat_handle(&directory)?.permissions() & 0o2000;
        let mode = attributes.mode & staging.allowed_mode() | inherited;
        rustix::fs::fchmod(&directory, sys::mode_bits(mode))?;
        rustix::fs::futimens(&directory, &attributes::modified_at(attributes.modified))
    };
    let _ = finish();
}

fn readable_below(top: &OwnedFd, path: &Path) -> rustix::io::Result<OwnedFd> {
    match split(path) {
        Some((parent, name)) => sys::open_for_reading(open_below(top, parent)?, name),
        None => sys::open_for_reading(top, OsStr::new(".")),
    }
}
