//! A fast scanner for ordinary messages.
//!
//! A streaming agent sends millions of small messages, and reading their envelopes is most of their cost. The
//! scanner walks over the bytes once, eight at a time inside strings. It gives up on invalid JSON, escaped
//! keys and deep nesting, and leaves those to the slow reader, which can explain what is wrong. Whenever the
//! scanner does not give up, its result equals the slow reader's.

use std::ops::Range;

use super::Fields;
use crate::request_id::RequestId;

/// How deeply values may be nested.
const MAX_DEPTH: u32 = 64;

/// The fields of an envelope and the byte range of the value of `params`. `None` if the slow reader has to
/// read the message.
pub(super) fn fields(text: &str) -> Option<(Fields, Range<usize>)> {
    let mut scanner = Scanner { text, bytes: text.as_bytes(), at: 0 };
    let (mut fields, mut params) = (Fields::default(), 0..0);
    scanner.expect(b'{')?;
    if scanner.skip_space()? == b'}' {
        return None;
    }
    loop {
        scanner.expect(b'"')?;
        let key = scanner.plain_string()?;
        scanner.expect(b':')?;
        scanner.skip_space()?;
        let start = scanner.at;
        scanner.skip_value()?;
        let value = &text[start..scanner.at];
        match key {
            "jsonrpc" => fields.version_is_2 = value == r#""2.0""#,
            "id" => {
                fields.id = Some(RequestId::parse(value)?);
                fields.id_span = Some(start..scanner.at);
            }
            "params" => params = start..scanner.at,
            other => {
                fields.has_method |= other == "method";
                fields.has_result |= other == "result";
                fields.has_error |= other == "error";
            }
        }
        match scanner.skip_space()? {
            b',' => scanner.at += 1,
            b'}' => break,
            _ => return None,
        }
    }
    scanner.at += 1;
    scanner.skip_space().is_none().then_some((fields, params))
}

/// A position in a text.
struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    /// Skips white space and returns the next byte; `None` at the end.
    #[inline]
    fn skip_space(&mut self) -> Option<u8> {
        loop {
            match *self.bytes.get(self.at)? {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    #[inline]
    fn expect(&mut self, wanted: u8) -> Option<()> {
        (self.skip_space()? == wanted).then(|| self.at += 1)
    }

    /// Consumes the rest of a string and returns it. `None` if the string contains escapes.
    #[inline]
    fn plain_string(&mut self) -> Option<&'a str> {
        let start = self.at;
        self.at = special_from(self.bytes, start)?;
        if self.bytes[self.at] != b'"' {
            return None;
        }
        self.at += 1;
        self.text.get(start..self.at - 1)
    }

    /// Consumes the rest of a string, with or without escapes.
    #[inline]
    fn skip_string(&mut self) -> Option<()> {
        loop {
            self.at = special_from(self.bytes, self.at)? + 1;
            match self.bytes[self.at - 1] {
                b'"' => return Some(()),
                b'\\' => self.skip_escape()?,
                // Control characters are not allowed in strings.
                _ => return None,
            }
        }
    }

    fn skip_escape(&mut self) -> Option<()> {
        let length = match self.bytes.get(self.at)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 1,
            b'u' if self.bytes.get(self.at + 1..self.at + 5)?.iter().all(u8::is_ascii_hexdigit) => 5,
            _ => return None,
        };
        self.at += length;
        Some(())
    }

    /// Consumes one value, with everything nested in it.
    fn skip_value(&mut self) -> Option<()> {
        // One bit per level of nesting: set when the level is an object.
        let (mut objects, mut depth) = (0_u64, 0);
        loop {
            let byte = self.skip_space()?;
            self.at += 1;
            match byte {
                b'"' => self.skip_string()?,
                b'{' | b'[' => {
                    let is_object = byte == b'{';
                    // In ASCII, `]` and `}` each come two code points after their opening brackets.
                    if self.skip_space()? == byte + 2 {
                        self.at += 1;
                    } else {
                        if depth == MAX_DEPTH {
                            return None;
                        }
                        (objects, depth) = (objects << 1 | u64::from(is_object), depth + 1);
                        if is_object {
                            self.skip_key()?;
                        }
                        continue;
                    }
                }
                b't' => self.skip_word(b"rue")?,
                b'f' => self.skip_word(b"alse")?,
                b'n' => self.skip_word(b"ull")?,
                b'-' | b'0'..=b'9' => self.skip_number(byte)?,
                _ => return None,
            }
            loop {
                if depth == 0 {
                    return Some(());
                }
                let byte = self.skip_space()?;
                self.at += 1;
                match (byte, objects & 1) {
                    (b',', 0) => break,
                    (b',', _) => {
                        self.skip_key()?;
                        break;
                    }
                    (b'}', 1) | (b']', 0) => (objects, depth) = (objects >> 1, depth - 1),
                    _ => return None,
                }
            }
        }
    }

    #[inline]
    fn skip_key(&mut self) -> Option<()> {
        self.expect(b'"')?;
        self.skip_string()?;
        self.expect(b':')
    }

    fn skip_word(&mut self, rest: &[u8]) -> Option<()> {
        self.bytes[self.at..].starts_with(rest).then(|| self.at += rest.len())
    }

    /// Consumes the rest of a number whose first byte was `first`.
    fn skip_number(&mut self, first: u8) -> Option<()> {
        let mut first = first;
        if first == b'-' {
            first = *self.bytes.get(self.at)?;
            self.at += 1;
        }
        match first {
            b'0' => {}
            b'1'..=b'9' => _ = self.skip_digits(),
            _ => return None,
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.skip_digits()?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            self.skip_digits()?;
        }
        // A digit here can only follow a leading zero, which JSON forbids.
        (!self.bytes.get(self.at).is_some_and(u8::is_ascii_digit)).then_some(())
    }

    /// Consumes digits, at least one.
    fn skip_digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }
}

/// The index of the next quote, backslash or control character.
#[inline]
pub(super) fn special_from(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    let mut words = 0;
    while let Some(Ok(eight)) = bytes.get(at..at + 8).map(<[u8; 8]>::try_from) {
        words += 1;
        if words == LONG_STRING {
            at += plain_prefix(&bytes[at..]);
            words += 1;
            continue;
        }
        let special = special_bytes(u64::from_le_bytes(eight));
        if special != 0 {
            return Some(at + special.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    bytes[at..].iter().position(|byte| matches!(byte, b'"' | b'\\' | ..0x20)).map(|offset| at + offset)
}

/// Marks special bytes (quotes, backslashes and control characters) among the eight bytes of `word` by
/// setting their high bit. Bytes above the lowest special one may be marked wrongly, so only the lowest mark
/// counts. The result is 0 if there is none.
#[inline]
const fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let quotes = word ^ (ONES * b'"' as u64);
    let backslashes = word ^ (ONES * b'\\' as u64);
    let controls = word.wrapping_sub(ONES * 0x20) & !word;
    (controls | (quotes.wrapping_sub(ONES) & !quotes) | (backslashes.wrapping_sub(ONES) & !backslashes))
        & HIGHS
}

/// After this many words without a special byte, a string is treated as a long one.
const LONG_STRING: u32 = 16;

/// The length of the prefix without quotes, backslashes and control characters, rounded down to 64 bytes. It
/// loops over words instead of bytes, because with some settings the compiler does not vectorise a loop over
/// bytes, and large messages would take three times as long.
fn plain_prefix(bytes: &[u8]) -> usize {
    let has_special = |block: &[u8; 64]| {
        let (words, _) = block.as_chunks::<8>();
        words.iter().fold(0, |found, word| found | special_bytes(u64::from_le_bytes(*word))) != 0
    };
    let (blocks, _) = bytes.as_chunks::<64>();
    blocks.iter().take_while(|block| !has_special(block)).count() * 64
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
