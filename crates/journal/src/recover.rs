//! Finds the streams of an earlier server, and truncates or sets aside files that cannot be served.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use rustix::fs::{FlockOperation, flock};

use crate::catalogue::{Catalogue, Known, SCHEMA_VERSION, Unreadable};
use crate::error::{OpenError, SetAside};
use crate::format::{SegmentHeader, VERSION};
use crate::journal::create_directory;
use crate::scan::{Scanned, Tail, Unusable, scan, with_header};
use crate::segment::{Segment, file_name, number_of, stream_of};
use crate::stream::{Stream, StreamId};

/// The result of [`recover`].
#[derive(Debug, Default)]
pub(crate) struct Recovered {
    pub(crate) streams: Vec<Stream>,
    pub(crate) set_aside: Vec<SetAside>,
    pub(crate) catalogue: Option<Catalogue>,
}

/// Creates the directory and takes its lock.
pub(crate) fn lock_directory(directory: &Path) -> Result<File, OpenError> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(OpenError::io(directory))?;
    let path = directory.join("lock");
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(OpenError::io(&path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(error) if error == rustix::io::Errno::WOULDBLOCK => {
            Err(OpenError::Locked { directory: directory.to_owned() })
        }
        Err(error) => Err(OpenError::io(&path)(error.into())),
    }
}

/// The files of one stream.
struct Files {
    id: StreamId,
    directory: PathBuf,
    /// Number and path of each segment, oldest first.
    segments: Vec<(u64, PathBuf)>,
}

/// Reads all streams. Changes nothing if a file has a newer format.
pub(crate) fn recover(directory: &Path, streams_directory: &Path) -> Result<Recovered, OpenError> {
    match create_directory(streams_directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(OpenError::io(streams_directory)(error));
        }
        _ => {}
    }
    let all = list(streams_directory)?;
    for (_, path) in all.iter().flat_map(|files| &files.segments) {
        check_version(path)?;
    }
    let set_aside = SetAsideDirectory(directory.join("set-aside"));
    let mut recovered = Recovered::default();
    recovered.catalogue = open_catalogue(directory, &set_aside, &mut recovered.set_aside)?;
    for files in all {
        let known =
            recovered.catalogue.as_ref().map(|catalogue| catalogue.find(&files.id)).unwrap_or_default();
        recover_stream(files, &known, &set_aside, &mut recovered)?;
    }
    Ok(recovered)
}

fn list(streams_directory: &Path) -> Result<Vec<Files>, OpenError> {
    let mut all = Vec::new();
    for path in entries(streams_directory)? {
        let id = path.file_name().and_then(|name| name.to_str()).and_then(stream_of);
        let Some(id) = id.filter(|_| path.is_dir()) else { continue };
        let mut segments: Vec<_> = entries(&path)?
            .into_iter()
            .filter_map(|path| Some((number_of(path.file_name()?.to_str()?)?, path)))
            .collect();
        segments.sort();
        all.push(Files { id, directory: path, segments });
    }
    Ok(all)
}

fn check_version(path: &Path) -> Result<(), OpenError> {
    let file = File::open(path).map_err(OpenError::io(path))?;
    let size = file.metadata().map_err(OpenError::io(path))?.len();
    match with_header(&file, size, |_| ()) {
        Err(Unusable::Newer(found)) => Err(newer(path, u32::from(found), u32::from(VERSION))),
        // Every other problem is reported later, when the whole segment is read.
        _ => Ok(()),
    }
}

fn newer(path: &Path, found: u32, supported: u32) -> OpenError {
    OpenError::NewerFormat { path: path.to_owned(), found, supported }
}

/// Opens the catalogue; sets a corrupt one aside and creates a new one. Returns `None` if that fails: without a
/// catalogue, every segment is read.
fn open_catalogue(
    directory: &Path,
    set_aside: &SetAsideDirectory,
    all_set_aside: &mut Vec<SetAside>,
) -> Result<Option<Catalogue>, OpenError> {
    let path = directory.join("catalogue.sqlite");
    let mut attempt = Catalogue::open(&path);
    if let Err(Unreadable::Corrupt(reason)) = attempt {
        for suffix in ["", "-wal", "-shm"] {
            let name = format!("catalogue.sqlite{suffix}");
            let (from, to) = (directory.join(&name), set_aside.destination(&name)?);
            match std::fs::rename(&from, &to) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(OpenError::io(&from)(error));
                }
                Ok(()) if suffix.is_empty() => {
                    all_set_aside.push(SetAside { path: to, reason: reason.clone() });
                }
                _ => {}
            }
        }
        attempt = Catalogue::open(&path);
    }
    match attempt {
        Ok(catalogue) => Ok(Some(catalogue)),
        Err(Unreadable::Newer(found)) => Err(newer(&path, found, SCHEMA_VERSION.unsigned_abs() as u32)),
        Err(Unreadable::Corrupt(error)) => {
            tracing::warn!(%error, "the journal has no catalogue");
            Ok(None)
        }
        Err(Unreadable::Io(error)) => {
            tracing::warn!(%error, "the journal has no catalogue");
            Ok(None)
        }
    }
}

fn recover_stream(
    files: Files,
    known: &Known,
    set_aside: &SetAsideDirectory,
    recovered: &mut Recovered,
) -> Result<(), OpenError> {
    let (mut segments, mut label, mut is_closed): (Vec<Segment>, _, _) = (Vec::new(), Bytes::new(), false);
    let mut is_as_known = files.segments.len() == known.segments.len();
    // Newest first, to find the segment that a stream ends with. If the stream was not closed, this segment is always
    // read: its last entry may be incomplete, and nothing may be appended after damage.
    for (number, path) in files.segments.iter().rev() {
        let known_segment = known.segments.iter().find(|known| known.number == *number);
        let known_segment = known_segment.filter(|_| known.is_closed || !segments.is_empty());
        let outcome =
            recover_segment(&files.id, *number, path, known_segment).map_err(OpenError::io(path))?;
        let limit = segments.last().map_or(u64::MAX, |segment| segment.previous.order);
        let usable = match outcome {
            Outcome::Usable(usable) if usable.segment.last.order <= limit => usable,
            Outcome::Usable(_) => {
                let reason = "its order numbers overlap with those of the next segment";
                recovered.set_aside.push(set_aside.take(&files.id, *number, path, reason)?);
                continue;
            }
            Outcome::Torn => {
                std::fs::remove_file(path).map_err(OpenError::io(path))?;
                continue;
            }
            Outcome::Unusable(reason) => {
                recovered.set_aside.push(set_aside.take(&files.id, *number, path, reason)?);
                continue;
            }
        };
        if let Tail::Corrupt(reason) = usable.tail {
            recovered.set_aside.push(set_aside.copy(&files.id, *number, path, reason)?);
        }
        if usable.tail != Tail::Nothing {
            cut_off(path, usable.segment.length).map_err(OpenError::io(path))?;
        }
        is_as_known &= known.segments.contains(&usable.segment);
        if segments.is_empty() {
            label = usable.label;
            is_closed = usable.is_closed.unwrap_or(known.is_closed);
        }
        segments.push(usable.segment);
    }
    if segments.is_empty() {
        // The stream was created, but nothing was ever written to it.
        let _ = std::fs::remove_dir(&files.directory);
        return Ok(());
    }
    segments.reverse();
    segments.shrink_to_fit();
    is_as_known &= is_closed == known.is_closed;
    recovered.streams.push(Stream::new(files.id, label, segments, is_closed).catalogued(is_as_known));
    Ok(())
}

enum Outcome {
    Usable(Usable),
    /// The segment's header or checkpoint was not written completely.
    Torn,
    Unusable(&'static str),
}

struct Usable {
    segment: Segment,
    label: Bytes,
    /// `None` if the file was not read, so that only the catalogue knows.
    is_closed: Option<bool>,
    tail: Tail,
}

/// Determines what can be served from a segment. Reads only its header if the catalogue knows it with the same
/// length.
fn recover_segment(id: &StreamId, number: u64, path: &Path, known: Option<&Segment>) -> io::Result<Outcome> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    if let Some(known) = known.filter(|known| known.length == size) {
        let as_known = with_header(&file, size, |header| {
            let is_same = belongs(header, id, number)
                && header.previous == known.previous
                && header.length() as u64 == u64::from(known.start);
            is_same.then(|| Bytes::copy_from_slice(header.label))
        });
        if let Ok(Some(label)) = as_known {
            let usable = Usable { segment: *known, label, is_closed: None, tail: Tail::Nothing };
            return Ok(Outcome::Usable(usable));
        }
    }
    if let Ok(false) = with_header(&file, size, |header| belongs(header, id, number)) {
        return Ok(Outcome::Unusable("it belongs to another stream"));
    }
    let Scanned { label, segment, is_closed, has_checkpoint, tail } = match scan(&file, size) {
        Ok(scanned) => scanned,
        Err(Unusable::Torn) => return Ok(Outcome::Torn),
        Err(Unusable::Corrupt(reason)) => return Ok(Outcome::Unusable(reason)),
        Err(Unusable::Newer(_)) => return Ok(Outcome::Unusable("it has a newer format")),
        Err(Unusable::Io(error)) => return Err(error),
    };
    // Only the first segment of a stream starts without a checkpoint.
    Ok(match tail {
        Tail::Corrupt(reason) if number > 1 && !has_checkpoint => Outcome::Unusable(reason),
        _ if number > 1 && !has_checkpoint => Outcome::Torn,
        tail => Outcome::Usable(Usable { segment, label, is_closed: Some(is_closed), tail }),
    })
}

fn belongs(header: &SegmentHeader<'_>, id: &StreamId, number: u64) -> bool {
    header.number == number && *header.name == *id.name && header.first_sequence == id.first_sequence
}

/// The directory for damaged files. It is created when the first file is set aside.
struct SetAsideDirectory(PathBuf);

impl SetAsideDirectory {
    /// Moves a segment that cannot be served at all.
    fn take(&self, id: &StreamId, number: u64, path: &Path, reason: &str) -> Result<SetAside, OpenError> {
        let to = self.destination(&segment_name(id, number))?;
        std::fs::rename(path, &to).map_err(OpenError::io(path))?;
        Ok(SetAside { path: to, reason: reason.to_owned() })
    }

    /// Copies a segment that is about to be truncated.
    fn copy(&self, id: &StreamId, number: u64, path: &Path, reason: &str) -> Result<SetAside, OpenError> {
        let to = self.destination(&segment_name(id, number))?;
        std::fs::copy(path, &to).map_err(OpenError::io(&to))?;
        Ok(SetAside { path: to, reason: reason.to_owned() })
    }

    /// An unused path for a damaged file.
    fn destination(&self, name: &str) -> Result<PathBuf, OpenError> {
        let Self(directory) = self;
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(OpenError::io(directory))?;
        let attempts = (0..u32::MAX).map(|attempt| match attempt {
            0 => directory.join(name),
            _ => directory.join(format!("{name}.{attempt}")),
        });
        let free = attempts.into_iter().find(|path| !path.exists());
        free.ok_or_else(|| OpenError::io(directory)(io::ErrorKind::AlreadyExists.into()))
    }
}

fn segment_name(id: &StreamId, number: u64) -> String {
    format!("{}-{}-{}", id.first_sequence, id.name, file_name(number))
}

fn cut_off(path: &Path, length: u64) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.set_len(length)
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, OpenError> {
    let read = std::fs::read_dir(directory).map_err(OpenError::io(directory))?;
    read.map(|entry| Ok(entry.map_err(OpenError::io(directory))?.path())).collect()
}
