//! A file's metadata besides its bytes: owner, mode, times, extended attributes. Copied from handle to handle.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{Gid, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::{Errno, Result};

use crate::sys::{self, Stat};
use crate::timestamp::Timestamp;

/// The extended attributes that a replaced file loses. File capabilities were granted to the old content: the
/// kernel removes them on a write, so a replacement removes them too.
const DROPPED: &[&CStr] = &[c"security.capability"];

/// Gives `to` the owner, mode and extended attributes of `from`.
///
/// After an error, some attributes could not be preserved, and `to` must not replace `from`.
pub(crate) fn preserve(from: BorrowedFd<'_>, stat: &Stat, to: BorrowedFd<'_>) -> Result<()> {
    let (user, group) = stat.owner();
    let present = sys::stat_handle(to)?;
    if present.owner() != (user, group) {
        rustix::fs::fchown(to, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)))?;
    }
    copy_extended(from, to)?;
    // The mode is set last: changing the owner clears mode bits, and an access list among the attributes sets
    // others.
    rustix::fs::fchmod(to, sys::mode_bits(stat.permissions()))
}

/// Copies extended attributes. The system's labels (`security.*`, `trusted.*`) are copied if the system permits
/// it.
fn copy_extended(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> Result<()> {
    let names = extended_names(from)?;
    // A new file may have inherited an access list from its directory. Remove it if the old file has none.
    for inherited in extended_names(to)?.iter().filter(|name| !is_label(name) && !names.contains(name)) {
        let _ = rustix::fs::fremovexattr(to, inherited.as_c_str());
    }
    for name in names {
        if DROPPED.contains(&name.as_c_str()) {
            continue;
        }
        let copied = extended_value(from, &name)
            .and_then(|value| rustix::fs::fsetxattr(to, name.as_c_str(), &value, XattrFlags::empty()));
        match copied {
            // The attribute was removed in the meantime.
            Ok(()) | Err(Errno::NODATA) => {}
            Err(_) if is_label(&name) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_label(name: &CStr) -> bool {
    name.to_bytes().starts_with(b"security.") || name.to_bytes().starts_with(b"trusted.")
}

fn extended_names(file: BorrowedFd<'_>) -> Result<Vec<CString>> {
    let list = match grown(|buffer| rustix::fs::flistxattr(file, buffer)) {
        Ok(list) => list,
        Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    Ok(list
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .filter_map(|name| CString::new(name).ok())
        .collect())
}

fn extended_value(file: BorrowedFd<'_>, name: &CStr) -> Result<Vec<u8>> {
    grown(|buffer| rustix::fs::fgetxattr(file, name, buffer))
}

/// Repeats a call with a growing buffer until the result fits; the system's limit is 64 KiB.
fn grown(mut call: impl FnMut(&mut [u8]) -> Result<usize>) -> Result<Vec<u8>> {
    let mut buffer = vec![0; 1024];
    loop {
        match call(&mut buffer) {
            Ok(length) => {
                buffer.truncate(length);
                return Ok(buffer);
            }
            Err(Errno::RANGE) if buffer.len() < 1 << 20 => buffer.resize(buffer.len() * 4, 0),
            Err(error) => return Err(error),
        }
    }
}

/// An entry's access and modification times, to be set on another entry.
pub(crate) fn times_of(stat: &Stat) -> Timestamps {
    Timestamps { last_access: timespec(stat.accessed()), last_modification: timespec(stat.modified()) }
}

/// Sets only the modification time and leaves the access time unchanged.
pub(crate) fn modified_at(modified: Timestamp) -> Timestamps {
    let untouched = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    Timestamps { last_access: untouched, last_modification: timespec(modified) }
}

fn timespec(time: Timestamp) -> Timespec {
    Timespec { tv_sec: time.seconds, tv_nsec: time.nanoseconds.into() }
}

/// Copies owner (if permitted), extended attributes (if the target supports them), mode and times.
pub(crate) fn copy_all(from: BorrowedFd<'_>, stat: &Stat, to: impl AsFd) -> Result<()> {
    let to = to.as_fd();
    let (user, group) = stat.owner();
    let mode = match rustix::fs::fchown(to, Some(Uid::from_raw(user)), Some(Gid::from_raw(group))) {
        Ok(()) => stat.permissions(),
        // Set-id bits grant the owner's rights, so they must not be set for a different owner.
        Err(Errno::PERM) => stat.permissions() & 0o777,
        Err(error) => return Err(error),
    };
    match copy_extended(from, to) {
        Ok(()) | Err(Errno::NOTSUP | Errno::PERM) => {}
        Err(error) => return Err(error),
    }
    rustix::fs::fchmod(to, sys::mode_bits(mode))?;
    rustix::fs::futimens(to, &times_of(stat))
}
