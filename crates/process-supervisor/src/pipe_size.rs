//! How much a pipe holds.

use std::os::fd::AsFd;

/// What a pipe holds by default.
const USUAL: usize = 64 << 10;
/// What an unprivileged process may ask for.
const LARGE: usize = 1 << 20;

/// Makes a pipe larger once a message does not fit into it, so that a message of a megabyte takes a few system calls
/// instead of many. Only then: a user has a limited number of such pages, and small messages go through faster when one
/// read fits the processor's caches.
#[derive(Debug, Default)]
pub struct PipeSize {
    is_decided: bool,
}

impl PipeSize {
    /// Makes the pipe larger if a message of this length does not fit. Where the system refuses, the pipe stays as it
    /// is and works as before.
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
