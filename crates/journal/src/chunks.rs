//! Decodes whole entries of a segment. Many small entries share one block of memory, which is read with one call.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use event_log::{ChunkNumbers, MemoryAccount, RecordInfo, Reservation, Run, Tag};

use crate::blocks::Blocks;
use crate::encode::Entry;
use crate::format::{EntryHead, Head, LONGEST_HEAD, PREFIX, RecordsHead, SLOT, flag, u32_at};

/// The minimum number of bytes per read, since reading fewer is hardly cheaper.
const MIN_READ: usize = 4 << 10;

/// The result of [`read_entries`].
pub(crate) enum Read {
    /// Entries, and the offset of the next one.
    Entries(Vec<Entry>, u64),
    /// The bytes at the start are not a valid entry.
    Damaged,
}

/// A block of memory that entries share. It is charged to the memory account until no entry uses it any more.
struct Block {
    bytes: Vec<u8>,
    _charge: Reservation,
}

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads entries between two offsets of a segment: about `max_bytes`, but at least one if there is any. Skips
/// checkpoints and the mark that closes a stream.
pub(crate) fn read_entries(
    file: &File,
    start: u64,
    end: u64,
    max_bytes: usize,
    account: &Arc<MemoryAccount>,
) -> io::Result<Read> {
    let mut wanted = max_bytes.max(MIN_READ);
    loop {
        let available = usize::try_from(end - start).unwrap_or(usize::MAX);
        let block = match read_block(file, start, available.min(wanted), account) {
            // Another program truncated the file.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Read::Damaged),
            block => block?,
        };
        let (mut entries, mut at) = (Vec::new(), 0);
        let is_end = block.len() == available;
        while at < block.len() {
            let rest = block.slice(at..);
            let entry = match EntryHead::decode(&rest) {
                Some(entry) => entry,
                // The block ends within the head.
                None if rest.len() < LONGEST_HEAD && !is_end => break,
                None => return Ok(damaged(entries, start + at as u64)),
            };
            if entry.total > rest.len() {
                if entry.total > available - at {
                    return Ok(damaged(entries, start + at as u64));
                }
                if at == 0 {
                    wanted = entry.total;
                }
                break;
            }
            match decode(&entry, &rest.slice(..entry.total), account) {
                Some(decoded) => entries.extend(decoded),
                None => return Ok(damaged(entries, start + at as u64)),
            }
            at += entry.total;
        }
        if at > 0 || available == 0 {
            return Ok(Read::Entries(entries, start + at as u64));
        }
    }
}

/// The result for damage at `at`: the entries before it if there are any, so that the caller gets them first.
fn damaged(entries: Vec<Entry>, at: u64) -> Read {
    if entries.is_empty() { Read::Damaged } else { Read::Entries(entries, at) }
}

fn read_block(file: &File, start: u64, length: usize, account: &Arc<MemoryAccount>) -> io::Result<Bytes> {
    let mut bytes = vec![0; length];
    let charge = Reservation::unrefused(account, length);
    file.read_exact_at(&mut bytes, start)?;
    Ok(Bytes::from_owner(Block { bytes, _charge: charge }))
}

/// Decodes an entry. `None` if it is damaged, `Some(None)` for entries that are not returned to readers: a
/// checkpoint, or the mark that closes the stream.
#[expect(
    clippy::option_option,
    reason = "`None` is damage, `Some(None)` is an entry that readers do not get"
)]
fn decode(entry: &EntryHead, bytes: &Bytes, account: &Arc<MemoryAccount>) -> Option<Option<Entry>> {
    if crc32fast::hash(&bytes[PREFIX..]) != entry.checksum {
        return None;
    }
    let payload = bytes.slice(entry.head.length() + entry.head.slots()..);
    Some(match entry.head {
        Head::Checkpoint | Head::Closed => None,
        Head::Note { tag, order } => Some(Entry::Note { tag, order, bytes: payload }),
        Head::Records(head) => {
            let slots = &bytes[entry.head.length()..entry.head.length() + entry.head.slots()];
            Some(Entry::Records {
                log: head.log,
                run: run(&head, slots, payload, account)?,
                stream_offset: head.stream_offset,
            })
        }
    })
}

fn run(head: &RecordsHead, slots: &[u8], payload: Bytes, account: &Arc<MemoryAccount>) -> Option<Run> {
    let numbers = ChunkNumbers {
        at_ms: head.at_ms,
        first_order: head.first_order,
        sequence_before: head.sequence_before,
    };
    let records = slots.chunks_exact(SLOT).map(slot).collect::<Option<Vec<_>>>()?;
    let run = Run::of_charged_bytes(payload, records, numbers, account)?;
    let last = run.last();
    (last.sequence == head.last_sequence() && last.is_numbered == head.last_is_numbered).then_some(run)
}

fn slot(bytes: &[u8]) -> Option<(RecordInfo, u32)> {
    let info = RecordInfo { tag: Tag(bytes[0]), is_numbered: flag(bytes[1])?, mark: u32_at(bytes, 2)? };
    Some((info, u32_at(bytes, 6)?))
}

/// How many of an entry's records a reader has seen if it has seen everything up to `sequence`. `at` is the offset of
/// the entry's slots.
pub(crate) fn count_seen(
    blocks: &mut Blocks<'_>,
    at: u64,
    head: &RecordsHead,
    sequence: u64,
) -> io::Result<u64> {
    let (mut seen, mut current) = (0, head.sequence_before);
    while seen < u64::from(head.count) {
        let slot = blocks.bytes(at + seen * SLOT as u64, SLOT)?;
        let is_numbered = slot.get(1).is_some_and(|byte| *byte != 0);
        current += u64::from(is_numbered);
        if current > sequence || (current == sequence && !is_numbered) {
            break;
        }
        seen += 1;
    }
    Ok(seen)
}

/// Reads the checkpoint at an offset. `None` if there is no valid checkpoint.
pub(crate) fn read_checkpoint(file: &File, at: u64, end: u64) -> io::Result<Option<Bytes>> {
    let mut blocks = Blocks::new(file, at, end);
    let crate::blocks::At::Entry(entry) = blocks.next()? else { return Ok(None) };
    if entry.head != Head::Checkpoint || !blocks.is_whole(&entry)? {
        return Ok(None);
    }
    let mut bytes = vec![0; entry.total - entry.head.length()];
    file.read_exact_at(&mut bytes, at + entry.head.length() as u64)?;
    Ok(Some(bytes.into()))
}
