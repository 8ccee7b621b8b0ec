//! What belongs to a file besides its bytes: owner, mode, times, extended attributes. Copied from handle to handle.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{Gid, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::{Errno, Result};

use crate::sys::{self, Stat};
use crate::timestamp::Timestamp;

/// A file capability is a grant to the old bytes; the kernel drops it on a write, and so does a replacement.
const DROPPED: &[&CStr] = &[c"security.capability"];

/// Gives `to` the owner, mode and extended attributes of `from`.
///
/// An error means that something could not be kept, and `to` must not take the place of `from`.
pub(crate) fn keep(from: BorrowedFd<'_>, stat: &Stat, to: BorrowedFd<'_>) -> Result<()> {
    let (user, group) = stat.owner();
    let present = sys::stat_handle(to)?;
    if present.owner() != (user, group) {
        rustix::fs::fchown(to, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)))?;
    }
    copy_extended(from, to)?;
    // Last: a change of owner clears bits of the mode, and an access list among the attributes sets others.
    rustix::fs::fchmod(to, sys::mode_bits(stat.permissions()))
}

/// Copies extended attributes. The system's own labels (`security.*`, `trusted.*`) are copied where it allows that.
fn copy_extended(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> Result<()> {
    let names = extended_names(from)?;
    // A new file may have inherited an access list from its directory that the old one does not have.
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
            // Removed meanwhile, so there is nothing to keep.
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

/// Calls with a buffer that grows until the answer fits; the system's limit is 64 KiB.
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

/// The times of an entry, for setting them on another.
pub(crate) fn times_of(stat: &Stat) -> Timestamps {
    Timestamps { last_access: timespec(stat.accessed()), last_modification: timespec(stat.modified()) }
}

/// A modification time alone, the time of access left as it is.
pub(crate) fn modified_at(modified: Timestamp) -> Timestamps {
    let untouched = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    Timestamps { last_access: untouched, last_modification: timespec(modified) }
}

fn timespec(time: Timestamp) -> Timespec {
    Timespec { tv_sec: time.seconds, tv_nsec: time.nanoseconds.into() }
}

/// Copies owner (where allowed), extended attributes (where the other side has them), mode and times to a copy.
pub(crate) fn copy_all(from: BorrowedFd<'_>, stat: &Stat, to: impl AsFd) -> Result<()> {
    let to = to.as_fd();
    let (user, group) = stat.owner();
    let mode = match rustix::fs::fchown(to, Some(Uid::from_raw(user)), Some(Gid::from_raw(group))) {
        Ok(()) => stat.permissions(),
        // Bits that lend the owner's rights must not lend those of another owner.
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
