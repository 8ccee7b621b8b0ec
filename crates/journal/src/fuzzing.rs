//! Internals of this crate that its fuzz target uses. Built only for fuzzing.

use std::fs::File;
use std::io::{self, Write};

use event_log::MemoryAccount;

use crate::blocks::{At, Blocks};
use crate::chunks::{Read, read_checkpoint, read_entries};
use crate::encode::Encoder;
use crate::format::{EntryHead, HEADER, Head, HeaderError, PREFIX, SegmentHeader, seal};
use crate::scan::{scan, with_header};

/// Decodes bytes as a segment, entry by entry, and encodes the entries as a segment again. Returns that segment, and
/// how many bytes are valid according to a scan. Ends early at an entry whose damage only a reader notices. `None` if the
/// bytes are not a segment.
///
/// # Errors
/// System errors.
pub fn rewrite(bytes: &[u8]) -> io::Result<Option<(Vec<u8>, u64)>> {
    let mut file = File::from(rustix::fs::memfd_create("segment", rustix::fs::MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    let size = bytes.len() as u64;
    let Ok(scanned) = scan(&file, size) else { return Ok(None) };
    let mut again = Vec::new();
    let _ = with_header(&file, size, |header| header.encode(&mut again));
    let valid = scanned.segment.length;
    let account = MemoryAccount::new(usize::MAX);
    let (mut place, mut encoder) = (scanned.segment.previous, Encoder::default());
    let mut blocks = Blocks::new(&file, u64::from(scanned.segment.start), valid);
    while let At::Entry(entry) = blocks.next()? {
        let (start, end) = (blocks.position(), blocks.position() + entry.total as u64);
        match entry.head {
            Head::Checkpoint | Head::Closed => {
                let at = again.len();
                entry.head.encode(&mut again);
                let rest = match entry.head {
                    Head::Checkpoint => read_checkpoint(&file, start, end)?.unwrap_or_default(),
                    _ => bytes_between(bytes, start + entry.head.length() as u64, end).to_vec().into(),
                };
                seal(&mut again, at, &rest);
                again.extend_from_slice(&rest);
            }
            Head::Records(_) | Head::Note { .. } => {
                let Read::Entries(entries, next) = read_entries(&file, start, end, 0, &account)? else {
                    break;
                };
                assert_eq!((entries.len(), next), (1, end));
                (_, place) = encoder.encode(&entries, place)?;
                encoder.write(&entries, &mut again)?;
            }
        }
        blocks.skip(&entry);
    }
    assert!(blocks.position() < valid || place == scanned.segment.last);
    Ok(Some((again, valid)))
}

fn bytes_between(bytes: &[u8], start: u64, end: u64) -> &[u8] {
    &bytes[start as usize..end as usize]
}

/// Corrects the checksums in bytes that look like a segment. Otherwise, nearly every random input would be rejected
/// because of a wrong checksum.
pub fn repair(bytes: &mut [u8]) {
    let mut at = HEADER;
    if let Some(lengths) = bytes.get(10..16) {
        let (name, label) = (u16::from_le_bytes([lengths[0], lengths[1]]), &lengths[2..]);
        at += usize::from(name) + usize::from(label[0]) + usize::from(label[1]) * 256;
        let Some(rest) = bytes.get(HEADER..at) else { return };
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&bytes[..HEADER - 4]);
        hasher.update(rest);
        let checksum = hasher.finalize().to_le_bytes();
        bytes[HEADER - 4..HEADER].copy_from_slice(&checksum);
    }
    if matches!(SegmentHeader::decode(bytes), Err(HeaderError::NotASegment)) {
        return;
    }
    while let Some(entry) = bytes.get(at..).and_then(EntryHead::decode) {
        let Some(body) = bytes.get(at + PREFIX..at + entry.total) else { return };
        let checksum = crc32fast::hash(body).to_le_bytes();
        bytes[at + 4..at + PREFIX].copy_from_slice(&checksum);
        at += entry.total;
    }
}
