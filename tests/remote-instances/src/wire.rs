//! Updates in transit from the far side to the near side.

use std::sync::Arc;

use acp_instances::{Answer, Error, FirstExchange, ServerId, Settled, Update};
use bytes::Bytes;
use event_log::{MemoryAccount, Record, Run, Tag};

/// An [`Update`] that references no memory of a log.
pub(crate) enum WireUpdate {
    /// Events of one run.
    Events { server_id: ServerId, records: Vec<WireRecord> },
    /// Everything else, with its bytes copied.
    Other(Update),
}

/// One record, by value.
pub(crate) struct WireRecord {
    order: u64,
    sequence: u64,
    is_numbered: bool,
    at_ms: u64,
    tag: u8,
    mark: u32,
    bytes: Vec<u8>,
}

impl WireUpdate {
    pub(crate) fn copy(update: Update) -> Self {
        match update {
            Update::Events { server_id, run } => {
                Self::Events { server_id, records: run.records().map(WireRecord::copy).collect() }
            }
            Update::Retained { server_id, sequence, request } => {
                Self::Other(Update::Retained { server_id, sequence, request: copied(&request) })
            }
            other @ (Update::Gap { .. } | Update::Instances(_) | Update::Change(_)) => Self::Other(other),
        }
    }

    /// Turns this into an ordinary update, with its events in a separate chunk that is charged to `account`.
    pub(crate) fn into_update(self, account: &Arc<MemoryAccount>) -> Result<Update, Error> {
        match self {
            Self::Events { server_id, records } => {
                let records: Vec<_> = records.iter().map(WireRecord::as_record).collect();
                let run = Run::from_records(&records, account);
                let run =
                    run.ok_or_else(|| Error::internal("events of one run do not follow one another"))?;
                Ok(Update::Events { server_id, run })
            }
            Self::Other(update) => Ok(update),
        }
    }
}

impl WireRecord {
    fn copy(record: Record<'_>) -> Self {
        let Record { order, sequence, is_numbered, at_ms, tag: Tag(tag), mark, bytes } = record;
        Self { order, sequence, is_numbered, at_ms, tag, mark, bytes: bytes.to_vec() }
    }

    fn as_record(&self) -> Record<'_> {
        let &Self { order, sequence, is_numbered, at_ms, tag, mark, ref bytes } = self;
        Record { order, sequence, is_numbered, at_ms, tag: Tag(tag), mark, bytes }
    }
}

/// A copy of the outcome, including the bytes of the answer.
pub(crate) fn copy_settled(settled: Settled) -> Settled {
    settled.map(|answer| match answer {
        Answer::Response(bytes) => Answer::Response(copied(&bytes)),
        Answer::Accepted => Answer::Accepted,
    })
}

/// A copy of the exchange, including its bytes.
pub(crate) fn copy_exchange(exchange: FirstExchange) -> FirstExchange {
    match exchange {
        FirstExchange::Answered { request, response } => {
            FirstExchange::Answered { request: copied(&request), response: copied(&response) }
        }
        other @ (FirstExchange::None { .. } | FirstExchange::NotRetained) => other,
    }
}

fn copied(bytes: &Bytes) -> Bytes {
    Bytes::copy_from_slice(bytes)
}
