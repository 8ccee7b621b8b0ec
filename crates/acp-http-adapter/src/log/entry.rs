//! One event of the log.

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

/// One event, framed.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Its place among all events of all instances.
    pub(crate) journal: u64,
    /// Its sequence number, or that of the last numbered event before it.
    pub(crate) sequence: u64,
    /// When it came, in milliseconds since 1970.
    pub(crate) at_ms: u64,
    pub(crate) kind: EventKind,
    /// The memory that this event shares with those that came with it.
    pub(crate) chunk: Bytes,
    /// Where the frame begins in the chunk.
    pub(crate) frame_start: u32,
    /// Where the payload begins.
    pub(crate) data_start: u32,
    /// Where the payload ends. The frame ends two line feeds later.
    pub(crate) data_end: u32,
}

impl Entry {
    /// What an entry costs beside its bytes.
    const OVERHEAD: usize = 128;

    /// The payload alone.
    pub(crate) fn data(&self) -> Bytes {
        self.chunk.slice(self.data_start as usize..self.data_end as usize)
    }

    /// One past the frame's last byte.
    pub(crate) const fn frame_end(&self) -> usize {
        self.data_end as usize + 2
    }

    /// How long the frame is.
    pub(crate) const fn frame_length(&self) -> usize {
        self.frame_end() - self.frame_start as usize
    }

    /// What holding it costs.
    pub(crate) const fn cost(&self) -> usize {
        (self.data_end - self.frame_start) as usize + Self::OVERHEAD
    }

    /// Whether `next` stands right behind this event in the same memory.
    pub(crate) fn is_followed_by(&self, next: &Self) -> bool {
        self.chunk.as_ptr() == next.chunk.as_ptr() && self.frame_end() == next.frame_start as usize
    }
}
