//! What is kept in memory about a segment, and the names of files and directories.

use std::path::{Path, PathBuf};

use crate::format::Head;
use crate::place::Place;
use crate::stream::StreamId;

/// What is kept in memory about a segment of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) number: u64,
    /// The writer's place when it started the segment.
    pub(crate) previous: Place,
    /// The place after the segment's last entry.
    pub(crate) last: Place,
    /// The order number of the first record or note; 0 if the segment has none.
    pub(crate) first_order: u64,
    /// The time of the first record if no note comes before it; otherwise the time when the segment was created.
    pub(crate) first_at_ms: u64,
    /// The time of the last record; if there is none, the time when the segment was created.
    pub(crate) last_at_ms: u64,
    /// The number of bytes up to the end of the last complete entry.
    pub(crate) length: u64,
    /// The offset of the first entry, after the header.
    pub(crate) start: u32,
}

/// The assumed size of a block of the disk: a file occupies whole blocks.
const BLOCK: u64 = 4096;

impl Segment {
    /// Updates the fields for an entry that was appended, and adds `bytes` to the length.
    pub(crate) const fn add(&mut self, head: &Head, bytes: usize) {
        if let Head::Records(records) = head {
            if self.first_order == 0 {
                self.first_at_ms = records.at_ms;
            }
            self.last_at_ms = records.at_ms;
        }
        if self.first_order == 0
            && let Some(order) = head.first_order()
        {
            self.first_order = order;
        }
        self.last = head.advance(self.last);
        self.length += bytes as u64;
    }

    /// How many bytes the segment occupies on the disk.
    pub(crate) const fn on_disk(&self) -> u64 {
        self.length.div_ceil(BLOCK) * BLOCK
    }
}

/// The name of a segment's file.
pub(crate) fn file_name(number: u64) -> String {
    format!("{number:016}.seg")
}

/// The number of the segment with this file name. `None` if the name is not that of a segment.
pub(crate) fn number_of(file_name: &str) -> Option<u64> {
    let number = file_name.strip_suffix(".seg")?.parse().ok()?;
    (self::file_name(number) == file_name).then_some(number)
}

/// The directory of a stream.
pub(crate) fn stream_directory(streams: &Path, id: &StreamId) -> PathBuf {
    streams.join(format!("{}-{}", id.first_sequence, id.name))
}

/// The id of the stream whose directory has this name. `None` if the name is not that of a stream's directory.
pub(crate) fn stream_of(directory_name: &str) -> Option<StreamId> {
    let (first_sequence, name) = directory_name.split_once('-')?;
    let number = first_sequence.parse::<u64>().ok()?;
    let is_usual = number.to_string() == first_sequence && is_name(name);
    is_usual.then(|| StreamId { name: name.into(), first_sequence: number })
}

/// True if a stream may have this name: it can be part of a file name on every system.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=200).contains(&name.len()) && !name.chars().any(|each| each == '/' || each.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_parsed_back() {
        let id = StreamId { name: "a-b.c~1".into(), first_sequence: 17 };
        let directory = stream_directory(Path::new("streams"), &id);
        assert_eq!(directory, Path::new("streams/17-a-b.c~1"));
        assert_eq!(stream_of("17-a-b.c~1"), Some(id));
        for other in ["17", "-x", "017-x", "+1-x", "17-", "x-17", "17-a\n"] {
            assert_eq!(stream_of(other), None, "{other}");
        }
        assert_eq!(file_name(12), "0000000000000012.seg");
        assert_eq!(number_of("0000000000000012.seg"), Some(12));
        for other in ["12.seg", "0000000000000012", "000000000000001x.seg", "+000000000000012.seg"] {
            assert_eq!(number_of(other), None, "{other}");
        }
    }
}
