//! `Range` headers (RFC 9110, section 14), limited to a file's length.
//!
//! The response is one range or the whole file. Adjacent ranges are merged. Separate ranges are answered with the whole
//! file, which every client must accept; there is no `multipart/byteranges`.

use std::ops::Range;

use http::HeaderMap;
use http::header::RANGE;

/// The part of a file that a `Range` header requests.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestedRange {
    /// The whole file: there is no header, it is malformed, or its ranges are separate.
    Whole,
    /// This range, which is not empty.
    Part(Range<u64>),
    /// A range outside the file.
    Unsatisfiable,
}

/// Parses the header for a file of this size.
pub(super) fn of(headers: &HeaderMap, size: u64) -> RequestedRange {
    let mut values = headers.get_all(RANGE).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return RequestedRange::Whole };
    value.to_str().ok().and_then(|text| parse(text, size)).unwrap_or(RequestedRange::Whole)
}

fn parse(text: &str, size: u64) -> Option<RequestedRange> {
    let (unit, list) = text.split_once('=')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let mut parts = Vec::new();
    let mut listed = 0;
    for spec in list.split(',').map(str::trim).filter(|spec| !spec.is_empty()) {
        listed += 1;
        parts.extend(part(spec, size)?);
    }
    if listed == 0 {
        return None;
    }
    if parts.is_empty() {
        return Some(RequestedRange::Unsatisfiable);
    }
    parts.sort_by_key(|range| range.start);
    let mut joined = parts[0].clone();
    for range in &parts[1..] {
        if range.start > joined.end {
            return Some(RequestedRange::Whole);
        }
        joined.end = joined.end.max(range.end);
    }
    // Only a suffix range of an empty file can be empty, and `Content-Range` cannot express that.
    Some(if joined.is_empty() { RequestedRange::Whole } else { RequestedRange::Part(joined) })
}

/// One range: `None` when it is malformed, `Some(None)` when it is outside the file.
fn part(spec: &str, size: u64) -> Option<Option<Range<u64>>> {
    let (first, last) = spec.split_once('-')?;
    let (first, last) = (first.trim(), last.trim());
    if first.is_empty() {
        let count = number(last)?;
        return Some((count > 0).then(|| size.saturating_sub(count)..size));
    }
    let first = number(first)?;
    let end = if last.is_empty() { size } else { number(last)?.saturating_add(1) };
    if !last.is_empty() && end <= first {
        return None;
    }
    Some((first < size).then(|| first..end.min(size)))
}

/// A number. One that does not fit becomes `u64::MAX`, which is after the end of every file.
fn number(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn range(text: &str, size: u64) -> RequestedRange {
        of(&HeaderMap::from_iter([(RANGE, HeaderValue::from_str(text).unwrap())]), size)
    }

    #[test]
    fn a_range_is_limited_to_the_file() {
        assert_eq!(range("bytes=0-3", 10), RequestedRange::Part(0..4));
        assert_eq!(range("bytes=4-", 10), RequestedRange::Part(4..10));
        assert_eq!(range("Bytes= 4 - 99999999999999999999999 ", 10), RequestedRange::Part(4..10));
        assert_eq!(range("bytes=-3", 10), RequestedRange::Part(7..10));
        assert_eq!(range("bytes=-30", 10), RequestedRange::Part(0..10));
    }

    #[test]
    fn a_range_outside_the_file_is_unsatisfiable() {
        for text in ["bytes=10-", "bytes=10-20", "bytes=-0", "bytes=10-,20-30"] {
            assert_eq!(range(text, 10), RequestedRange::Unsatisfiable, "{text}");
        }
        assert_eq!(range("bytes=0-", 0), RequestedRange::Unsatisfiable);
        assert_eq!(range("bytes=-5", 0), RequestedRange::Whole);
    }

    #[test]
    fn adjacent_ranges_are_merged_and_separate_ranges_get_the_whole_file() {
        assert_eq!(range("bytes=4-5,0-3", 10), RequestedRange::Part(0..6));
        assert_eq!(range("bytes=0-3,2-8,100-", 10), RequestedRange::Part(0..9));
        assert_eq!(range("bytes=0-1,5-6", 10), RequestedRange::Whole);
    }

    #[test]
    fn a_malformed_header_is_ignored() {
        for text in
            ["", "bytes", "bytes=", "bytes=,", "lines=1-2", "bytes=a-b", "bytes=3-1", "bytes=-", "bytes=+1-2"]
        {
            assert_eq!(range(text, 10), RequestedRange::Whole, "{text}");
        }
    }
}
