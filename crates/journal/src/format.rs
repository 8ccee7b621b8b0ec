//! The binary format of a segment: a header, then entries. The README of this crate has tables of it.
//!
//! All numbers are little-endian. This module does no input or output.

use crate::OUTPUT_LOG;
use crate::place::Place;

pub(crate) const MAGIC: [u8; 8] = *b"SAJOURNL";
/// The format version that is written, and the newest that can be read.
pub(crate) const VERSION: u16 = 1;
/// The length of a segment's header without the name and the label.
pub(crate) const HEADER: usize = 64;
/// The size of the two fields that start an entry: its length and its checksum. The length does not include them.
pub(crate) const PREFIX: usize = 8;
/// The size of the longest head of an entry: that of an entry with records, without the slots.
pub(crate) const LONGEST_HEAD: usize = RECORDS_HEAD;
/// The size of a slot, which describes one record of an entry.
pub(crate) const SLOT: usize = 10;
/// The maximum size of an entry. Real entries are far smaller; the limit catches a length field with random bytes.
pub(crate) const MAX_ENTRY: usize = 1 << 28;
pub(crate) const MAX_LABEL: usize = 64 << 10;

const RECORDS_HEAD: usize = 52;
const NOTE_HEAD: usize = 18;
const PLAIN_HEAD: usize = 9;

const RECORDS: u8 = 1;
const NOTE: u8 = 2;
const CHECKPOINT: u8 = 3;
const CLOSED: u8 = 4;

/// The header of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SegmentHeader<'a> {
    pub(crate) name: &'a str,
    pub(crate) label: &'a [u8],
    pub(crate) first_sequence: u64,
    pub(crate) number: u64,
    pub(crate) created_at_ms: u64,
    /// The writer's place in the stream when it started this segment.
    pub(crate) previous: Place,
}

/// Why bytes are not the header of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderError {
    /// There are too few bytes. Holds how many are needed at least.
    Short(usize),
    NotASegment,
    Newer(u16),
    Corrupt,
}

impl<'a> SegmentHeader<'a> {
    pub(crate) fn length(&self) -> usize {
        HEADER + self.name.len() + self.label.len()
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        // Both lengths are limited when a stream is created, so the casts lose nothing.
        out.extend_from_slice(&(self.name.len() as u16).to_le_bytes());
        out.extend_from_slice(&(self.label.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.first_sequence.to_le_bytes());
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.previous.order.to_le_bytes());
        out.extend_from_slice(&self.previous.sequence.to_le_bytes());
        out.extend_from_slice(&self.created_at_ms.to_le_bytes());
        out.extend_from_slice(&[u8::from(self.previous.is_numbered), 0, 0, 0]);
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&out[start..]);
        hasher.update(self.name.as_bytes());
        hasher.update(self.label);
        out.extend_from_slice(&hasher.finalize().to_le_bytes());
        out.extend_from_slice(self.name.as_bytes());
        out.extend_from_slice(self.label);
    }

    /// Decodes a header. Reads the version first, so that a newer format is recognised whatever else it changed.
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, HeaderError> {
        let known = &bytes[..bytes.len().min(MAGIC.len())];
        if !MAGIC.starts_with(known) {
            return Err(HeaderError::NotASegment);
        }
        let version = u16_at(bytes, 8).ok_or(HeaderError::Short(HEADER))?;
        if version > VERSION {
            return Err(HeaderError::Newer(version));
        }
        let fixed = bytes.get(..HEADER).ok_or(HeaderError::Short(HEADER))?;
        let (name_length, label_length) = (u16_at(fixed, 10), u32_at(fixed, 12));
        let (Some(name_length), Some(label_length)) = (name_length, label_length) else {
            return Err(HeaderError::Corrupt);
        };
        if label_length as usize > MAX_LABEL {
            return Err(HeaderError::Corrupt);
        }
        let label_start = HEADER + usize::from(name_length);
        let end = label_start + label_length as usize;
        let rest = bytes.get(HEADER..end).ok_or(HeaderError::Short(end))?;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&fixed[..HEADER - 4]);
        hasher.update(rest);
        let number = |at| u64_at(fixed, at).ok_or(HeaderError::Corrupt);
        let &[is_numbered, 0, 0, 0] = &fixed[56..60] else { return Err(HeaderError::Corrupt) };
        let is_numbered = flag(is_numbered).ok_or(HeaderError::Corrupt)?;
        let name = std::str::from_utf8(&bytes[HEADER..label_start]).map_err(|_| HeaderError::Corrupt)?;
        if u32_at(fixed, HEADER - 4) != Some(hasher.finalize()) {
            return Err(HeaderError::Corrupt);
        }
        Ok(Self {
            name,
            label: &bytes[label_start..end],
            first_sequence: number(16)?,
            number: number(24)?,
            created_at_ms: number(48)?,
            previous: Place { order: number(32)?, sequence: number(40)?, is_numbered },
        })
    }
}

/// The decoded head of an entry: its part of fixed size, which comes before slots and payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Head {
    Records(RecordsHead),
    Note { tag: u8, order: u64 },
    Checkpoint,
    Closed,
}

/// The head of an entry with records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordsHead {
    pub(crate) log: u8,
    pub(crate) last_is_numbered: bool,
    pub(crate) first_order: u64,
    pub(crate) sequence_before: u64,
    pub(crate) at_ms: u64,
    pub(crate) stream_offset: u64,
    pub(crate) count: u32,
    pub(crate) numbered: u32,
}

impl RecordsHead {
    pub(crate) const fn last_order(&self) -> u64 {
        self.first_order + self.count as u64 - 1
    }

    pub(crate) const fn last_sequence(&self) -> u64 {
        self.sequence_before + self.numbered as u64
    }

    /// True if the numbers fit together, and `last_order` and `last_sequence` cannot overflow.
    fn is_sound(&self) -> bool {
        self.count > 0
            && self.numbered <= self.count
            && self.first_order > 0
            && self.first_order.checked_add(u64::from(self.count)).is_some()
            && self.sequence_before.checked_add(u64::from(self.numbered)).is_some()
    }
}

impl Head {
    /// The size of the head, including the length and checksum before it.
    pub(crate) const fn length(&self) -> usize {
        match self {
            Self::Records(_) => RECORDS_HEAD,
            Self::Note { .. } => NOTE_HEAD,
            Self::Checkpoint | Self::Closed => PLAIN_HEAD,
        }
    }

    /// The size of all slots, which follow the head.
    pub(crate) const fn slots(&self) -> usize {
        match self {
            Self::Records(head) => head.count as usize * SLOT,
            _ => 0,
        }
    }

    /// The place after the entry, given the place before it.
    pub(crate) const fn advance(&self, place: Place) -> Place {
        match *self {
            Self::Records(ref head) if head.log == OUTPUT_LOG => Place {
                order: head.last_order(),
                sequence: head.last_sequence(),
                is_numbered: head.last_is_numbered,
            },
            Self::Records(ref head) => Place { order: head.last_order(), ..place },
            Self::Note { order, .. } => Place { order, ..place },
            Self::Checkpoint | Self::Closed => place,
        }
    }

    /// The order number of the entry's first record or of its note. `None` for other entries.
    pub(crate) const fn first_order(&self) -> Option<u64> {
        match *self {
            Self::Records(ref head) => Some(head.first_order),
            Self::Note { order, .. } => Some(order),
            Self::Checkpoint | Self::Closed => None,
        }
    }

    /// Appends the head, with zeros for length and checksum, which [`seal`] writes.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[0; PREFIX]);
        match self {
            Self::Records(head) => {
                out.extend_from_slice(&[RECORDS, head.log, u8::from(head.last_is_numbered), 0]);
                out.extend_from_slice(&head.first_order.to_le_bytes());
                out.extend_from_slice(&head.sequence_before.to_le_bytes());
                out.extend_from_slice(&head.at_ms.to_le_bytes());
                out.extend_from_slice(&head.stream_offset.to_le_bytes());
                out.extend_from_slice(&head.count.to_le_bytes());
                out.extend_from_slice(&head.numbered.to_le_bytes());
            }
            Self::Note { tag, order } => {
                out.extend_from_slice(&[NOTE, *tag]);
                out.extend_from_slice(&order.to_le_bytes());
            }
            Self::Checkpoint => out.push(CHECKPOINT),
            Self::Closed => out.push(CLOSED),
        }
    }

    /// Decodes a head. `None` if it is invalid or `bytes` is too short for it.
    fn decode(bytes: &[u8]) -> Option<Self> {
        match *bytes.get(PREFIX)? {
            RECORDS => {
                let &[log, last_is_numbered, 0] = bytes.get(9..)?.first_chunk()? else { return None };
                let head = RecordsHead {
                    log,
                    last_is_numbered: flag(last_is_numbered)?,
                    first_order: u64_at(bytes, 12)?,
                    sequence_before: u64_at(bytes, 20)?,
                    at_ms: u64_at(bytes, 28)?,
                    stream_offset: u64_at(bytes, 36)?,
                    count: u32_at(bytes, 44)?,
                    numbered: u32_at(bytes, 48)?,
                };
                head.is_sound().then_some(Self::Records(head))
            }
            NOTE => Some(Self::Note { tag: *bytes.get(9)?, order: u64_at(bytes, 10)? }),
            CHECKPOINT => Some(Self::Checkpoint),
            CLOSED => Some(Self::Closed),
            _ => None,
        }
    }
}

/// The head of an entry with its length and checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntryHead {
    pub(crate) head: Head,
    /// The size of the whole entry, including its length and checksum.
    pub(crate) total: usize,
    pub(crate) checksum: u32,
}

impl EntryHead {
    /// Decodes the start of an entry. `bytes` should hold [`LONGEST_HEAD`] bytes, or everything up to the end of the
    /// segment if that is less.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let length = u32_at(bytes, 0)? as usize;
        let checksum = u32_at(bytes, 4)?;
        let head = Head::decode(bytes)?;
        let total = length + PREFIX;
        let is_possible = length <= MAX_ENTRY && total >= head.length() + head.slots();
        is_possible.then_some(Self { head, total, checksum })
    }
}

/// Writes the length and the checksum of an entry. The entry's head starts at `start` in `out`; after the end of
/// `out` the entry continues with `rest`.
pub(crate) fn seal(out: &mut [u8], start: usize, rest: &[u8]) {
    let body = start + PREFIX;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&out[body..]);
    hasher.update(rest);
    // Longer entries were refused earlier, so the cast loses nothing.
    let length = (out.len() - body + rest.len()) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    out[start + 4..body].copy_from_slice(&hasher.finalize().to_le_bytes());
}

/// Decodes a flag. Only 0 and 1 are accepted: if other bytes meant the same, damage could go unnoticed.
pub(crate) const fn flag(byte: u8) -> Option<bool> {
    match byte {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
}
