//! The metrics of the event streams, by kind of stream. Events are counted per pull, never one by one.

use metrics::{Counter, Exposition, Gauge};

/// The counters of one [`AcpDoor`](crate::AcpDoor).
#[derive(Debug, Default)]
pub(crate) struct DoorMetrics {
    /// Streams of one instance: the messages of its agent.
    pub(crate) messages: StreamMetrics,
    /// Streams of one instance: both directions.
    pub(crate) journal: StreamMetrics,
    /// Streams of several instances.
    pub(crate) many: StreamMetrics,
}

/// The counters of one kind of stream.
#[derive(Debug, Default)]
pub(crate) struct StreamMetrics {
    pub(crate) open: Gauge,
    pub(crate) bytes: Counter,
    pub(crate) events: Counter,
    /// Events that happened before the reader connected.
    pub(crate) replayed: Counter,
    pub(crate) gaps: Counter,
}

impl StreamMetrics {
    /// Counts events that are sent to a reader.
    pub(crate) fn sent(&self, events: u64, are_replayed: bool) {
        self.events.add(events);
        if are_replayed {
            self.replayed.add(events);
        }
    }
}

impl DoorMetrics {
    /// Writes all metrics of the event streams.
    pub(crate) fn expose(&self, text: &mut Exposition) {
        let Self { messages, journal, many } = self;
        expose_streams(&[("messages", messages), ("journal", journal), ("many", many)], text);
    }
}

fn expose_streams(views: &[(&str, &StreamMetrics); 3], text: &mut Exposition) {
    let mut family = text.gauge(
        "sandbox_agent_streams",
        "Open streams: messages or journal of one instance, or many for several instances (GET /v1/acp).",
    );
    for (view, streams) in views {
        family.value(&[("view", view)], streams.open.get());
    }
    type Read = fn(&StreamMetrics) -> &Counter;
    let counters: [(&str, &str, Read); 4] = [
        ("sandbox_agent_events_sent_total", "Events sent to readers of streams.", |streams| &streams.events),
        (
            "sandbox_agent_events_replayed_total",
            "Events sent to readers that happened before the reader connected.",
            |streams| &streams.replayed,
        ),
        ("sandbox_agent_gaps_total", "Gaps reported to readers.", |streams| &streams.gaps),
        ("sandbox_agent_stream_bytes_total", "Bytes of events sent to readers.", |streams| &streams.bytes),
    ];
    for (name, help, read) in counters {
        let mut family = text.counter(name, help);
        for (view, streams) in views {
            family.value(&[("view", view)], read(streams).get());
        }
    }
}
