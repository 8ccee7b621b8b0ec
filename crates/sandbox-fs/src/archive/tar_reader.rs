//! Reads a tar stream one entry at a time, with one header in memory.
//!
//! It supports ustar, pax and GNU long names. An unsupported entry rejects the archive and is named in the error:
//! skipping it silently would be worse. An archive must end with a block of zeros, so that truncation between two
//! entries is detected.

use super::RejectReason;
use super::entry::{EntryData, EntrySource, Kind, PackedEntry};
use super::input::Input;
use super::names::printable;
use super::pax::{self, PaxRecords};
use crate::error::{Error, Result};
use crate::timestamp::Timestamp;

const BLOCK: usize = 512;
/// The limits on extended headers. More or larger ones before one entry are a denial-of-service attempt.
const EXTENSION_BYTES: u64 = 1 << 20;
const EXTENSIONS_IN_A_ROW: usize = 16;
/// How much padding is read after the end, so that the checksums of a compressed stream are verified.
const PADDING_BYTES: u64 = 64 << 20;

/// The extended headers before an entry.
#[derive(Default)]
struct Extensions {
    long_name: Option<Vec<u8>>,
    long_link: Option<Vec<u8>>,
    pax: PaxRecords,
    count: usize,
}

pub(super) struct TarReader<'a> {
    input: Input<'a>,
    /// Unread bytes of the current entry.
    data_left: u64,
    /// The padding bytes after that data, up to the next block.
    padding: u64,
    started: bool,
}

impl<'a> TarReader<'a> {
    pub(super) fn new(input: Input<'a>) -> Self {
        Self { input, data_left: 0, padding: 0, started: false }
    }

    /// The next entry; unread data of the current one is skipped.
    fn next_entry(&mut self) -> Result<Option<PackedEntry>> {
        let mut extensions = Extensions::default();
        loop {
            self.skip_data()?;
            let Some(header) = self.read_header()? else { return Ok(None) };
            let kind = header.as_bytes()[156];
            match kind {
                b'x' | b'g' | b'L' | b'K' => {
                    extensions.count += 1;
                    if extensions.count > EXTENSIONS_IN_A_ROW {
                        return Err(archive_error(RejectReason::ExtensionTooLarge));
                    }
                    let data = self.read_extension(&header)?;
                    match kind {
                        b'x' => extensions.pax = pax::parse(&data).map_err(archive_error)?,
                        b'L' => extensions.long_name = Some(until_nul(data)),
                        b'K' => extensions.long_link = Some(until_nul(data)),
                        // A global header (in practice a comment with a commit) changes no entry.
                        _ => {}
                    }
                }
                _ => return self.entry(&header, extensions).map(Some),
            }
        }
    }

    fn entry(&mut self, header: &tar::Header, extensions: Extensions) -> Result<PackedEntry> {
        let name =
            extensions.long_name.or(extensions.pax.path).unwrap_or_else(|| header.path_bytes().into_owned());
        let reject = |reason| Error::rejected(&printable(&name), reason);
        if extensions.pax.sparse {
            return Err(reject(RejectReason::Sparse));
        }
        let link = || {
            let in_header = || header.link_name_bytes().map(|name| name.into_owned());
            extensions.long_link.or(extensions.pax.link_path).or_else(in_header).unwrap_or_default()
        };
        let kind = match header.as_bytes()[156] {
            // Before ustar, a directory was a file whose name ended in a slash.
            b'\0' if name.ends_with(b"/") => Kind::Directory,
            b'\0' | b'0' | b'7' => {
                let in_header = || header.entry_size().map_err(|_| reject(RejectReason::BadHeader));
                let size = extensions.pax.size.map_or_else(in_header, Ok)?;
                self.begin_data(size);
                Kind::File { size }
            }
            b'1' => Kind::HardLink { target: link() },
            b'2' => Kind::SymbolicLink { target: link() },
            b'5' => Kind::Directory,
            b'3' | b'4' => return Err(reject(RejectReason::Device)),
            b'6' => return Err(reject(RejectReason::Fifo)),
            b'S' => return Err(reject(RejectReason::Sparse)),
            other => return Err(reject(RejectReason::UnknownType(char::from(other)))),
        };
        let mode = header.mode().map_err(|_| reject(RejectReason::BadHeader))?;
        let whole = || header.mtime().ok().and_then(|seconds| i64::try_from(seconds).ok()).unwrap_or(0);
        let modified =
            extensions.pax.modified.unwrap_or_else(|| Timestamp { seconds: whole(), nanoseconds: 0 });
        Ok(PackedEntry { name, kind, mode, modified: Some(modified) })
    }

    fn begin_data(&mut self, size: u64) {
        self.data_left = size;
        // If rounding the size up overflows, the entry is refused anyway: its size is above every limit, or
        // the archive ends early.
        self.padding = size.checked_next_multiple_of(BLOCK as u64).map_or(0, |rounded| rounded - size);
    }

    /// Skips the rest of an entry and the padding to the next block.
    fn skip_data(&mut self) -> Result<()> {
        self.data_left = self.data_left.saturating_add(std::mem::take(&mut self.padding));
        let mut scratch = [0; BLOCK];
        while self.data_left > 0 {
            self.read_data(&mut scratch)?;
        }
        Ok(())
    }

    /// The next header; `None` at the end of the archive, after the stream is read to its end.
    fn read_header(&mut self) -> Result<Option<tar::Header>> {
        let mut header = tar::Header::new_old();
        let filled = self.input.fill(header.as_mut_bytes())?;
        if filled == BLOCK && header.as_bytes().iter().all(|byte| *byte == 0) {
            self.drain()?;
            return Ok(None);
        }
        let started = std::mem::replace(&mut self.started, true);
        if filled == BLOCK && has_valid_checksum(&header) {
            return Ok(Some(header));
        }
        let reason = match (filled, started) {
            (BLOCK, true) => RejectReason::BadHeader,
            (0, _) | (_, true) => RejectReason::Truncated,
            (_, false) => RejectReason::NotAnArchive,
        };
        Err(archive_error(reason))
    }

    fn drain(&mut self) -> Result<()> {
        let mut scratch = vec![0; 1 << 16];
        let mut drained = 0;
        loop {
            let count = self.input.fill(&mut scratch)?;
            drained += count as u64;
            if count < scratch.len() {
                return Ok(());
            }
            if drained > PADDING_BYTES {
                return Err(archive_error(RejectReason::BadHeader));
            }
        }
    }

    fn read_extension(&mut self, header: &tar::Header) -> Result<Vec<u8>> {
        let size = header.entry_size().map_err(|_| archive_error(RejectReason::BadHeader))?;
        if size > EXTENSION_BYTES {
            return Err(archive_error(RejectReason::ExtensionTooLarge));
        }
        self.begin_data(size);
        let mut data = vec![0; usize::try_from(size).unwrap_or(0)];
        self.read_data(&mut data)?;
        Ok(data)
    }
}

impl EntryData for TarReader<'_> {
    fn read_data(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let wanted = usize::try_from(self.data_left).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.input.fill(&mut buffer[..wanted])?;
        if count < wanted {
            return Err(archive_error(RejectReason::Truncated));
        }
        self.data_left -= count as u64;
        Ok(count)
    }
}

impl EntrySource for TarReader<'_> {
    fn for_each(
        &mut self,
        take: &mut dyn FnMut(&PackedEntry, &mut dyn EntryData) -> Result<()>,
    ) -> Result<()> {
        while let Some(entry) = self.next_entry()? {
            take(&entry, self)?;
        }
        Ok(())
    }
}

fn archive_error(reason: RejectReason) -> Error {
    Error::ArchiveRejected { entry: None, reason }
}

fn until_nul(mut data: Vec<u8>) -> Vec<u8> {
    if let Some(end) = data.iter().position(|byte| *byte == 0) {
        data.truncate(end);
    }
    data
}

/// Checks the sum of all header bytes, where the checksum field itself counts as spaces. Some old programs
/// summed signed bytes, which is accepted too.
fn has_valid_checksum(header: &tar::Header) -> bool {
    let Ok(stored) = header.cksum() else { return false };
    let bytes = header.as_bytes();
    let (before, after) = (&bytes[..148], &bytes[156..]);
    let counted = || before.iter().chain(after);
    let unsigned: u32 = counted().map(|byte| u32::from(*byte)).sum::<u32>() + 8 * 32;
    let signed: i64 = counted().map(|byte| i64::from(byte.cast_signed())).sum::<i64>() + 8 * 32;
    stored == unsigned || i64::from(stored) == signed
}
