//! Parses the records of a pax extended header that affect unpacking.

use super::RejectReason;
use crate::timestamp::Timestamp;

/// The records of an extended header, which describe the entry after it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PaxRecords {
    pub(super) path: Option<Vec<u8>>,
    pub(super) link_path: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
    pub(super) modified: Option<Timestamp>,
    pub(super) sparse: bool,
}

/// Parses `length key=value\n` records; a length counts its whole record.
pub(super) fn parse(mut data: &[u8]) -> Result<PaxRecords, RejectReason> {
    let mut records = PaxRecords::default();
    while !data.is_empty() {
        let space = data.iter().position(|byte| *byte == b' ').ok_or(RejectReason::BadHeader)?;
        let length: usize = number(&data[..space])?;
        if length <= space + 1 || length > data.len() || data[length - 1] != b'\n' {
            return Err(RejectReason::BadHeader);
        }
        let record = &data[space + 1..length - 1];
        let equals = record.iter().position(|byte| *byte == b'=').ok_or(RejectReason::BadHeader)?;
        apply(&mut records, &record[..equals], &record[equals + 1..])?;
        data = &data[length..];
    }
    Ok(records)
}

fn apply(records: &mut PaxRecords, key: &[u8], value: &[u8]) -> Result<(), RejectReason> {
    match key {
        b"path" => records.path = Some(value.to_vec()),
        b"linkpath" => records.link_path = Some(value.to_vec()),
        b"size" => records.size = Some(number(value)?),
        b"mtime" => records.modified = Some(time(value)?),
        _ if key.starts_with(b"GNU.sparse.") => records.sparse = true,
        // Owners, access times, comments and other systems' attributes are not restored.
        _ => {}
    }
    Ok(())
}

fn number<T: std::str::FromStr>(digits: &[u8]) -> Result<T, RejectReason> {
    std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).ok_or(RejectReason::BadHeader)
}

/// Parses seconds with a decimal fraction, negative before 1970.
fn time(value: &[u8]) -> Result<Timestamp, RejectReason> {
    let text = std::str::from_utf8(value).map_err(|_| RejectReason::BadHeader)?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds: i64 = number(whole.as_bytes())?;
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(RejectReason::BadHeader);
    }
    let padded: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    let nanoseconds: u32 = number(padded.as_bytes())?;
    if whole.starts_with('-') && nanoseconds != 0 {
        // The fraction of a negative number counts backwards; that of a timestamp counts forwards.
        return Ok(Timestamp {
            seconds: seconds.saturating_sub(1),
            nanoseconds: 1_000_000_000 - nanoseconds,
        });
    }
    Ok(Timestamp { seconds, nanoseconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relevant_records_are_read_and_others_skipped() {
        let records =
            parse(b"12 path=a/b\n20 mtime=1.50000000\n10 uid=12\n11 size=77\n").expect("well-formed");
        assert_eq!(records.path.as_deref(), Some(b"a/b".as_slice()));
        assert_eq!(records.modified, Some(Timestamp { seconds: 1, nanoseconds: 500_000_000 }));
        assert_eq!(records.size, Some(77));
        assert!(!records.sparse);
    }

    #[test]
    fn a_time_before_1970_counts_its_fraction_forwards() {
        assert_eq!(time(b"-1.25"), Ok(Timestamp { seconds: -2, nanoseconds: 750_000_000 }));
        assert_eq!(time(b"7"), Ok(Timestamp { seconds: 7, nanoseconds: 0 }));
        assert!(time(b"1.x").is_err());
    }

    #[test]
    fn damaged_records_are_refused() {
        for data in [b"5 a\n".as_slice(), b"99 path=x\n", b"x path=x\n", b"10 path=abcd", b"0 \n"] {
            assert!(parse(data).is_err(), "{data:?}");
        }
    }
}
