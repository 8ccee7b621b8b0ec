//! Messages that are like the one before.
//!
//! An agent that streams sends the same message again and again with another word in it. Whether that is so is seen much
//! faster than the message is read: what stands before and behind the word is the same, and the word itself is a
//! piece of a string, or of a number, somewhere inside `params`. Then it is a notification as the other was.

use std::ops::Range;

use super::scan::special_from;
use super::{Envelope, EnvelopeError};

/// Longer messages are not remembered: they are few, and every instance would hold one.
const MAX_REMEMBERED: usize = 1024;

/// The last notification that had to be read in full.
#[derive(Debug, Default)]
pub(crate) struct Likeness {
    /// Without a backslash, so that every quote begins or ends a string, and without a line break.
    remembered: Vec<u8>,
    /// Where the value of `params` stands in it.
    params: Range<usize>,
    /// The string in it that was another one lately, without its quotes: mostly the next is another there, too.
    changing: Range<usize>,
}

impl Likeness {
    /// Reads one message in full, and remembers it.
    pub(crate) fn parse(&mut self, line: &[u8]) -> Result<Envelope, EnvelopeError> {
        let (envelope, params) = Envelope::parse_with_params(line)?;
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

    /// Whether a line is a notification because the remembered one is. Then it is one line, too.
    pub(crate) fn covers(&mut self, line: &[u8]) -> bool {
        let known = self.remembered.as_slice();
        let at = common_prefix(known, line);
        if at == line.len() && at == known.len() {
            return at > 0;
        }
        // Behind the first byte of `params`, and before its last: what follows is there in both.
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

/// The string that a place is in, from its first byte to its closing quote; empty where there is none.
fn string_around(known: &[u8], at: usize) -> Range<usize> {
    let is_inside = memchr::memchr_iter(b'"', &known[..at]).count() % 2 == 1;
    let start = memchr::memrchr(b'"', &known[..at]).map(|quote| quote + 1);
    let end = memchr::memchr(b'"', &known[at..]).map(|length| at + length + 1);
    match (start, end) {
        (Some(start), Some(end)) if is_inside => start..end,
        _ => 0..0,
    }
}

/// Both lines are in the same string at `at`: where the line's ends, if what it says there can stand in one.
fn end_of_string(known: &[u8], line: &[u8], at: usize) -> Option<usize> {
    let end = special_from(line, at)?;
    if line[end] != b'"' {
        return None;
    }
    // Where the difference is in the midst of a character, that begins before it.
    let start = (0..=at).rev().find(|&start| known[start] & 0xC0 != 0x80)?;
    std::str::from_utf8(&line[start..end]).ok()?;
    Some(end)
}

/// Both lines are in the same number at `at`, behind a digit of it: where the digits end in each.
fn ends_of_digits(known: &[u8], line: &[u8], at: usize) -> Option<(usize, usize)> {
    if !line[at - 1].is_ascii_digit() {
        return None;
    }
    let end = |bytes: &[u8]| {
        let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        // At least one in each: then the digit before is not a zero at the beginning, which nothing may follow.
        (digits > 0).then_some(at + digits)
    };
    Some((end(known)?, end(line)?))
}

/// How many bytes are the same from the beginning.
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
#[path = "envelope_likeness_tests.rs"]
mod tests;
