//! The version of a file, made from inode, size, modification and change time. The contents are not read.

use std::fmt;

use crate::sys::Stat;

/// An opaque, strong tag; equal tags mean the same bytes as far as the file system can tell.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ETag(String);

impl ETag {
    pub(crate) fn of(stat: &Stat) -> Self {
        let (modified, changed) = (stat.modified(), stat.changed());
        Self(format!(
            "{:x}-{:x}-{:x}.{:x}-{:x}.{:x}",
            stat.inode(),
            stat.size(),
            modified.seconds,
            modified.nanoseconds,
            changed.seconds,
            changed.nanoseconds
        ))
    }

    /// Parses one quoted tag, as in `If-Match`. Returns `None` for a weak tag, which never matches in a strong
    /// comparison.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let inner = text.trim().strip_prefix('"')?.strip_suffix('"')?;
        (!inner.contains('"')).then(|| Self(inner.to_owned()))
    }
}

impl fmt::Display for ETag {
    /// Writes the tag with its quotes, as in a header.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "\"{}\"", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_tag_parses_and_a_weak_one_does_not() {
        let tag = ETag::parse("\"1-2\"").expect("a tag");
        assert_eq!(ETag::parse(&tag.to_string()), Some(tag));
        assert_eq!(ETag::parse("W/\"1-2\""), None);
        assert_eq!(ETag::parse("1-2"), None);
    }
}
