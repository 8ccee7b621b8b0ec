//! Continuation tokens of listings. Opaque to clients: the path of the last listed entry, in hexadecimal.
//!
//! A token refers to no state on the server, so it survives restarts. Entries that are created or removed between
//! two pages neither repeat nor hide other entries.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use crate::error::{Error, Result};

/// A token that is returned with one page of a listing and sent back to request the next page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContinuationToken(PathBuf);

impl ContinuationToken {
    pub(crate) fn after(last: &Path) -> Self {
        Self(last.to_path_buf())
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = OsString> {
        self.0.components().map(|component| component.as_os_str().to_os_string())
    }

    /// Parses a token.
    ///
    /// # Errors
    /// [`Error::BadToken`] for anything that was not printed by [`ContinuationToken`].
    pub fn parse(text: &str) -> Result<Self> {
        let digits = text.as_bytes();
        if digits.is_empty() || !digits.len().is_multiple_of(2) || digits.len() > 1 << 16 {
            return Err(Error::BadToken);
        }
        let mut bytes = Vec::with_capacity(digits.len() / 2);
        for pair in digits.chunks_exact(2) {
            bytes.push(digit(pair[0])? << 4 | digit(pair[1])?);
        }
        let path = PathBuf::from(OsString::from_vec(bytes));
        let plain = path.components().all(|component| matches!(component, Component::Normal(_)));
        if plain && !path.as_os_str().as_bytes().contains(&0) { Ok(Self(path)) } else { Err(Error::BadToken) }
    }
}

fn digit(byte: u8) -> Result<u8> {
    match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        _ => Err(Error::BadToken),
    }
}

impl fmt::Display for ContinuationToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_os_str().as_bytes().iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_token_parses_and_forgeries_are_refused() {
        let token = ContinuationToken::after(Path::new("a/ü"));
        assert_eq!(ContinuationToken::parse(&token.to_string()).expect("ours"), token);
        let escape = ContinuationToken::after(Path::new("../x")).to_string();
        let absolute = ContinuationToken::after(Path::new("/x")).to_string();
        for text in ["", "0", "zz", "00", escape.as_str(), absolute.as_str()] {
            assert!(matches!(ContinuationToken::parse(text), Err(Error::BadToken)), "{text}");
        }
    }
}
