//! Everything that can go wrong with a file, said so that a user knows what to do about it.
//!
//! One variant is one answer: a caller maps variants to statuses and never looks into an [`std::io::Error`].
//! The mapping from the system's error numbers is here and nowhere else.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::archive::RejectReason;

/// The result of every operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation did not happen. The suggested HTTP status is in each variant's description.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing has that name (404).
    #[error("{} does not exist; list the parent directory to see what is there", .path.display())]
    NotFound {
        /// The name that was looked for.
        path: PathBuf,
    },
    /// The entry is not of the kind that the operation needs (409).
    #[error("{} is {found}, and this needs {needed}; name another entry", .path.display())]
    WrongKind {
        /// The entry.
        path: PathBuf,
        /// What it is, with its article.
        found: &'static str,
        /// What was needed, with its article.
        needed: &'static str,
    },
    /// The target is already there and was not to be replaced (409).
    #[error("{} already exists; choose another name, remove it first, or ask for it to be overwritten", .path.display())]
    Exists {
        /// The entry that is in the way.
        path: PathBuf,
    },
    /// The operating system refused (403).
    #[error("permission denied for {}; check the owner and mode of it and of its directory, and whether the disk is read-only", .path.display())]
    PermissionDenied {
        /// The entry.
        path: PathBuf,
    },
    /// The workspace, or a directory that holds it, was to be removed or moved (403).
    #[error("{} holds the workspace and is not removed or moved; name something inside it", .path.display())]
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
    /// The name cannot be that of an entry (400).
    #[error("{name:?} is not a usable name: {reason}")]
    BadName {
        /// The name, made printable.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A continuation token that this service did not make (400).
    #[error("the continuation token is not one of this service's; start again without it")]
    BadToken,
    /// An `If-Match` or `If-None-Match` condition does not hold (412).
    #[error("{} is not in the state the precondition asks for; read it again and retry with its present ETag", .path.display())]
    PreconditionFailed {
        /// The entry.
        path: PathBuf,
    },
    /// A directory was to be moved into itself, or onto a directory that holds it (400).
    #[error("{} and {} lie one inside the other, so one cannot become the other; choose a target elsewhere", .from.display(), .to.display())]
    IntoItself {
        /// What was to be moved.
        from: PathBuf,
        /// Where to.
        to: PathBuf,
    },
    /// A directory with something in it was to be removed on its own (409).
    #[error("{} is not empty; remove it recursively, or empty it first", .path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// An archive was refused; nothing of it is left behind (400).
    #[error("the archive was refused{}: {reason}", .entry.as_ref().map(|name| format!(" at entry {:?}", name.display().to_string())).unwrap_or_default())]
    ArchiveRejected {
        /// The entry at fault, where it is one entry's fault.
        entry: Option<PathBuf>,
        /// What is wrong with it.
        reason: RejectReason,
    },
    /// More bytes than allowed (413).
    #[error("more than the {limit} bytes that one upload may hold; send less, or raise the limit")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// More archive entries than allowed (413).
    #[error("more than the {limit} entries that one archive may hold; split it, or raise the limit")]
    TooManyEntries {
        /// The limit.
        limit: u64,
    },
    /// The path, or a symbolic link on it, leads out of the tree that the service is confined to (403).
    #[error("{} leads outside of the served tree; use a path inside it", .path.display())]
    OutsideRoot {
        /// The path.
        path: PathBuf,
    },
    /// Something else changed the entry in the middle of the operation (409); nothing was lost.
    #[error("{} was changed by somebody else meanwhile; nothing was lost, look again and retry", .path.display())]
    Changed {
        /// The entry.
        path: PathBuf,
    },
    /// The bytes to be stored stopped coming (400, or no answer at all: the client has gone).
    #[error("the upload ended early; nothing was stored, send it again")]
    InputFailed {
        /// What the source of the bytes said.
        #[source]
        source: io::Error,
    },
    /// The reader of an archive has gone (no answer is possible any more).
    #[error("the download was cut off by its reader; ask for it again")]
    OutputFailed {
        /// What the writer of the bytes said.
        #[source]
        source: io::Error,
    },
    /// The system allows no further watches (503).
    #[error("the system's limit of watches is reached at {}; close other watches or raise fs.inotify.max_user_watches", .path.display())]
    WatchLimit {
        /// What was to be watched.
        path: PathBuf,
    },
    /// Any other failure of the system (500; 409 when busy).
    #[error("{}: {source}; see the server's log and the state of the disk", .path.display())]
    Io {
        /// The entry.
        path: PathBuf,
        /// The system's own words.
        #[source]
        source: io::Error,
    },
}

impl Error {
    /// Says what the system's error means for `path`.
    pub(crate) fn at(path: &Path, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        let path = path.to_path_buf();
        // cap-std reports an escape as a permission error of its own making, without a system error number.
        if source.kind() == io::ErrorKind::PermissionDenied && source.raw_os_error().is_none() {
            return Self::OutsideRoot { path };
        }
        match Errno::from_io_error(&source) {
            Some(Errno::NOENT) => Self::NotFound { path },
            Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => Self::PermissionDenied { path },
            Some(Errno::NOSPC | Errno::DQUOT) => Self::NoSpace { path },
            Some(Errno::EXIST) => Self::Exists { path },
            Some(Errno::NOTEMPTY) => Self::NotEmpty { path },
            Some(Errno::NOTDIR) => {
                Self::WrongKind { path, found: "not a directory", needed: "a directory in that place" }
            }
            Some(Errno::ISDIR) => Self::WrongKind { path, found: "a directory", needed: "a file" },
            Some(Errno::LOOP) => Self::WrongKind {
                path,
                found: "a loop of symbolic links",
                needed: "a link that ends somewhere",
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

/// Attaches the path that an error is about.
pub(crate) trait At<T> {
    /// Turns a system error into this crate's, naming `path`.
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
    fn an_escape_is_told_apart_from_a_refusal_of_the_system() {
        let escape = io::Error::new(io::ErrorKind::PermissionDenied, "led outside");
        assert!(matches!(Error::at(Path::new("x"), escape), Error::OutsideRoot { .. }));
        assert!(matches!(Error::at(Path::new("x"), Errno::ACCESS), Error::PermissionDenied { .. }));
    }
}
