//! Walks the entries of a segment by their heads, and reads no more of large ones than is asked for.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::format::{EntryHead, LONGEST_HEAD, PREFIX};

/// How much is read at a time.
const BLOCK: usize = 64 << 10;

/// What stands at a place of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    Entry(EntryHead),
    /// Something that is not an entry, or not a whole one.
    Bad,
    End,
}

/// A walk over the entries between two places of a file.
#[derive(Debug)]
pub(crate) struct Blocks<'f> {
    file: &'f File,
    position: u64,
    end: u64,
    block: Vec<u8>,
    /// Where the block starts in the file.
    block_at: u64,
}

impl<'f> Blocks<'f> {
    pub(crate) const fn new(file: &'f File, position: u64, end: u64) -> Self {
        Self { file, position, end, block: Vec::new(), block_at: 0 }
    }

    /// Where the next entry starts.
    pub(crate) const fn position(&self) -> u64 {
        self.position
    }

    /// Goes to a place where an entry may start.
    pub(crate) const fn seek(&mut self, position: u64) {
        self.position = position;
    }

    /// What comes next. Its checksum was not compared.
    pub(crate) fn next(&mut self) -> io::Result<At> {
        let (position, end) = (self.position, self.end);
        if position >= end {
            return Ok(At::End);
        }
        let bytes = match self.bytes(position, LONGEST_HEAD) {
            // The file was cut off by something else.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(At::Bad),
            bytes => bytes?,
        };
        let entry = EntryHead::decode(bytes).filter(|entry| entry.total as u64 <= end - position);
        Ok(entry.map_or(At::Bad, At::Entry))
    }

    /// Goes behind an entry that came next.
    pub(crate) const fn skip(&mut self, entry: &EntryHead) {
        self.position += entry.total as u64;
    }

    /// True when the checksum of the entry that came next is right.
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

    /// The bytes at a place, as many as there are up to `length`, which is at most a block. At least one.
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

/// Lengths and places in a segment fit into memory, or the system could not map them.
fn narrow(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}
