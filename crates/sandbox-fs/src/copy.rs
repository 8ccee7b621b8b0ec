//! Copies an entry with all its metadata, for moves between devices. The source is only read.
//!
//! Holes and hard links inside the tree are preserved, and symbolic links are copied, never followed.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Gid, Uid};
use rustix::io::Errno;

use crate::attributes;
use crate::error::{At, Error, Result};
use crate::sys::{self, Identity, Name, Stat};
use crate::walk::{Descent, Visit, Visited, Visitor, walk};

/// Copies `from` to `to`, which must not exist. After a failure, the caller removes what was copied.
pub(crate) fn copy_entry(from: Name<'_>, to: Name<'_>, shown: &Path) -> Result<()> {
    let stat = sys::stat_name(from.directory, from.name).at(shown)?;
    if !stat.is_directory() {
        return copy_single(from, &stat, to).at(shown);
    }
    sys::make_directory(to.directory, to.name).at(shown)?;
    let target = sys::open_directory(to.directory, to.name).at(shown)?;
    let source = sys::open_directory(from.directory, from.name).at(shown)?;
    let mut copier = Copier {
        shown,
        top: rustix::io::fcntl_dupfd_cloexec(&target, 0).at(shown)?,
        target: Descent::new(target),
        linked: HashMap::new(),
    };
    walk(source, shown, &mut copier)?;
    finish_directory(from, to).at(shown)
}

struct Copier<'a> {
    shown: &'a Path,
    /// The top of the copy, from which the first of several hard links is opened again.
    top: std::os::fd::OwnedFd,
    /// The directory of the copy that corresponds to the current position of the walk.
    target: Descent,
    /// Files with several hard links, and the path of the first one in the copy.
    linked: HashMap<Identity, PathBuf>,
}

impl Visitor for Copier<'_> {
    fn entry(&mut self, entry: Visited<'_>) -> Result<Visit> {
        let shown = self.shown.join(entry.path);
        let stat = sys::stat_name(entry.directory, entry.name).at(&shown)?;
        let from = Name { directory: entry.directory, name: entry.name };
        let to = Name { directory: self.target.current(), name: entry.name };
        if stat.is_directory() {
            sys::make_directory(to.directory, to.name).at(&shown)?;
            self.target.enter(entry.name).at(&shown)?;
            return Ok(Visit::Enter);
        }
        if stat.links() > 1 {
            if let Some(first) = self.linked.get(&stat.identity()) {
                link_again(&self.top, first, to).at(&shown)?;
                return Ok(Visit::Next);
            }
            self.linked.insert(stat.identity(), entry.path.to_path_buf());
        }
        copy_single(from, &stat, to).at(&shown)?;
        Ok(Visit::Next)
    }

    fn leave(&mut self, directory: Visited<'_>) -> Result<()> {
        let shown = self.shown.join(directory.path);
        self.target.leave().at(&shown)?;
        let from = Name { directory: directory.directory, name: directory.name };
        let to = Name { directory: self.target.current(), name: directory.name };
        finish_directory(from, to).at(&shown)
    }
}

/// Sets a directory's own attributes after its contents are copied: writing into it changes its times, and its
/// mode may forbid writing.
fn finish_directory(from: Name<'_>, to: Name<'_>) -> rustix::io::Result<()> {
    let source = sys::open_for_reading(from.directory, from.name)?;
    let target = sys::open_for_reading(to.directory, to.name)?;
    attributes::copy_all(source.as_fd(), &sys::stat_handle(&source)?, target)
}

fn link_again(top: impl AsFd, first: &Path, to: Name<'_>) -> rustix::io::Result<()> {
    let mut directory = rustix::io::fcntl_dupfd_cloexec(top, 0)?;
    let mut names: Vec<OsString> = first.iter().map(OsStr::to_os_string).collect();
    let Some(last) = names.pop() else { return Err(Errno::NOENT) };
    for name in names {
        directory = sys::open_directory(&directory, &name)?;
    }
    rustix::fs::linkat(&directory, &last, to.directory, to.name, AtFlags::empty())
}

/// Copies an entry that is not a directory.
fn copy_single(from: Name<'_>, stat: &Stat, to: Name<'_>) -> io::Result<()> {
    match stat.file_type() {
        FileType::RegularFile => {
            let source = File::from(sys::open_for_reading(from.directory, from.name)?);
            let stat = sys::stat_handle(&source)?;
            if stat.file_type() != FileType::RegularFile {
                return Err(Errno::STALE.into());
            }
            let target = File::from(sys::create_file(to.directory, to.name, 0o600)?);
            copy_bytes(&source, &target, stat.size())?;
            attributes::copy_all(source.as_fd(), &stat, &target)?;
            Ok(())
        }
        FileType::Symlink => {
            let target = sys::read_link(from.directory, from.name)?;
            rustix::fs::symlinkat(&target, to.directory, to.name)?;
            finish_name(stat, to)
        }
        kind => {
            let mode = sys::mode_bits(stat.permissions());
            #[cfg(target_os = "linux")]
            rustix::fs::mknodat(to.directory, to.name, kind, mode, stat.device_number())?;
            #[cfg(not(target_os = "linux"))]
            let _ = (kind, mode, stat.device_number());
            #[cfg(not(target_os = "linux"))]
            return Err(Errno::NOTSUP.into());
            #[cfg(target_os = "linux")]
            finish_name(stat, to)
        }
    }
}

/// Sets owner (if permitted) and times of an entry that cannot be opened.
fn finish_name(stat: &Stat, to: Name<'_>) -> io::Result<()> {
    let (user, group) = stat.owner();
    let (user, group) = (Some(Uid::from_raw(user)), Some(Gid::from_raw(group)));
    match rustix::fs::chownat(to.directory, to.name, user, group, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(()) | Err(Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    let times = attributes::times_of(stat);
    Ok(rustix::fs::utimensat(to.directory, to.name, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Copies the data extents of a file and keeps its holes.
fn copy_bytes(mut source: &File, mut target: &File, size: u64) -> io::Result<()> {
    let mut position = 0;
    while position < size {
        let (start, end) = data_extent(source, position, size)?;
        source.seek(SeekFrom::Start(start))?;
        target.seek(SeekFrom::Start(start))?;
        let copied = io::copy(&mut source.take(end - start), &mut target)?;
        if copied < end - start {
            // The file was truncated in the meantime; the check before its removal detects that.
            break;
        }
        position = end;
    }
    target.set_len(size)
}

/// The next data extent at or after `position`; the whole rest if the file system does not report holes.
fn data_extent(file: &File, position: u64, size: u64) -> io::Result<(u64, u64)> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::SeekFrom as Whence;
        let start = match rustix::fs::seek(file, Whence::Data(position)) {
            Ok(start) => start.min(size),
            // There is no data until the end of the file.
            Err(Errno::NXIO) => return Ok((size, size)),
            Err(Errno::INVAL | Errno::NOTSUP) => return Ok((position, size)),
            Err(error) => return Err(error.into()),
        };
        let end = rustix::fs::seek(file, Whence::Hole(start)).unwrap_or(size).min(size);
        Ok((start, end.max(start)))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        Ok((position, size))
    }
}

/// Whether a source entry is unchanged since it was copied; only then may it be removed.
pub(crate) fn is_unchanged(source: &Stat, copy: &Stat) -> bool {
    if source.file_type() != copy.file_type() {
        return false;
    }
    let (original, copied) = (source.modified(), copy.modified());
    // File systems differ in time resolution; a coarser copy has the same time, truncated.
    let same_time =
        original == copied || (copied.nanoseconds == 0 && original.seconds.abs_diff(copied.seconds) <= 2);
    source.size() == copy.size() && same_time
}

/// Translates the error of a copy whose source was replaced in the meantime; the source is untouched then.
pub(crate) fn changed(error: Error, shown: &Path) -> Error {
    match error {
        Error::Io { source, .. } if Errno::from_io_error(&source) == Some(Errno::STALE) => {
            Error::Changed { path: shown.to_path_buf() }
        }
        other => other,
    }
}
