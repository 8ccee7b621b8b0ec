//! Why an archive is refused, said to the person who packed it.

use std::path::PathBuf;

/// What is wrong with an archive or one of its entries.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RejectReason {
    /// `..` in a name.
    #[error("its name contains `..`; pack it with names below one directory")]
    ParentComponent,
    /// A name from the root.
    #[error("its name is absolute; pack it with relative names")]
    AbsoluteName,
    /// A name that no file can have.
    #[error("its name is empty, too long or contains a NUL byte; rename it before packing")]
    BadName,
    /// A name below a link that does not lead to a directory of this archive.
    #[error("its name leads through a symbolic link; pack the directory that the link means")]
    ThroughLink,
    /// A name below something that is no directory.
    #[error("its name leads through something that is no directory")]
    ThroughFile,
    /// A symbolic link out of the target.
    #[error("it is a symbolic link to {}, outside of the target; only links that stay inside are unpacked", .target.display())]
    LinkOutside {
        /// Where it points.
        target: PathBuf,
    },
    /// A hard link to something that is not there, or outside.
    #[error("it is a hard link to {}, which is no file inside the target; pack the file itself", .target.display())]
    HardLinkOutside {
        /// Where it points.
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
    /// A type that is not known.
    #[error("its type {0:?} is not known; pack it as a plain ustar, pax or GNU archive")]
    UnknownType(char),
    /// Something that cannot be replaced has its name, in the target or earlier in the archive.
    #[error("{found} has its name already and cannot be replaced by it")]
    Conflict {
        /// What is there, with its article.
        found: &'static str,
    },
    /// The stream ends too early.
    #[error("it ends early; send the whole archive")]
    Truncated,
    /// Not a tar archive at all.
    #[error("it is not a tar archive; check that the content type says how it is compressed")]
    NotAnArchive,
    /// A header in the middle does not parse.
    #[error("a header is damaged; pack it again")]
    BadHeader,
    /// The compressed stream is damaged.
    #[error(
        "the compressed data is damaged or of another kind; check that the content type says how it is compressed"
    )]
    BadCompression,
    /// Names or attributes larger than any honest archive has.
    #[error("its extended header is too large")]
    ExtensionTooLarge,
}
