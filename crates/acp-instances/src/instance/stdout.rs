//! The task that reads the agent's standard output. It splits the bytes of one read into lines in place,
//! turns them into one batch of records, and appends the batch to the log, locking the state once and
//! briefly.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use event_log::{Batch, Log, Reservation};
use process_supervisor::PipeSize;
use serde_json::json;
use tokio::net::unix::pipe;

use super::Instance;
use super::state::OutputBatch;
use crate::envelope::{Envelope, MessageKind, NotificationTemplate, flatten};
use crate::event::EventKind;

/// The most bytes that one read takes: all that a pipe enlarged for large messages can hold.
const READ_BYTES: usize = 1 << 20;
/// Lines of at least this length are not copied again once they are complete.
const LARGE: usize = 64 << 10;
/// How long a line waits for memory, while the agent waits for the pipe. After that, the line is dropped and
/// reported.
const MEMORY_PATIENCE: Duration = Duration::from_secs(5);
/// How often a line that waits for memory tries again.
const MEMORY_PAUSE: Duration = Duration::from_millis(50);
/// How many characters of a line that is not a message are reported to readers.
const SHOWN_CHARACTERS: usize = 200;

thread_local! {
    /// The buffer for reads. There is one per thread rather than one per instance, so that a thousand idle
    /// agents cost nothing.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Reads until the agent closes its standard output.
pub(super) async fn read(instance: Arc<Instance>, pipe: pipe::Receiver) {
    let mut lines = Lines::new(instance.shared.limits.max_message_bytes);
    let mut pipe_size = PipeSize::default();
    let mut memory = Reservation::empty(&instance.shared.account);
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
                pipe_size.fit(&pipe, lines.partial.len());
                instance.shared.make_room(0);
                charge(&mut memory, &mut lines, &instance).await;
                instance.wait_for_journal().await;
                // Let the readers of the stream run before the next read. This does not wait for any reader:
                // one whose connection is full has nothing to do and takes no time.
                tokio::task::yield_now().await;
            }
        }
    }
    let output = Output::new(&mut instance.lock().output, lines.size_with(&[]));
    if let Some(output) = lines.finish(output) {
        output.append_to(&instance);
    }
}

/// Charges the unfinished line to the memory account. A line for which there is no memory is dropped after a
/// while.
async fn charge(memory: &mut Reservation, lines: &mut Lines, instance: &Instance) {
    let deadline = tokio::time::Instant::now() + MEMORY_PATIENCE;
    while !memory.resize(lines.held_bytes()) {
        instance.shared.make_room(lines.held_bytes() - memory.bytes());
        if memory.resize(lines.held_bytes()) {
            return;
        }
        // Only one instance at a time drops its line: the memory of that one may be sufficient for the
        // others.
        let is_over = tokio::time::Instant::now() >= deadline && instance.shared.may_give_up();
        if is_over || instance.close.is_cancelled() {
            lines.give_up("there is no memory for it within --memory-budget");
        } else {
            tokio::time::sleep(MEMORY_PAUSE).await;
        }
    }
}

fn read_once(pipe: &pipe::Receiver, lines: &mut Lines, instance: &Arc<Instance>) -> io::Result<usize> {
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.resize(READ_BYTES, 0);
        let count = pipe.try_read(scratch)?;
        instance.shared.metrics.pipes.stdout_bytes.add(count as u64);
        let bytes = &scratch[..count];
        let size = lines.size_with(bytes);
        // A separate statement, so that the lock is released before the batch is appended.
        let output = Output::new(&mut instance.lock().output, size);
        if let Some(output) = lines.feed(bytes, output) {
            output.append_to(instance);
        }
        Ok(count)
    })
}

/// The size that a batch will have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BatchSize {
    bytes: usize,
    lines: usize,
}

/// Records made of lines that were read together.
#[derive(Debug)]
struct Output {
    records: Batch,
    calls: Vec<(usize, Envelope)>,
    unparsed: u64,
}

impl Output {
    fn new(log: &mut Log, size: BatchSize) -> Self {
        // One allocation of about the right size: unused space would be held for as long as the log holds the
        // records.
        let records = if size.lines == 0 { Batch::default() } else { log.batch(size.bytes, size.lines) };
        Self { records, calls: Vec::new(), unparsed: 0 }
    }

    /// Adds a notification that contains no line break.
    fn notification(&mut self, line: &[u8]) {
        self.records.push(EventKind::Message(MessageKind::Notification).info(), line);
    }

    fn message(&mut self, line: &[u8], envelope: Envelope) {
        let kind = envelope.kind();
        if kind != MessageKind::Notification {
            if self.calls.is_empty() {
                // Answers often arrive together: if one line is an answer, the others often are too.
                self.calls.reserve(self.records.capacity() - self.records.len());
            }
            self.calls.push((self.records.len(), envelope));
        }
        flatten(self.records.push(EventKind::Message(kind).info(), line));
    }

    /// Adds a message in memory of its own, which is not copied if it is the first of the batch.
    fn large_message(&mut self, line: BytesMut, envelope: Envelope) {
        let info = EventKind::Message(envelope.kind()).info();
        if !self.records.is_empty() {
            return self.message(&line, envelope);
        }
        if envelope.kind() != MessageKind::Notification {
            self.calls.push((0, envelope));
        }
        if let Ok(record) = self.records.adopt(info, line) {
            flatten(record);
        }
    }

    fn unparsed(&mut self, shown: &[u8], error: &str, bytes: usize) {
        let text = String::from_utf8_lossy(shown);
        let line: String = text.chars().take(SHOWN_CHARACTERS).collect();
        let data = json!({"line": line, "error": error, "bytes": bytes}).to_string();
        self.records.push(EventKind::Unparsed.info(), data.as_bytes());
        self.unparsed += 1;
    }

    fn append_to(self, instance: &Arc<Instance>) {
        let Self { records, calls, unparsed } = self;
        let pipes = &instance.shared.metrics.pipes;
        pipes.messages_read.add(records.len() as u64 - unparsed);
        if unparsed > 0 {
            pipes.lines_unparsed.add(unparsed);
        }
        let settlements = instance.lock().append_output(OutputBatch { records, calls });
        instance.publish(settlements);
    }
}

/// A line that is dropped. Its beginning is in [`Lines::partial`].
#[derive(Debug)]
struct Skipped {
    /// The length of the line so far.
    length: usize,
    /// Why the line is dropped.
    reason: String,
}

/// Splits a byte stream into lines at LF, and only there.
#[derive(Debug)]
struct Lines {
    /// The beginning of a line whose end has not been read yet.
    partial: BytesMut,
    /// Set while the rest of a dropped line is skipped.
    skipping: Option<Skipped>,
    max_line: usize,
    /// True if the line that ends is the only one of its read, so that the batch can take over its memory.
    is_alone: bool,
    /// The length of the last large line. The next one is often as long, and this much is reserved for it at
    /// once.
    last_large: usize,
    template: NotificationTemplate,
}

impl Lines {
    fn new(max_line: usize) -> Self {
        Self {
            partial: BytesMut::new(),
            skipping: None,
            max_line,
            is_alone: false,
            last_large: 0,
            template: NotificationTemplate::default(),
        }
    }

    /// How much [`Self::feed`] will append for these bytes, without what follows the last line feed.
    fn size_with(&self, bytes: &[u8]) -> BatchSize {
        match memchr::memrchr(b'\n', bytes) {
            None => BatchSize { bytes: 0, lines: 0 },
            // A large line usually brings its own memory.
            Some(_) if self.is_only_line(bytes) => BatchSize { bytes: 0, lines: 1 },
            Some(last) => BatchSize {
                bytes: self.partial.len() + last,
                lines: memchr::memchr_iter(b'\n', &bytes[..=last]).count(),
            },
        }
    }

    /// True if one large line ends in these bytes and no other line does.
    fn is_only_line(&self, bytes: &[u8]) -> bool {
        self.partial.len() >= LARGE && memchr::memchr_iter(b'\n', bytes).take(2).count() == 1
    }

    fn feed(&mut self, mut bytes: &[u8], mut output: Output) -> Option<Output> {
        self.is_alone = self.is_only_line(bytes);
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.end_line(&bytes[..end], &mut output);
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
        Some(output).filter(|output| !output.records.is_empty())
    }

    /// Called at the end of the output. A last line without a line feed counts too.
    fn finish(mut self, mut output: Output) -> Option<Output> {
        self.end_line(&[], &mut output);
        Some(output).filter(|output| !output.records.is_empty())
    }

    fn end_line(&mut self, rest: &[u8], output: &mut Output) {
        if self.skipping.is_none() && self.partial.len() + rest.len() > self.max_line {
            self.skip_too_long();
        }
        if let Some(Skipped { length, reason }) = self.skipping.take() {
            let mut shown = std::mem::take(&mut self.partial);
            shown.extend_from_slice(&rest[..rest.len().min(SHOWN_CHARACTERS * 4)]);
            output.unparsed(&shown, &reason, length + rest.len());
        } else if self.partial.is_empty() {
            read_line(rest, &mut self.template, output);
        } else {
            let mut line = std::mem::take(&mut self.partial);
            line.extend_from_slice(rest);
            if line.len() >= LARGE {
                self.last_large = line.len();
            }
            // Unused capacity would be held for as long as the log holds the line.
            if self.is_alone && line.len() >= LARGE && line.capacity() <= line.len() + line.len() / 4 {
                read_large_line(line, output);
            } else {
                read_line(&line, &mut self.template, output);
            }
        }
    }

    fn skip_too_long(&mut self) {
        self.give_up(&format!("longer than the {} bytes of --max-message-bytes", self.max_line));
    }

    /// Drops the current line, except for the beginning that is reported.
    fn give_up(&mut self, reason: &str) {
        self.skipping = Some(Skipped { length: self.partial.len(), reason: reason.to_owned() });
        // Copy the beginning: a slice would keep the memory of the whole line.
        self.partial = self.partial[..self.partial.len().min(SHOWN_CHARACTERS * 4)].into();
    }

    /// The memory of the unfinished line. A short line counts as part of the fixed cost of an instance.
    fn held_bytes(&self) -> usize {
        if self.partial.capacity() >= LARGE { self.partial.capacity() } else { 0 }
    }

    fn keep(&mut self, bytes: &[u8]) {
        match &mut self.skipping {
            Some(skipped) => skipped.length += bytes.len(),
            None if self.partial.len() + bytes.len() > self.max_line => {
                self.partial.extend_from_slice(&bytes[..bytes.len().min(SHOWN_CHARACTERS * 4)]);
                self.skip_too_long();
                if let Some(skipped) = &mut self.skipping {
                    skipped.length += bytes.len().saturating_sub(SHOWN_CHARACTERS * 4);
                }
            }
            None => {
                let length = self.partial.len() + bytes.len();
                if length >= LARGE && self.partial.len() < LARGE {
                    self.partial.reserve(self.last_large.max(length) - self.partial.len());
                }
                self.partial.extend_from_slice(bytes);
            }
        }
    }
}

/// Parses a line that arrived in several reads and is in memory of its own.
fn read_large_line(mut line: BytesMut, output: &mut Output) {
    if line.ends_with(b"\r") {
        line.truncate(line.len() - 1);
    }
    if line.trim_ascii().is_empty() {
        return;
    }
    match Envelope::parse(&line) {
        Ok(envelope) => output.large_message(line, envelope),
        Err(error) => output.unparsed(&line, &error.to_string(), line.len()),
    }
}

fn read_line(line: &[u8], template: &mut NotificationTemplate, output: &mut Output) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if template.covers(line) {
        return output.notification(line);
    }
    if line.trim_ascii().is_empty() {
        return;
    }
    match template.parse(line) {
        Ok(envelope) => output.message(line, envelope),
        Err(error) => output.unparsed(line, &error.to_string(), line.len()),
    }
}

#[cfg(test)]
#[path = "stdout_tests.rs"]
mod tests;
