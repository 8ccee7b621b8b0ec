//! `Range` (RFC 9110, section 14), cut to a file's length.
//!
//! One part is sent or the whole: ranges that touch become one, and several that do not are answered with the whole
//! file, which every client must take. No `multipart/byteranges`.

use std::ops::Range;

use http::HeaderMap;
use http::header::RANGE;

/// What a `Range` header asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Everything: no header, one that does not parse, or parts that do not touch.
    Whole,
    /// This part, not empty.
    Part(Range<u64>),
    /// Nothing that the file has.
    Unsatisfiable,
}

/// Reads the header for a file of that many bytes.
pub(super) fn of(headers: &HeaderMap, size: u64) -> Wanted {
    let mut values = headers.get_all(RANGE).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return Wanted::Whole };
    value.to_str().ok().and_then(|text| parse(text, size)).unwrap_or(Wanted::Whole)
}

fn parse(text: &str, size: u64) -> Option<Wanted> {
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
        return Some(Wanted::Unsatisfiable);
    }
    parts.sort_by_key(|range| range.start);
    let mut joined = parts[0].clone();
    for range in &parts[1..] {
        if range.start > joined.end {
            return Some(Wanted::Whole);
        }
        joined.end = joined.end.max(range.end);
    }
    // Only the last bytes of an empty file can be nothing, and a part cannot say that.
    Some(if joined.is_empty() { Wanted::Whole } else { Wanted::Part(joined) })
}

/// One range: `None` when it does not parse, `Some(None)` when the file has nothing of it.
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

/// A number, where one too large for us means the end of every file.
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

    fn range(text: &str, size: u64) -> Wanted {
        of(&HeaderMap::from_iter([(RANGE, HeaderValue::from_str(text).unwrap())]), size)
    }

    #[test]
    fn a_part_is_cut_to_the_file() {
        assert_eq!(range("bytes=0-3", 10), Wanted::Part(0..4));
        assert_eq!(range("bytes=4-", 10), Wanted::Part(4..10));
        assert_eq!(range("Bytes= 4 - 99999999999999999999999 ", 10), Wanted::Part(4..10));
        assert_eq!(range("bytes=-3", 10), Wanted::Part(7..10));
        assert_eq!(range("bytes=-30", 10), Wanted::Part(0..10));
    }

    #[test]
    fn what_the_file_does_not_have_is_unsatisfiable() {
        for text in ["bytes=10-", "bytes=10-20", "bytes=-0", "bytes=10-,20-30"] {
            assert_eq!(range(text, 10), Wanted::Unsatisfiable, "{text}");
        }
        assert_eq!(range("bytes=0-", 0), Wanted::Unsatisfiable);
        assert_eq!(range("bytes=-5", 0), Wanted::Whole);
    }

    #[test]
    fn several_parts_are_one_when_they_touch_and_the_whole_file_otherwise() {
        assert_eq!(range("bytes=4-5,0-3", 10), Wanted::Part(0..6));
        assert_eq!(range("bytes=0-3,2-8,100-", 10), Wanted::Part(0..9));
        assert_eq!(range("bytes=0-1,5-6", 10), Wanted::Whole);
    }

    #[test]
    fn what_does_not_parse_is_ignored() {
        for text in
            ["", "bytes", "bytes=", "bytes=,", "lines=1-2", "bytes=a-b", "bytes=3-1", "bytes=-", "bytes=+1-2"]
        {
            assert_eq!(range(text, 10), Wanted::Whole, "{text}");
        }
    }
}
