//! The catalogue: a SQLite database with a row for each stream and each segment. People can query it, and it saves
//! the next start from reading every segment. It contains nothing that the segment files do not have: the
//! background thread writes it after them, and a start rebuilds it if it is missing, damaged or outdated. The
//! README of this crate describes the tables.

use std::fs::{OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};

use crate::place::Place;
use crate::segment::Segment;
use crate::stream::{StreamId, StreamInfo};

/// The version of the tables that is written, and the newest that can be read.
pub(crate) const SCHEMA_VERSION: i64 = 1;

const SCHEMA: &str = include_str!("schema.sql");

const WRITE_STREAM: &str = "
    INSERT INTO streams (name, first_sequence, label, is_closed, first_order, last_order, oldest_sequence,
        last_sequence, last_is_numbered, first_at_ms, last_at_ms, bytes)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
    ON CONFLICT (name, first_sequence) DO UPDATE SET
        label = excluded.label, is_closed = excluded.is_closed, first_order = excluded.first_order,
        last_order = excluded.last_order, oldest_sequence = excluded.oldest_sequence,
        last_sequence = excluded.last_sequence, last_is_numbered = excluded.last_is_numbered,
        first_at_ms = excluded.first_at_ms, last_at_ms = excluded.last_at_ms, bytes = excluded.bytes
    RETURNING id";
const FORGET_SEGMENTS: &str = "DELETE FROM segments WHERE stream = ?1 AND number < ?2";
const WRITE_SEGMENT: &str = "
    INSERT OR REPLACE INTO segments (stream, number, bytes, entries_at, previous_order, previous_sequence,
        previous_is_numbered, first_order, last_order, last_sequence, last_is_numbered, first_at_ms, last_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
const FORGET_STREAM: &str = "DELETE FROM streams WHERE name = ?1 AND first_sequence = ?2";
const FIND_STREAM: &str = "SELECT id, is_closed FROM streams WHERE name = ?1 AND first_sequence = ?2";
const FIND_SEGMENTS: &str = "
    SELECT number, bytes, entries_at, previous_order, previous_sequence, previous_is_numbered, first_order,
        last_order, last_sequence, last_is_numbered, first_at_ms, last_at_ms
    FROM segments WHERE stream = ?1";

/// The open catalogue.
#[derive(Debug)]
pub(crate) struct Catalogue {
    connection: Connection,
}

/// Why an existing catalogue cannot be used.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// Its tables have a newer version. Holds that version.
    Newer(u32),
    Corrupt(String),
    Io(io::Error),
}

/// The data to write about one stream.
#[derive(Debug)]
pub(crate) struct StreamRow {
    pub(crate) info: StreamInfo,
    /// The number of the oldest segment that is still held.
    pub(crate) oldest_number: u64,
    /// The segments that are new or have changed.
    pub(crate) segments: Vec<Segment>,
}

/// The catalogue's data about a stream.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) is_closed: bool,
    pub(crate) segments: Vec<Segment>,
}

impl Catalogue {
    /// Opens the catalogue, or creates an empty one.
    pub(crate) fn open(path: &Path) -> Result<Self, Unreadable> {
        // SQLite gives the files next to the database the same mode.
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
        file.and_then(|file| file.set_permissions(Permissions::from_mode(0o600))).map_err(Unreadable::Io)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(Duration::from_secs(1))?;
        let checked: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if checked != "ok" {
            return Err(Unreadable::Corrupt(checked));
        }
        let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if tables > 0 {
            let version: i64 =
                connection.query_row("SELECT version FROM schema_version", [], |row| row.get(0))?;
            if version > SCHEMA_VERSION {
                return Err(Unreadable::Newer(u32::try_from(version).unwrap_or(u32::MAX)));
            }
        }
        connection.execute_batch(SCHEMA)?;
        // This fails if the tables lack a column.
        for statement in [WRITE_STREAM, WRITE_SEGMENT, FIND_STREAM, FIND_SEGMENTS] {
            connection.prepare(statement)?;
        }
        Ok(Self { connection })
    }

    /// The catalogue's rows about a stream; empty if they cannot be read.
    pub(crate) fn find(&self, id: &StreamId) -> Known {
        self.try_find(id).ok().flatten().unwrap_or_default()
    }

    fn try_find(&self, id: &StreamId) -> rusqlite::Result<Option<Known>> {
        let mut statement = self.connection.prepare(FIND_STREAM)?;
        let found = statement.query_row(params![&*id.name, id.first_sequence.cast_signed()], |row| {
            Ok((row.get::<_, i64>(0)?, row.get(1)?))
        });
        let Some((stream, is_closed)) = found.optional()? else { return Ok(None) };
        let mut statement = self.connection.prepare(FIND_SEGMENTS)?;
        let segments = statement.query_map([stream], segment_of)?.collect::<rusqlite::Result<_>>()?;
        Ok(Some(Known { is_closed, segments }))
    }

    /// The ids of all streams in the catalogue.
    pub(crate) fn streams(&self) -> rusqlite::Result<Vec<StreamId>> {
        let mut statement = self.connection.prepare("SELECT name, first_sequence FROM streams")?;
        let ids = statement.query_map([], |row| {
            Ok(StreamId { name: row.get::<_, String>(0)?.into(), first_sequence: number(row, 1)? })
        })?;
        ids.collect()
    }

    /// Writes all changes in one transaction.
    pub(crate) fn write(&mut self, changed: &[StreamRow], removed: &[StreamId]) -> rusqlite::Result<()> {
        if changed.is_empty() && removed.is_empty() {
            return Ok(());
        }
        let transaction = self.connection.transaction()?;
        {
            let mut write_stream = transaction.prepare(WRITE_STREAM)?;
            let mut forget_segments = transaction.prepare(FORGET_SEGMENTS)?;
            let mut write_segment = transaction.prepare(WRITE_SEGMENT)?;
            for StreamRow { info, oldest_number, segments } in changed {
                let values = params![
                    &*info.id.name,
                    info.id.first_sequence.cast_signed(),
                    &info.label[..],
                    info.is_closed,
                    info.first_order.cast_signed(),
                    info.last_order.cast_signed(),
                    info.oldest_sequence.cast_signed(),
                    info.last_sequence.cast_signed(),
                    info.last_is_numbered,
                    info.first_at_ms.cast_signed(),
                    info.last_at_ms.cast_signed(),
                    info.bytes.cast_signed(),
                ];
                let stream: i64 = write_stream.query_row(values, |row| row.get(0))?;
                forget_segments.execute(params![stream, oldest_number.cast_signed()])?;
                for segment in segments {
                    write_segment.execute(params![
                        stream,
                        segment.number.cast_signed(),
                        segment.length.cast_signed(),
                        segment.start,
                        segment.previous.order.cast_signed(),
                        segment.previous.sequence.cast_signed(),
                        segment.previous.is_numbered,
                        segment.first_order.cast_signed(),
                        segment.last.order.cast_signed(),
                        segment.last.sequence.cast_signed(),
                        segment.last.is_numbered,
                        segment.first_at_ms.cast_signed(),
                        segment.last_at_ms.cast_signed(),
                    ])?;
                }
            }
            // The removals come last: a stream may have been removed since its row was made.
            let mut forget = transaction.prepare(FORGET_STREAM)?;
            for id in removed {
                forget.execute(params![&*id.name, id.first_sequence.cast_signed()])?;
            }
        }
        transaction.commit()
    }
}

fn segment_of(row: &Row<'_>) -> rusqlite::Result<Segment> {
    let place = |order, sequence, is_numbered| {
        Ok::<_, rusqlite::Error>(Place {
            order: number(row, order)?,
            sequence: number(row, sequence)?,
            is_numbered: row.get(is_numbered)?,
        })
    };
    Ok(Segment {
        number: number(row, 0)?,
        length: number(row, 1)?,
        start: row.get(2)?,
        previous: place(3, 4, 5)?,
        first_order: number(row, 6)?,
        last: place(7, 8, 9)?,
        first_at_ms: number(row, 10)?,
        last_at_ms: number(row, 11)?,
    })
}

/// Reads an unsigned number. SQLite stores it as the signed number with the same bits.
fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get(column).map(i64::cast_unsigned)
}

impl From<rusqlite::Error> for Unreadable {
    /// Errors of the system do not mean that the file is corrupt.
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{
            CannotOpen, DatabaseBusy, DatabaseLocked, DiskFull, OutOfMemory, ReadOnly, SystemIoFailure,
        };
        match error.sqlite_error_code() {
            Some(
                CannotOpen | DatabaseBusy | DatabaseLocked | DiskFull | OutOfMemory | ReadOnly
                | SystemIoFailure,
            ) => Self::Io(io::Error::other(error)),
            _ => Self::Corrupt(error.to_string()),
        }
    }
}

#[cfg(test)]
#[path = "catalogue_tests.rs"]
mod tests;
