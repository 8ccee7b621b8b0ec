//! Recognises notifications that differ from an earlier one in a single place.
//!
//! A streaming agent sends the same notification again and again with a different word in it. Comparing bytes
//! is much faster than parsing: if everything before and after the word is unchanged, and the word is part
//! of a string or a number inside `params`, then the line is a notification as the earlier one was.

use std::ops::Range;

use super::scan::special_from;
use super::{Envelope, EnvelopeError, Parsed};

/// Longer messages do not become templates: they are rare, and every instance would keep a copy of one.
const MAX_REMEMBERED: usize = 1024;

/// The last notification that was parsed in full.
#[derive(Debug, Default)]
pub(crate) struct NotificationTemplate {
    /// The notification's bytes. They contain no backslash, so every quote begins or ends a string, and no
    /// line break.
    remembered: Vec<u8>,
    /// The byte range of the value of `params`.
    params: Range<usize>,
    /// The byte range of the string that differed last, without its opening quote. The next line most often
    /// differs there too.
    changing: Range<usize>,
}

impl NotificationTemplate {
    /// Parses one message in full. If it is a short notification, it becomes the template.
    pub(crate) fn parse(&mut self, line: &[u8]) -> Result<Envelope, EnvelopeError> {
        let Parsed { envelope, params, .. } = Envelope::parse_located(line)?;
        if envelope == Envelope::Notification
            && line.len() <= MAX_REMEMBERED
            && memchr::memchr3(b'\\', b'\r', b'\n', line).is_none()
        {
            self.remembered.clear();
            self.remembered.extend_from_slice(line);
            (self.params, self.changing) = (params, 0..0);
        }
        Ok(envelope)
    }

    /// True if the line must be a notification, because it differs from the template in only one word. Such a
    /// line contains no line break either.
    pub(crate) fn covers(&mut self, line: &[u8]) -> bool {
        let known = self.remembered.as_slice();
        let at = common_prefix(known, line);
        if at == line.len() && at == known.len() {
            return at > 0;
        }
        // The difference must lie inside `params`.
        if at <= self.params.start || at >= self.params.end || at >= line.len() {
            return false;
        }
        if !self.changing.contains(&at) {
            self.changing = string_around(known, at);
        }
        let ends = if self.changing.is_empty() {
            ends_of_digits(known, line, at)
        } else {
            end_of_string(known, line, at).map(|line_end| (self.changing.end - 1, line_end))
        };
        ends.is_some_and(|(known_end, line_end)| known[known_end..] == line[line_end..])
    }
}

/// The byte range of the string around an index, from its first byte through its closing quote; empty if the
/// index is not in a string.
fn string_around(known: &[u8], at: usize) -> Range<usize> {
    let is_inside = memchr::memchr_iter(b'"', &known[..at]).count() % 2 == 1;
    let start = memchr::memrchr(b'"', &known[..at]).map(|quote| quote + 1);
    let end = memchr::memchr(b'"', &known[at..]).map(|length| at + length + 1);
    match (start, end) {
        (Some(start), Some(end)) if is_inside => start..end,
        _ => 0..0,
    }
}

/// Handles two lines that are inside the same string at `at`. Returns where that string ends in `line`, if
/// the bytes up to there are valid.
fn end_of_string(known: &[u8], line: &[u8], at: usize) -> Option<usize> {
    let end = special_from(line, at)?;
    if line[end] != b'"' {
        return None;
    }
    // The first different byte may be in the middle of a UTF-8 character, so go back to where that character
    // begins.
    let start = (0..=at).rev().find(|&start| known[start] & 0xC0 != 0x80)?;
    std::str::from_utf8(&line[start..end]).ok()?;
    Some(end)
}

/// Handles two lines that are inside the same number at `at`, after at least one digit. Returns where the
/// digits end in each line.
fn ends_of_digits(known: &[u8], line: &[u8], at: usize) -> Option<(usize, usize)> {
    if !line[at - 1].is_ascii_digit() {
        return None;
    }
    let end = |bytes: &[u8]| {
        let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        // Both lines must have at least one more digit. Otherwise the digit before `at` could be a leading
        // zero in one line only.
        (digits > 0).then_some(at + digits)
    };
    Some((end(known)?, end(line)?))
}

/// The length of the common prefix of two byte strings.
fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    let mut at = 0;
    for (one, other) in one.as_chunks::<32>().0.iter().zip(other.as_chunks::<32>().0) {
        if one != other {
            break;
        }
        at += 32;
    }
    for (one, other) in one[at..].as_chunks::<8>().0.iter().zip(other[at..].as_chunks::<8>().0) {
        let difference = u64::from_le_bytes(*one) ^ u64::from_le_bytes(*other);
        if difference != 0 {
            return at + difference.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + one[at..].iter().zip(&other[at..]).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
