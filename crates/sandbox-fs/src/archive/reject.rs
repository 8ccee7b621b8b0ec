//! Why an archive is refused, for the person who packed it.

use std::path::PathBuf;

/// What is wrong with an archive or one of its entries.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RejectReason {
    /// `..` in a name.
    #[error("its name contains `..`; pack it with names below one directory")]
    ParentComponent,
    /// An absolute name.
    #[error("its name is absolute; pack it with relative names")]
    AbsoluteName,
    /// A name that is not valid for a file.
    #[error("its name is empty, too long or contains a NUL byte; rename it before packing")]
    BadName,
    /// A backslash, which tools of another system use as a separator.
    #[error("its name contains a backslash; pack it with slashes between names")]
    Backslash,
    /// A name below a link that does not lead to a directory of this archive.
    #[error("its name leads through a symbolic link; pack the directory that the link points to")]
    ThroughLink,
    /// A name below a non-directory.
    #[error("a parent in its name is not a directory")]
    ThroughFile,
    /// A symbolic link out of the target, or one that another archive could turn into one.
    #[error("it is a symbolic link to {}, which leads out of the target or could be made to; only links that stay inside are unpacked", .target.display())]
    LinkOutside {
        /// The target of the link.
        target: PathBuf,
    },
    /// A hard link to a missing file, or to one outside.
    #[error("it is a hard link to {}, which is not a file inside the target; pack the file itself", .target.display())]
    HardLinkOutside {
        /// The target of the link.
        target: PathBuf,
    },
    /// A device node.
    #[error("it is a device; devices are not unpacked")]
    Device,
    /// A FIFO.
    #[error("it is a FIFO; FIFOs are not unpacked")]
    Fifo,
    /// A sparse file in one of GNU tar's formats.
    #[error("it is a sparse file; pack without --sparse")]
    Sparse,
    /// An unknown entry type.
    #[error("its type {0:?} is not known; pack it as a plain ustar, pax or GNU archive")]
    UnknownType(char),
    /// An entry of the same name, in the target or earlier in the archive, cannot be replaced.
    #[error("{found} has the same name and cannot be replaced by it")]
    Conflict {
        /// The existing entry's kind, with its article.
        found: &'static str,
    },
    /// The stream ends too early.
    #[error("it ends early; send the whole archive")]
    Truncated,
    /// Not a tar archive at all.
    #[error("it is not a tar archive, or its compression is not the one that was stated")]
    NotAnArchive,
    /// The directory of a zip file does not parse.
    #[error("it is not a zip file, or its directory is damaged; pack it again")]
    BadZip,
    /// A zip file that is encrypted or uses another compression.
    #[error(
        "it is encrypted or compressed in a way that is not supported; pack it with deflate and without a password"
    )]
    UnsupportedZip,
    /// More or less data than the header states.
    #[error("its data is not as long as its header says; pack it again")]
    WrongSize,
    /// A header in the middle does not parse.
    #[error("a header is damaged; pack it again")]
    BadHeader,
    /// The compressed stream is damaged.
    #[error("the compressed data is damaged, or its compression is not the one that was stated")]
    BadCompression,
    /// Names or attributes larger than in any legitimate archive.
    #[error("its extended header is too large")]
    ExtensionTooLarge,
}
