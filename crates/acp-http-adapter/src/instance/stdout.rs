//! The task that listens to the agent: reads what is there, splits it into lines in place, frames them into one
//! chunk, and appends that to the log under one short lock.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;

use serde_json::json;
use tokio::net::unix::pipe;

use super::Instance;
use super::state::Heard;
use crate::envelope::{Envelope, Likeness};
use crate::log::{EventKind, EventLog, Framer, Slot};

/// How much one read takes at the most.
const READ_BYTES: usize = 256 << 10;
/// How much of a line that is no message its readers are shown.
const SHOWN_CHARACTERS: usize = 200;

thread_local! {
    /// Where reads land. One per thread rather than one per instance: a thousand idle agents cost nothing.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Listens until the agent closes its output.
pub(super) async fn listen(instance: Arc<Instance>, pipe: pipe::Receiver) {
    let mut lines = Lines::new(instance.shared.limits.max_message_bytes);
    loop {
        if pipe.readable().await.is_err() {
            break;
        }
        match read_once(&pipe, &mut lines, &instance) {
            Ok(0) => break,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                tracing::warn!(server_id = %instance.id, %error, "cannot read from the agent");
                break;
            }
            Ok(_) => {
                instance.shared.make_room(0);
                // Whoever reads the stream gets the processor before the next flood comes in. This waits for
                // nobody: a reader whose connection is full has nothing to do and costs no time.
                tokio::task::yield_now().await;
            }
        }
    }
    let batch = Batch::new(&mut instance.lock().log, lines.size_with(&[]));
    if let Some(batch) = lines.finish(batch) {
        batch.hand_to(&instance);
    }
}

fn read_once(pipe: &pipe::Receiver, lines: &mut Lines, instance: &Instance) -> io::Result<usize> {
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.resize(READ_BYTES, 0);
        let count = pipe.try_read(scratch)?;
        instance.shared.measures.pipes.stdout_bytes.add(count as u64);
        let bytes = &scratch[..count];
        let size = lines.size_with(bytes);
        // In a statement of its own: the lock must be free again when the batch is handed over.
        let batch = Batch::new(&mut instance.lock().log, size);
        if let Some(batch) = lines.feed(bytes, batch) {
            batch.hand_to(instance);
        }
        Ok(count)
    })
}

/// How much a batch will hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BatchSize {
    bytes: usize,
    lines: usize,
}

/// Lines that came together, framed.
#[derive(Debug)]
struct Batch {
    framer: Framer,
    slots: Vec<Slot>,
    calls: Vec<(usize, Envelope)>,
    next_sequence: u64,
    unparsed: u64,
}

impl Batch {
    /// The events that come next in the log.
    fn new(log: &mut EventLog, size: BatchSize) -> Self {
        // One piece of about the right size: what is wasted here is held for as long as the log holds it.
        let needed = size.bytes + size.lines * Framer::OVERHEAD;
        let framer = match size.lines {
            0 => Framer::default(),
            _ => log.events.take_spare(needed).map_or_else(|| Framer::with_capacity(needed), Framer::reusing),
        };
        let next_sequence = log.next_sequence;
        Self { framer, slots: Vec::with_capacity(size.lines), calls: Vec::new(), next_sequence, unparsed: 0 }
    }

    /// A notification without a line break.
    fn line(&mut self, line: &[u8]) {
        self.slots.push(self.framer.push_line(self.next_sequence, line));
        self.next_sequence += 1;
    }

    fn message(&mut self, line: &[u8], envelope: Envelope) {
        if !matches!(envelope, Envelope::Notification) {
            if self.calls.is_empty() {
                // Answers come together: where there is one, the other lines may be some, too.
                self.calls.reserve(self.slots.capacity() - self.slots.len());
            }
            self.calls.push((self.slots.len(), envelope));
        }
        self.slots.push(self.framer.push(EventKind::Message, Some(self.next_sequence), line));
        self.next_sequence += 1;
    }

    fn unparsed(&mut self, shown: &[u8], error: &str, bytes: usize) {
        let text = String::from_utf8_lossy(shown);
        let line: String = text.chars().take(SHOWN_CHARACTERS).collect();
        let data = json!({"line": line, "error": error, "bytes": bytes}).to_string();
        self.slots.push(self.framer.push(EventKind::Unparsed, None, data.as_bytes()));
        self.unparsed += 1;
    }

    fn hand_to(self, instance: &Instance) {
        let Self { framer, slots, calls, unparsed, .. } = self;
        let pipes = &instance.shared.measures.pipes;
        pipes.messages_heard.add(slots.len() as u64 - unparsed);
        if unparsed > 0 {
            pipes.lines_unparsed.add(unparsed);
        }
        let heard = Heard { frames: framer.finish(), slots, calls };
        let settlements = instance.lock().hear(heard);
        settlements.deliver();
        instance.announce();
    }
}

/// Cuts a byte stream into lines at LF, and only there.
#[derive(Debug)]
struct Lines {
    /// The beginning of a line whose end has not come.
    partial: Vec<u8>,
    /// How long the current line is, when it is too long to be kept.
    skipping: Option<usize>,
    max_line: usize,
    likeness: Likeness,
}

impl Lines {
    fn new(max_line: usize) -> Self {
        Self { partial: Vec::new(), skipping: None, max_line, likeness: Likeness::default() }
    }

    /// What there will be to frame once these bytes are fed. What follows the last line feed will not be.
    fn size_with(&self, bytes: &[u8]) -> BatchSize {
        match memchr::memrchr(b'\n', bytes) {
            None => BatchSize { bytes: 0, lines: 0 },
            Some(last) => BatchSize {
                bytes: self.partial.len() + last,
                lines: memchr::memchr_iter(b'\n', &bytes[..=last]).count(),
            },
        }
    }

    fn feed(&mut self, mut bytes: &[u8], mut batch: Batch) -> Option<Batch> {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.end_line(&bytes[..end], &mut batch);
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
        Some(batch).filter(|batch| !batch.slots.is_empty())
    }

    /// The output is over; what has no line feed is a line all the same.
    fn finish(mut self, mut batch: Batch) -> Option<Batch> {
        self.end_line(&[], &mut batch);
        Some(batch).filter(|batch| !batch.slots.is_empty())
    }

    fn end_line(&mut self, rest: &[u8], batch: &mut Batch) {
        let skipped = self.skipping.take();
        let length = skipped.unwrap_or(self.partial.len()) + rest.len();
        if skipped.is_some() || length > self.max_line {
            let mut shown = std::mem::take(&mut self.partial);
            shown.extend_from_slice(&rest[..rest.len().min(SHOWN_CHARACTERS * 4)]);
            batch.unparsed(
                &shown,
                &format!("longer than the {} bytes of --max-message-bytes", self.max_line),
                length,
            );
        } else if self.partial.is_empty() {
            read_line(rest, &mut self.likeness, batch);
        } else {
            let mut line = std::mem::take(&mut self.partial);
            line.extend_from_slice(rest);
            read_line(&line, &mut self.likeness, batch);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        match &mut self.skipping {
            Some(length) => *length += bytes.len(),
            None if self.partial.len() + bytes.len() > self.max_line => {
                self.skipping = Some(self.partial.len() + bytes.len());
                self.partial.extend_from_slice(&bytes[..bytes.len().min(SHOWN_CHARACTERS * 4)]);
                self.partial.truncate(SHOWN_CHARACTERS * 4);
                self.partial.shrink_to_fit();
            }
            None => self.partial.extend_from_slice(bytes),
        }
    }
}

fn read_line(line: &[u8], likeness: &mut Likeness, batch: &mut Batch) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if likeness.covers(line) {
        return batch.line(line);
    }
    if line.trim_ascii().is_empty() {
        return;
    }
    match likeness.parse(line) {
        Ok(envelope) => batch.message(line, envelope),
        Err(error) => batch.unparsed(line, &error.to_string(), line.len()),
    }
}

#[cfg(test)]
#[path = "stdout_tests.rs"]
mod tests;
