//! System calls on single names in an open directory, and the differences between systems.
//!
//! Nothing here resolves a path: a name has no slash, and no call follows a symbolic link. The primary target is
//! Linux; other systems use portable Unix calls instead of the Linux-specific ones.

use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags};
use rustix::io::{Errno, Result};

use crate::metadata::EntryType;
use crate::timestamp::Timestamp;

#[cfg(target_os = "linux")]
const HANDLE: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const HANDLE: OFlags = OFlags::RDONLY;

/// Flags that open a directory as a handle for other calls, without requiring permission to list it.
pub(crate) fn directory_handle() -> OFlags {
    HANDLE | OFlags::DIRECTORY | OFlags::CLOEXEC
}

/// Identifies an entry independently of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Identity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

/// The result of `stat`, with field widths that are the same on all systems.
#[derive(Debug, Clone)]
pub(crate) struct Stat(rustix::fs::Stat);

// The widths and signs of these fields differ between systems, so a cast may be a no-op on one and needed on
// another.
#[allow(clippy::unnecessary_cast)]
impl Stat {
    pub(crate) fn identity(&self) -> Identity {
        Identity { device: self.0.st_dev as u64, inode: self.inode() }
    }

    pub(crate) fn inode(&self) -> u64 {
        self.0.st_ino as u64
    }

    pub(crate) fn size(&self) -> u64 {
        u64::try_from(self.0.st_size).unwrap_or(0)
    }

    pub(crate) fn links(&self) -> u64 {
        self.0.st_nlink as u64
    }

    pub(crate) fn owner(&self) -> (u32, u32) {
        (self.0.st_uid, self.0.st_gid)
    }

    pub(crate) fn device_number(&self) -> u64 {
        self.0.st_rdev as u64
    }

    pub(crate) fn permissions(&self) -> u32 {
        self.0.st_mode as u32 & 0o7777
    }

    pub(crate) fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.0.st_mode)
    }

    pub(crate) fn modified(&self) -> Timestamp {
        Timestamp { seconds: self.0.st_mtime as i64, nanoseconds: self.0.st_mtime_nsec as u32 }
    }

    pub(crate) fn accessed(&self) -> Timestamp {
        Timestamp { seconds: self.0.st_atime as i64, nanoseconds: self.0.st_atime_nsec as u32 }
    }

    pub(crate) fn changed(&self) -> Timestamp {
        Timestamp { seconds: self.0.st_ctime as i64, nanoseconds: self.0.st_ctime_nsec as u32 }
    }

    pub(crate) fn entry_type(&self) -> EntryType {
        match self.file_type() {
            FileType::RegularFile => EntryType::File,
            FileType::Directory => EntryType::Directory,
            FileType::Symlink => EntryType::Symlink,
            _ => EntryType::Other,
        }
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.entry_type() == EntryType::Directory
    }
}

/// The metadata of an open file or directory.
pub(crate) fn stat_handle(handle: impl AsFd) -> Result<Stat> {
    rustix::fs::fstat(handle).map(Stat)
}

/// The metadata of a name; a link is not followed.
pub(crate) fn stat_name(directory: impl AsFd, name: &OsStr) -> Result<Stat> {
    rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).map(Stat)
}

/// Like [`stat_name`], but returns `None` for a missing name.
pub(crate) fn find_name(directory: impl AsFd, name: &OsStr) -> Result<Option<Stat>> {
    match stat_name(directory, name) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens a sub-directory as a handle; a link with that name causes `NOTDIR` or `LOOP`.
pub(crate) fn open_directory(directory: impl AsFd, name: &OsStr) -> Result<OwnedFd> {
    rustix::fs::openat(directory, name, directory_handle() | OFlags::NOFOLLOW, Mode::empty())
}

/// Opens an entry as a handle for other calls. Needs no read permission and does not follow a link.
pub(crate) fn open_handle(directory: impl AsFd, name: &OsStr) -> Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    return rustix::fs::openat(directory, name, HANDLE | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
    #[cfg(not(target_os = "linux"))]
    return open_for_reading(directory, name);
}

/// Opens a directory below another, component by component, without following links.
pub(crate) fn open_below(top: impl AsFd, path: &Path) -> Result<OwnedFd> {
    let mut current = rustix::io::fcntl_dupfd_cloexec(top, 0)?;
    for name in path {
        current = open_directory(&current, name)?;
    }
    Ok(current)
}

/// Opens a directory's parent, for walking up. The caller checks the identity of the result.
pub(crate) fn open_parent(directory: impl AsFd) -> Result<OwnedFd> {
    rustix::fs::openat(directory, "..", directory_handle(), Mode::empty())
}

/// Opens a file for reading. Never blocks and never follows a link.
pub(crate) fn open_for_reading(directory: impl AsFd, name: &OsStr) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::openat(directory, name, flags, Mode::empty())
}

/// Opens an existing file for overwriting, without truncating it. Never blocks and never follows a link.
pub(crate) fn open_for_writing(directory: impl AsFd, name: &OsStr) -> Result<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::openat(directory, name, flags, Mode::empty())
}

/// Creates a file, which must not exist; the process's umask applies.
pub(crate) fn create_file(directory: impl AsFd, name: &OsStr, mode: u32) -> Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(directory, name, flags, mode_bits(mode))
}

/// Creates one directory; the process's umask applies.
pub(crate) fn make_directory(directory: impl AsFd, name: &OsStr) -> Result<()> {
    rustix::fs::mkdirat(directory, name, mode_bits(0o777))
}

/// Removes anything but a directory.
pub(crate) fn unlink(directory: impl AsFd, name: &OsStr) -> Result<()> {
    rustix::fs::unlinkat(directory, name, AtFlags::empty())
}

/// Removes an empty directory.
pub(crate) fn remove_directory(directory: impl AsFd, name: &OsStr) -> Result<()> {
    rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR)
}

/// The target of a link.
pub(crate) fn read_link(directory: impl AsFd, name: &OsStr) -> Result<OsString> {
    let target = rustix::fs::readlinkat(directory, name, Vec::new())?;
    Ok(OsString::from_vec(target.into_bytes()))
}

/// The names in a directory, unsorted, without `.` and `..`.
pub(crate) fn names(directory: impl AsFd) -> Result<impl Iterator<Item = Result<OsString>>> {
    // An `O_PATH` handle cannot be listed, so the directory is opened again.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable = rustix::fs::openat(directory, ".", flags, Mode::empty())?;
    Ok(Dir::new(readable)?.filter_map(|entry| match entry {
        Ok(entry) => {
            let name = entry.file_name().to_bytes();
            (name != b"." && name != b"..").then(|| Ok(OsStr::from_bytes(name).to_os_string()))
        }
        Err(error) => Some(Err(error)),
    }))
}

/// A name in an open directory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name<'a> {
    pub(crate) directory: rustix::fd::BorrowedFd<'a>,
    pub(crate) name: &'a OsStr,
}

/// Renames; replaces an existing target as rename(2) permits.
pub(crate) fn rename(from: Name<'_>, to: Name<'_>) -> Result<()> {
    rustix::fs::renameat(from.directory, from.name, to.directory, to.name)
}

/// Renames unless the target exists; `NOSYS` if the system or file system does not support that.
pub(crate) fn rename_exclusive(from: Name<'_>, to: Name<'_>) -> Result<()> {
    rename_flagged(from, to, RenameFlags::NOREPLACE)
}

/// Swaps two names atomically; `NOSYS` if the system or file system does not support that.
pub(crate) fn exchange(one: Name<'_>, other: Name<'_>) -> Result<()> {
    rename_flagged(one, other, RenameFlags::EXCHANGE)
}

fn rename_flagged(from: Name<'_>, to: Name<'_>, flags: RenameFlags) -> Result<()> {
    match rustix::fs::renameat_with(from.directory, from.name, to.directory, to.name, flags) {
        // A file system without support returns INVAL, which also means "into itself"; callers check for that
        // first. Some sandboxes return PERM for unknown calls; the fallback then shows whether it is a real
        // refusal.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP | Errno::PERM) => Err(Errno::NOSYS),
        other => other,
    }
}

/// Whether a name is a mount point of another file system or a bind mount.
pub(crate) fn is_mount_point(directory: impl AsFd, name: &OsStr, stat: &Stat) -> Result<bool> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{StatxAttributes, StatxFlags};
        if let Ok(extended) =
            rustix::fs::statx(directory.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS)
            && extended.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT)
        {
            return Ok(extended.stx_attributes.contains(StatxAttributes::MOUNT_ROOT));
        }
    }
    let _ = name;
    Ok(stat_handle(directory)?.identity().device != stat.identity().device)
}

/// Reserves space for a file that is about to be overwritten, so that a full disk is detected before anything is
/// lost.
pub(crate) fn reserve(file: impl AsFd, length: u64) -> Result<()> {
    #[cfg(target_os = "linux")]
    if length > 0 {
        use rustix::fs::FallocateFlags;
        return match rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, 0, length) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
            other => other,
        };
    }
    let _ = (file, length);
    Ok(())
}

/// Syncs a whole file system.
pub(crate) fn sync_file_system(directory: impl AsFd) -> Result<()> {
    // An `O_PATH` handle cannot be synced; one opened for reading can.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable = match rustix::fs::openat(directory, ".", flags, Mode::empty()) {
        Ok(readable) => readable,
        // The directory can be entered but not read: sync all file systems.
        Err(Errno::ACCESS) => {
            rustix::fs::sync();
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    #[cfg(target_os = "linux")]
    return rustix::fs::syncfs(readable);
    #[cfg(not(target_os = "linux"))]
    return rustix::fs::fsync(readable);
}

/// Converts permission bits to the system's type.
pub(crate) fn mode_bits(mode: u32) -> Mode {
    #[allow(clippy::useless_conversion, clippy::cast_possible_truncation, clippy::unnecessary_cast)]
    Mode::from_raw_mode(mode as rustix::fs::RawMode)
}

const TEMPORARY_PREFIX: &str = ".sandbox-agent-";

/// A unique hidden name that shows its purpose and is short enough for every file system.
pub(crate) fn temporary_name(purpose: &str) -> OsString {
    // Each `RandomState` is seeded from the system's randomness; creation is exclusive in any case.
    let random = RandomState::new().build_hasher().finish();
    OsString::from(format!("{TEMPORARY_PREFIX}{purpose}-{random:016x}"))
}

/// True for the temporary name of an unfinished upload or move. A directory that was renamed to be replaced does not count:
/// it may be the only copy of its contents.
pub(crate) fn is_temporary(name: &OsStr) -> bool {
    let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(TEMPORARY_PREFIX)) else { return false };
    rest.split_once('-').is_some_and(|(purpose, random)| {
        matches!(purpose, "upload" | "unpack" | "move")
            && random.len() == 16
            && random.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_names_are_recognised() {
        for purpose in ["upload", "unpack", "move"] {
            assert!(is_temporary(&temporary_name(purpose)), "{purpose}");
        }
        assert!(!is_temporary(&temporary_name("replaced")));
        for name in [".sandbox-agent", ".sandbox-agent-upload-", ".sandbox-agent-upload-0123", "notes"] {
            assert!(!is_temporary(OsStr::new(name)), "{name}");
        }
    }
}
