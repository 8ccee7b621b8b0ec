//! Iterates over the entries of a segment by reading their heads. The payload of a large entry is read only on
//! demand.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::format::{EntryHead, LONGEST_HEAD, PREFIX};

/// How many bytes are read at a time.
const BLOCK: usize = 64 << 10;

/// What is found at a position of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    Entry(EntryHead),
    /// Bytes that are not a complete entry.
    Bad,
    End,
}

/// Iterates over the entries between two positions of a file, which it reads in blocks.
#[derive(Debug)]
pub(crate) struct Blocks<'f> {
    file: &'f File,
    position: u64,
    end: u64,
    block: Vec<u8>,
    /// The block's offset in the file.
    block_at: u64,
}

impl<'f> Blocks<'f> {
    pub(crate) const fn new(file: &'f File, position: u64, end: u64) -> Self {
        Self { file, position, end, block: Vec::new(), block_at: 0 }
    }

    /// The offset of the next entry in the file.
    pub(crate) const fn position(&self) -> u64 {
        self.position
    }

    /// Continues at an offset, where an entry may or may not start.
    pub(crate) const fn seek(&mut self, position: u64) {
        self.position = position;
    }

    /// The head of the entry at the current position, without comparing its checksum. Does not move.
    pub(crate) fn next(&mut self) -> io::Result<At> {
        let (position, end) = (self.position, self.end);
        if position >= end {
            return Ok(At::End);
        }
        let bytes = match self.bytes(position, LONGEST_HEAD) {
            // Another program truncated the file.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(At::Bad),
            bytes => bytes?,
        };
        let entry = EntryHead::decode(bytes).filter(|entry| entry.total as u64 <= end - position);
        Ok(entry.map_or(At::Bad, At::Entry))
    }

    /// Moves past an entry that `next` returned.
    pub(crate) const fn skip(&mut self, entry: &EntryHead) {
        self.position += entry.total as u64;
    }

    /// True if the checksum of an entry that `next` returned is right.
    pub(crate) fn is_whole(&mut self, entry: &EntryHead) -> io::Result<bool> {
        let end = self.position + entry.total as u64;
        let mut at = self.position + PREFIX as u64;
        let mut hasher = crc32fast::Hasher::new();
        while at < end {
            let bytes = self.bytes(at, narrow(end - at).min(BLOCK))?;
            hasher.update(bytes);
            at += bytes.len() as u64;
        }
        Ok(hasher.finalize() == entry.checksum)
    }

    /// Bytes from offset `at`: `length` of them (at most one block), or fewer at the end of the range, but at least
    /// one.
    pub(crate) fn bytes(&mut self, at: u64, length: usize) -> io::Result<&[u8]> {
        let length = narrow(self.end - at).min(length);
        let is_here = at >= self.block_at && at + length as u64 <= self.block_at + self.block.len() as u64;
        if !is_here {
            self.block.resize(narrow(self.end - at).min(BLOCK), 0);
            self.block_at = at;
            if let Err(error) = self.file.read_exact_at(&mut self.block, at) {
                self.block.clear();
                return Err(error);
            }
        }
        let start = narrow(at - self.block_at);
        Ok(&self.block[start..start + length])
    }
}

/// Converts a length to `usize`. Where the value does not fit, the callers limit it to the size of a block anyway.
fn narrow(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}
