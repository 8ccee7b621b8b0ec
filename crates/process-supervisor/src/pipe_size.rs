//! The capacity of a pipe.

use std::os::fd::AsFd;

/// The default capacity of a pipe.
const USUAL: usize = 64 << 10;
/// The largest capacity that an unprivileged process may request.
const LARGE: usize = 1 << 20;

/// Enlarges a pipe when a message does not fit into it, so that a message of a megabyte needs a few system calls
/// instead of many. It is not enlarged earlier: the kernel limits the pipe pages per user, and small messages are
/// faster when one read fits into the processor's caches.
#[derive(Debug, Default)]
pub struct PipeSize {
    is_decided: bool,
}

impl PipeSize {
    /// Enlarges the pipe if a message of this length does not fit. If the system refuses, the pipe keeps its capacity
    /// and still works.
    pub fn fit(&mut self, pipe: &impl AsFd, length: usize) {
        if self.is_decided || length < USUAL {
            return;
        }
        self.is_decided = true;
        #[cfg(target_os = "linux")]
        let _ = rustix::pipe::fcntl_setpipe_size(pipe, LARGE);
        #[cfg(not(target_os = "linux"))]
        let _ = (pipe, LARGE);
    }
}
