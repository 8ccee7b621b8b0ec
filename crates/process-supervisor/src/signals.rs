//! Signals that a process waits for instead of being interrupted by them.
//!
//! The few calls for which `rustix` has no safe function are in this file.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::process::Signal;

/// A set of signals.
#[derive(Clone, Copy)]
pub(crate) struct SignalSet(libc::sigset_t);

impl SignalSet {
    pub(crate) fn of(signals: &[Signal]) -> Self {
        let mut set = MaybeUninit::uninit();
        // SAFETY: `sigemptyset` initializes the set, and `sigaddset` changes an initialized one.
        #[allow(unsafe_code)]
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in signals {
                libc::sigaddset(set.as_mut_ptr(), signal.as_raw());
            }
            Self(set.assume_init())
        }
    }

    /// Keeps these signals from interrupting this thread and those it starts.
    pub(crate) fn block(&self) -> io::Result<()> {
        self.change_mask(libc::SIG_BLOCK)
    }

    /// Lets every signal interrupt this thread. Makes one system call, so it is safe between fork and exec.
    pub(crate) fn unblock_all() -> io::Result<()> {
        Self::of(&[]).change_mask(libc::SIG_SETMASK)
    }

    fn change_mask(&self, how: libc::c_int) -> io::Result<()> {
        // SAFETY: the set is initialized, and the kernel only reads it.
        #[allow(unsafe_code)]
        let changed = unsafe { libc::sigprocmask(how, &raw const self.0, std::ptr::null_mut()) };
        check(changed).map(drop)
    }

    /// Waits for one of these signals, which must be blocked.
    pub(crate) fn wait(&self) -> Option<Signal> {
        let mut number = 0;
        // SAFETY: both pointers are valid for the call.
        #[allow(unsafe_code)]
        let error = unsafe { libc::sigwait(&raw const self.0, &raw mut number) };
        if error == 0 { Signal::from_named_raw(number) } else { None }
    }
}

/// A descriptor that is readable while one of some blocked signals is pending.
#[derive(Debug)]
pub(crate) struct SignalReader(OwnedFd);

impl SignalReader {
    pub(crate) fn new(signals: &SignalSet) -> io::Result<Self> {
        let flags = libc::SFD_NONBLOCK | libc::SFD_CLOEXEC;
        // SAFETY: the set is initialized; -1 asks for a new descriptor, which then belongs to this value alone.
        #[allow(unsafe_code)]
        unsafe {
            let descriptor = check(libc::signalfd(-1, &raw const signals.0, flags))?;
            Ok(Self(OwnedFd::from_raw_fd(descriptor)))
        }
    }

    /// The number of the next pending signal.
    pub(crate) fn next(&self) -> Option<i32> {
        let mut record = [0; size_of::<libc::signalfd_siginfo>()];
        let length = rustix::io::read(&self.0, &mut record).ok()?;
        // The record begins with the signal's number.
        let (number, _) = record[..length].split_first_chunk::<4>()?;
        Some(i32::from_ne_bytes(*number))
    }
}

impl AsFd for SignalReader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Starts a copy of this process that ends at once, and returns its process id.
pub(crate) fn fork_and_exit() -> io::Result<i32> {
    // SAFETY: the child only makes the system call that ends it, which is safe there.
    #[allow(unsafe_code)]
    unsafe {
        match check(libc::fork())? {
            0 => libc::_exit(0),
            child => Ok(child),
        }
    }
}

/// The id of this process's group; 0 if the group is outside of this process's PID namespace, which `rustix` cannot
/// represent.
pub(crate) fn own_group() -> i32 {
    // SAFETY: the call takes nothing and cannot fail.
    #[allow(unsafe_code)]
    unsafe {
        libc::getpgrp()
    }
}

/// Closes every descriptor from `first` on, in one system call. Old kernels and some sandboxes refuse it.
///
/// # Safety
/// Nothing in this process may use such a descriptor afterwards.
#[allow(unsafe_code)]
pub(crate) unsafe fn close_from(first: u32) -> io::Result<()> {
    let (last, flags) = (u32::MAX, 0_u32);
    // SAFETY: the call takes numbers only. The caller promises that no descriptor among them is in use.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) };
    if closed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]
mod tests {
    use super::*;

    #[test]
    fn a_blocked_signal_is_read_by_its_number() {
        // Use a new thread: the mask is per thread, and the signal is sent to this thread alone.
        std::thread::spawn(|| {
            let signals = SignalSet::of(&[Signal::USR2]);
            signals.block().unwrap();
            let reader = SignalReader::new(&signals).unwrap();
            assert_eq!(reader.next(), None);
            // SAFETY: the signal is blocked in this thread.
            #[allow(unsafe_code)]
            unsafe {
                libc::pthread_kill(libc::pthread_self(), libc::SIGUSR2);
            }
            assert_eq!(reader.next(), Some(libc::SIGUSR2));
            assert_eq!(reader.next(), None);
        })
        .join()
        .unwrap();
    }
}
