//! One event of the log: how it is held, and how it is looked at.

use bytes::Bytes;

/// What an event is. The names are those of the stream's `event:` field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// A JSON-RPC message of the agent.
    Message,
    /// A line of the agent that is no message.
    Unparsed,
    /// Somebody answered a request of the agent.
    Answered,
    /// An asynchronous request that will get no answer.
    Failed,
    /// The end of the process.
    Exit,
    /// A message of a client; only the journal shows it.
    Sent,
}

impl EventKind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Unparsed => "unparsed",
            Self::Answered => "answered",
            Self::Failed => "failed",
            Self::Exit => "exit",
            Self::Sent => "sent",
        }
    }

    /// Whether the event takes a sequence number of its own.
    pub(crate) const fn is_numbered(self) -> bool {
        matches!(self, Self::Message | Self::Exit)
    }
}

/// Events that came together, framed one behind the other in one piece of memory.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) bytes: Bytes,
    /// When they came, in milliseconds since 1970.
    pub(crate) at_ms: u64,
    /// The first one's place among all events of all instances; the others follow without a hole.
    pub(crate) first_journal: u64,
    /// The number of the last numbered event before the first one.
    pub(crate) sequence_before: u64,
}

/// Where one event stands in its chunk. Small, since a log holds tens of thousands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Where the frame begins.
    pub(crate) frame_start: u32,
    /// Where the payload ends. The frame ends two line feeds later.
    pub(crate) data_end: u32,
    /// How many events of the chunk, up to this one, are numbered.
    pub(crate) numbered: u32,
    /// How far behind the frame's beginning the payload begins.
    pub(crate) data_offset: u8,
    pub(crate) kind: EventKind,
}

impl Slot {
    /// What an event costs beside its bytes, with its part of a chunk.
    const OVERHEAD: usize = 128;

    /// What holding it costs.
    pub(crate) const fn cost(self) -> usize {
        (self.data_end - self.frame_start) as usize + Self::OVERHEAD
    }

    /// Where the payload stands.
    pub(crate) const fn data(self) -> std::ops::Range<usize> {
        self.frame_start as usize + self.data_offset as usize..self.data_end as usize
    }

    /// One past the frame's last byte.
    pub(crate) const fn frame_end(self) -> usize {
        self.data_end as usize + 2
    }
}

/// One event as the log shows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    /// Its place among all events of all instances.
    pub(crate) journal: u64,
    /// Its sequence number, or that of the last numbered event before it.
    pub(crate) sequence: u64,
    /// When it came, in milliseconds since 1970.
    pub(crate) at_ms: u64,
    pub(crate) kind: EventKind,
    /// The payload alone.
    pub(crate) data: &'a [u8],
    /// How long the frame is.
    pub(crate) frame_length: usize,
}
