//! The names inside an archive, parsed into plain components. Names that lead out of the target are rejected.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use super::RejectReason;

const LONGEST_NAME: usize = 4096;

/// A relative path of plain names; empty for the target itself (`./`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct EntryName(PathBuf);

impl EntryName {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, RejectReason> {
        if bytes.is_empty() || bytes.len() > LONGEST_NAME || bytes.contains(&0) {
            return Err(RejectReason::BadName);
        }
        let mut path = PathBuf::new();
        for component in Path::new(OsStr::from_bytes(bytes)).components() {
            match component {
                Component::Normal(name) => path.push(name),
                Component::CurDir => {}
                Component::ParentDir => return Err(RejectReason::ParentComponent),
                Component::RootDir | Component::Prefix(_) => return Err(RejectReason::AbsoluteName),
            }
        }
        Ok(Self(path))
    }

    /// Removes leading components; `None` if no component is left.
    pub(super) fn without_leading(&self, components: usize) -> Option<Self> {
        let rest: PathBuf = self.0.iter().skip(components).collect();
        (components == 0 || !rest.as_os_str().is_empty()).then_some(Self(rest))
    }

    /// Wraps a path that is known to have plain names only, such as those of a walk.
    pub(super) fn of_plain(path: &Path) -> Self {
        Self(path.to_path_buf())
    }

    pub(super) fn as_path(&self) -> &Path {
        &self.0
    }

    pub(super) fn is_target_itself(&self) -> bool {
        self.0.as_os_str().is_empty()
    }

    /// The parent's path and the last name.
    pub(super) fn split(&self) -> Option<(&Path, &OsStr)> {
        Some((self.0.parent()?, self.0.file_name()?))
    }
}

/// The name in printable form for messages, even if it is not UTF-8.
pub(super) fn printable(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes[..bytes.len().min(LONGEST_NAME)].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_out_are_rejected() {
        assert_eq!(EntryName::parse(b"a/../b"), Err(RejectReason::ParentComponent));
        assert_eq!(EntryName::parse(b".."), Err(RejectReason::ParentComponent));
        assert_eq!(EntryName::parse(b"/etc/passwd"), Err(RejectReason::AbsoluteName));
        assert_eq!(EntryName::parse(b""), Err(RejectReason::BadName));
        assert_eq!(EntryName::parse(b"a\0b"), Err(RejectReason::BadName));
    }

    #[test]
    fn leading_components_are_removed_and_names_without_others_are_omitted() {
        let name = EntryName::parse(b"./package/bin/tool").expect("plain");
        assert_eq!(name.without_leading(1).expect("two are left").as_path(), Path::new("bin/tool"));
        assert_eq!(name.without_leading(3), None);
        assert!(EntryName::default().without_leading(0).expect("the target").is_target_itself());
    }

    #[test]
    fn dots_and_slashes_without_meaning_are_dropped() {
        assert_eq!(EntryName::parse(b"./a//./b/").expect("plain").as_path(), Path::new("a/b"));
        assert!(EntryName::parse(b"./").expect("the target").is_target_itself());
    }
}
