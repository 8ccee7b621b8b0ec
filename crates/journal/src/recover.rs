//! Finds the streams of an earlier server, and truncates or sets aside files that cannot be served.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use rustix::fs::{FlockOperation, flock};

use crate::error::{OpenError, SetAside};
use crate::format::VERSION;
use crate::journal::create_directory;
use crate::scan::{Scanned, Tail, Unusable, scan, with_header};
use crate::segment::{Segment, number_of, stream_of};
use crate::stream::{Stream, StreamId};

/// The result of [`recover`].
#[derive(Debug, Default)]
pub(crate) struct Recovered {
    pub(crate) streams: Vec<Stream>,
    pub(crate) set_aside: Vec<SetAside>,
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
    for (_, path) in all.iter().flat_map(|files| &files.segments) {
        check_version(path)?;
    }
    let mut recovered = Recovered::default();
    let set_aside_directory = directory.join("set-aside");
    for files in all {
        recover_stream(files, &set_aside_directory, &mut recovered)?;
    }
    Ok(recovered)
}

fn check_version(path: &Path) -> Result<(), OpenError> {
    let file = File::open(path).map_err(OpenError::io(path))?;
    let size = file.metadata().map_err(OpenError::io(path))?.len();
    match with_header(&file, size, |_| ()) {
        Err(Unusable::Newer(found)) => Err(OpenError::NewerFormat {
            path: path.to_owned(),
            found: u32::from(found),
            supported: u32::from(VERSION),
        }),
        // Every other problem is reported later, when the whole segment is read.
        _ => Ok(()),
    }
}

fn recover_stream(files: Files, set_aside: &Path, recovered: &mut Recovered) -> Result<(), OpenError> {
    let (mut segments, mut label, mut is_closed): (Vec<Segment>, _, _) = (Vec::new(), Bytes::new(), false);
    for (number, path) in &files.segments {
        let outcome = recover_segment(&files.id, *number, path).map_err(OpenError::io(path))?;
        let before = segments.last().map_or(0, |segment| segment.last.order);
        let scanned = match outcome {
            Outcome::Usable(scanned) if scanned.segment.previous.order < before => {
                Outcome::Unusable("its order numbers go back")
            }
            outcome => outcome,
        };
        let scanned = match scanned {
            Outcome::Torn => {
                std::fs::remove_file(path).map_err(OpenError::io(path))?;
                continue;
            }
            Outcome::Unusable(reason) => {
                let to = destination(&files.id, *number, set_aside)?;
                std::fs::rename(path, &to).map_err(OpenError::io(path))?;
                recovered.set_aside.push(SetAside { path: to, reason: reason.to_owned() });
                continue;
            }
            Outcome::Usable(scanned) => {
                if let Tail::Corrupt(reason) = scanned.tail {
                    let to = destination(&files.id, *number, set_aside)?;
                    std::fs::copy(path, &to).map_err(OpenError::io(&to))?;
                    recovered.set_aside.push(SetAside { path: to, reason: reason.to_owned() });
                }
                if scanned.tail != Tail::Nothing {
                    cut_off(path, scanned.segment.length).map_err(OpenError::io(path))?;
                }
                scanned
            }
        };
        segments.push(scanned.segment);
        label = scanned.label;
        is_closed = scanned.is_closed;
    }
    if segments.is_empty() {
        // The stream was created, but nothing was ever written to it.
        let _ = std::fs::remove_dir(&files.directory);
        return Ok(());
    }
    segments.shrink_to_fit();
    recovered.streams.push(Stream::new(files.id, label, segments, is_closed));
    Ok(())
}

enum Outcome {
    Usable(Scanned),
    /// The segment's header or checkpoint was not written completely.
    Torn,
    Unusable(&'static str),
}

fn recover_segment(id: &StreamId, number: u64, path: &Path) -> io::Result<Outcome> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let scanned = match scan(&file, size) {
        Ok(scanned) => scanned,
        Err(Unusable::Torn) => return Ok(Outcome::Torn),
        Err(Unusable::Corrupt(reason)) => return Ok(Outcome::Unusable(reason)),
        Err(Unusable::Newer(_)) => return Ok(Outcome::Unusable("it has a newer format")),
        Err(Unusable::Io(error)) => return Err(error),
    };
    let is_its_own = scanned.segment.number == number
        && scanned.name == *id.name
        && scanned.first_sequence == id.first_sequence;
    Ok(match scanned {
        _ if !is_its_own => Outcome::Unusable("it belongs to another stream"),
        // Only the first segment of a stream starts without a checkpoint.
        scanned if number > 1 && !scanned.has_checkpoint && scanned.tail != Tail::Nothing => {
            if let Tail::Corrupt(reason) = scanned.tail {
                Outcome::Unusable(reason)
            } else {
                Outcome::Torn
            }
        }
        scanned if number > 1 && !scanned.has_checkpoint => Outcome::Torn,
        scanned => Outcome::Usable(scanned),
    })
}

/// An unused path in `set-aside/` for a damaged file.
fn destination(id: &StreamId, number: u64, set_aside: &Path) -> Result<PathBuf, OpenError> {
    DirBuilder::new().recursive(true).mode(0o700).create(set_aside).map_err(OpenError::io(set_aside))?;
    let base = format!("{}-{}-{number:016}.seg", id.first_sequence, id.name);
    let free = (0..u32::MAX)
        .map(|attempt| set_aside.join(if attempt == 0 { base.clone() } else { format!("{base}.{attempt}") }))
        .find(|path| !path.exists());
    free.ok_or_else(|| OpenError::io(set_aside)(io::ErrorKind::AlreadyExists.into()))
}

fn cut_off(path: &Path, length: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    file.set_len(length)
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, OpenError> {
    let read = std::fs::read_dir(directory).map_err(OpenError::io(directory))?;
    read.map(|entry| Ok(entry.map_err(OpenError::io(directory))?.path())).collect()
}
