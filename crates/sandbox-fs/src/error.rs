//! The crate's error type. Each message tells the user how to fix the problem.
//!
//! Callers map variants to HTTP statuses and never inspect an [`std::io::Error`]. The mapping from the system's
//! error numbers is defined only here.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::archive::RejectReason;

/// The result of every operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation failed. Each variant's description has the suggested HTTP status.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The entry does not exist (404).
    #[error("{} does not exist; list the parent directory to see what is there", .path.display())]
    NotFound {
        /// The missing entry.
        path: PathBuf,
    },
    /// The entry is not of the kind that the operation needs (409).
    #[error("{} is {found}, but this operation needs {needed}; choose another entry", .path.display())]
    WrongKind {
        /// The entry.
        path: PathBuf,
        /// The kind of the entry, with its article.
        found: &'static str,
        /// The needed kind, with its article.
        needed: &'static str,
    },
    /// The target exists and must not be replaced (409).
    #[error("{} already exists; choose another name, remove it first, or request overwriting", .path.display())]
    Exists {
        /// The existing entry.
        path: PathBuf,
    },
    /// The operating system refused (403).
    #[error("permission denied for {}; check the owner and mode of the entry and its directory, and whether the disk is read-only", .path.display())]
    PermissionDenied {
        /// The entry.
        path: PathBuf,
    },
    /// The workspace or one of its parent directories cannot be removed or moved (403).
    #[error("{} contains the workspace and cannot be removed or moved; choose an entry inside the workspace", .path.display())]
    Protected {
        /// The entry.
        path: PathBuf,
    },
    /// The disk or a quota is full (507).
    #[error("no space left for {}; free some space or raise the quota, then try again", .path.display())]
    NoSpace {
        /// The entry that was being written.
        path: PathBuf,
    },
    /// The name is not valid (400).
    #[error("{name:?} is not a usable name: {reason}")]
    BadName {
        /// The name, made printable.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The continuation token was not issued by this service (400).
    #[error("the continuation token is not valid; start again without one")]
    BadToken,
    /// An `If-Match` or `If-None-Match` condition does not hold (412).
    #[error("{} does not satisfy the precondition; read it again and retry with its current ETag", .path.display())]
    PreconditionFailed {
        /// The entry.
        path: PathBuf,
    },
    /// A directory cannot be moved into itself, or replace a directory that contains it (400).
    #[error("one of {} and {} contains the other, so the move is not possible; choose another target", .from.display(), .to.display())]
    IntoItself {
        /// The source.
        from: PathBuf,
        /// The target.
        to: PathBuf,
    },
    /// A directory that is not empty can only be removed recursively (409).
    #[error("{} is not empty; remove it recursively, or empty it first", .path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// The archive was refused and nothing was unpacked (400).
    #[error("the archive was refused{}: {reason}", .entry.as_ref().map(|name| format!(" at entry {:?}", name.display().to_string())).unwrap_or_default())]
    ArchiveRejected {
        /// The offending entry, if the reason is about one entry.
        entry: Option<PathBuf>,
        /// What is wrong with it.
        reason: RejectReason,
    },
    /// The upload exceeds the byte limit (413).
    #[error("the upload exceeds the limit of {limit} bytes; send less, or raise the limit")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// The archive exceeds the entry limit (413).
    #[error("the archive exceeds the limit of {limit} entries; split it, or raise the limit")]
    TooManyEntries {
        /// The limit.
        limit: u64,
    },
    /// The path, or a symbolic link in it, leads out of the confined root (403).
    #[error("{} leads outside the served tree; use a path inside it", .path.display())]
    OutsideRoot {
        /// The path.
        path: PathBuf,
    },
    /// The entry was changed concurrently (409); nothing was lost.
    #[error("{} was changed concurrently; nothing was lost, read it again and retry", .path.display())]
    Changed {
        /// The entry.
        path: PathBuf,
    },
    /// The uploaded bytes ended early (400, or no answer at all if the client is gone).
    #[error("the upload ended early; nothing was stored, send it again")]
    InputFailed {
        /// The error of the byte source.
        #[source]
        source: io::Error,
    },
    /// The client of a download is gone, so no answer is possible.
    #[error("the client disconnected during the download; request it again")]
    OutputFailed {
        /// The error of the output.
        #[source]
        source: io::Error,
    },
    /// The system's limit on watches is reached (503).
    #[error("the system's limit on watches was reached at {}; close other watches or raise fs.inotify.max_user_watches", .path.display())]
    WatchLimit {
        /// The entry to watch.
        path: PathBuf,
    },
    /// Any other failure of the system (500; 409 when busy).
    #[error("{}: {source}; see the server's log and the state of the disk", .path.display())]
    Io {
        /// The entry.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

impl Error {
    /// Translates a system error about `path`.
    pub(crate) fn at(path: &Path, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        let path = path.to_path_buf();
        // For a path that leaves the root, cap-std makes a permission error without a system error number.
        if source.kind() == io::ErrorKind::PermissionDenied && source.raw_os_error().is_none() {
            return Self::OutsideRoot { path };
        }
        match Errno::from_io_error(&source) {
            Some(Errno::NOENT) => Self::NotFound { path },
            Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => Self::PermissionDenied { path },
            Some(Errno::NOSPC | Errno::DQUOT) => Self::NoSpace { path },
            Some(Errno::EXIST) => Self::Exists { path },
            Some(Errno::NOTEMPTY) => Self::NotEmpty { path },
            Some(Errno::NOTDIR) => Self::WrongKind { path, found: "not a directory", needed: "a directory" },
            Some(Errno::ISDIR) => Self::WrongKind { path, found: "a directory", needed: "a file" },
            Some(Errno::LOOP) => Self::WrongKind {
                path,
                found: "a loop of symbolic links",
                needed: "a link with a final target",
            },
            Some(Errno::NXIO) => {
                Self::WrongKind { path, found: "a socket or device", needed: "a regular file" }
            }
            Some(Errno::NAMETOOLONG) => Self::bad_name(&path, "it is too long"),
            Some(Errno::ILSEQ) => Self::bad_name(&path, "the file system does not accept these characters"),
            _ => Self::Io { path, source },
        }
    }

    pub(crate) fn bad_name(name: &Path, reason: &'static str) -> Self {
        Self::BadName { name: name.display().to_string(), reason }
    }

    pub(crate) fn rejected(entry: &Path, reason: RejectReason) -> Self {
        Self::ArchiveRejected { entry: Some(entry.to_path_buf()), reason }
    }
}

/// Attaches a path to a system error.
pub(crate) trait At<T> {
    /// Translates a system error into this crate's error about `path`.
    fn at(self, path: &Path) -> Result<T>;
}

impl<T, E: Into<io::Error>> At<T> for std::result::Result<T, E> {
    fn at(self, path: &Path) -> Result<T> {
        self.map_err(|source| Error::at(path, source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disks_and_full_quotas_are_both_no_space() {
        for errno in [Errno::NOSPC, Errno::DQUOT] {
            assert!(matches!(Error::at(Path::new("x"), errno), Error::NoSpace { .. }));
        }
    }

    #[test]
    fn an_escape_is_distinguished_from_a_permission_error() {
        let escape = io::Error::new(io::ErrorKind::PermissionDenied, "led outside");
        assert!(matches!(Error::at(Path::new("x"), escape), Error::OutsideRoot { .. }));
        assert!(matches!(Error::at(Path::new("x"), Errno::ACCESS), Error::PermissionDenied { .. }));
    }
}
