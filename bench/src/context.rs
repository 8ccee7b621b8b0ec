//! The context of every measurement: the measured programs, a folder for files, and the number of rounds.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Result;

/// One of the measured programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The upper bound of what is possible.
    Limit,
    /// The published product that serves the same purpose.
    Peer,
    /// The shipped binary: static, with musl.
    Ours,
    /// The same source, linked with glibc.
    Glibc,
}

impl Side {
    pub(crate) const ALL: [Self; 4] = [Self::Limit, Self::Peer, Self::Ours, Self::Glibc];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Peer => "peer",
            Self::Ours => "ours",
            Self::Glibc => "ours (glibc)",
        }
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// The programs under measurement.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) ours: PathBuf,
    pub(crate) glibc: PathBuf,
    /// The peer's program; `None` if it is not installed on this machine.
    pub(crate) peer: Option<PathBuf>,
    /// nginx; `None` if it is not installed on this machine.
    pub(crate) nginx: Option<PathBuf>,
}

/// One run of the benchmark.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) programs: Programs,
    /// A folder for temporary files, on the disk of the build; removed at the end.
    pub(crate) scratch: PathBuf,
    /// The number of rounds.
    pub(crate) rounds: usize,
    /// The duration of one throughput round.
    pub(crate) stretch: Duration,
}

impl Context {
    pub(crate) fn new(programs: Programs, target: &Path, rounds: usize) -> Result<Self> {
        let scratch = target.join(format!("bench-scratch-{}", std::process::id()));
        std::fs::create_dir_all(&scratch)?;
        let scratch = scratch.canonicalize()?;
        Ok(Self { programs, scratch, rounds, stretch: Duration::from_secs(2) })
    }

    /// The sides that can be measured here: all except a peer that is not installed.
    pub(crate) fn sides(&self) -> impl Iterator<Item = Side> {
        let has_peer = self.programs.peer.is_some();
        Side::ALL.into_iter().filter(move |side| has_peer || *side != Side::Peer)
    }

    /// The sides of [`Context::sides`] that are servers with agents.
    pub(crate) fn servers(&self) -> impl Iterator<Item = Side> {
        self.sides().filter(|side| *side != Side::Limit)
    }

    /// An empty folder in the scratch folder.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.scratch.join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}
