//! Writes log lines to standard error from a thread of its own.
//!
//! Standard error may be a pipe that is full. A thread that serves requests must never wait for it, so lines go through a
//! bounded queue. Lines that do not fit are dropped and counted, and the log reports how many were.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tracing_subscriber::fmt::MakeWriter;

/// How many bytes of lines may wait.
const MAX_BYTES: usize = 1 << 20;
/// The memory of a waiting line besides its text.
const LINE_OVERHEAD: usize = 64;
/// How long the program waits for the last lines before it exits.
const FLUSH_LIMIT: Duration = Duration::from_millis(500);

static DROPPED: AtomicU64 = AtomicU64::new(0);

/// How many log lines were dropped since the start.
pub(crate) fn dropped_lines() -> u64 {
    DROPPED.load(Ordering::Relaxed)
}

/// The writing end of the queue. Each write is one line.
#[derive(Debug, Clone)]
pub(crate) struct LogWriter(Arc<Queue>);

#[derive(Debug, Default)]
struct Queue {
    lines: Mutex<Lines>,
    /// Notified when a line arrives, and when the last waiting line has been written.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Lines {
    waiting: VecDeque<Vec<u8>>,
    bytes: usize,
    /// True while the thread writes a line that it has removed from the queue.
    is_writing: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, line: &[u8]) {
        let mut lines = self.lock();
        let cost = line.len() + LINE_OVERHEAD;
        if lines.bytes + cost > MAX_BYTES {
            drop(lines);
            DROPPED.fetch_add(1, Ordering::Relaxed);
            return;
        }
        lines.bytes += cost;
        lines.waiting.push_back(line.to_vec());
        drop(lines);
        self.changed.notify_all();
    }

    fn next(&self) -> Vec<u8> {
        let mut lines = self.lock();
        lines.is_writing = false;
        self.changed.notify_all();
        loop {
            if let Some(line) = lines.waiting.pop_front() {
                lines.bytes -= line.len() + LINE_OVERHEAD;
                lines.is_writing = true;
                return line;
            }
            lines = self.changed.wait(lines).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl LogWriter {
    /// Starts the thread. `output` may block.
    pub(crate) fn start(mut output: impl Write + Send + 'static) -> io::Result<Self> {
        let queue = Arc::new(Queue::default());
        let writer = Self(Arc::clone(&queue));
        std::thread::Builder::new().name("log".to_owned()).spawn(move || {
            let mut reported = 0;
            loop {
                // Nothing can be done about an output that fails.
                let _ = output.write_all(&queue.next());
                let dropped = dropped_lines();
                if dropped > reported {
                    // This warning goes through the queue like every other line, in the format of the log.
                    tracing::warn!(
                        lines = dropped - reported,
                        "log lines were dropped: standard error was not read"
                    );
                    reported = dropped;
                }
            }
        })?;
        Ok(writer)
    }

    /// Waits until all lines are written, but at most [`FLUSH_LIMIT`].
    pub(crate) fn flush_all(&self) {
        let deadline = Instant::now() + FLUSH_LIMIT;
        let mut lines = self.0.lock();
        while !lines.waiting.is_empty() || lines.is_writing {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            lines = self.0.changed.wait_timeout(lines, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogWriter {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// An output that writes a line only when it receives permission.
    struct Gate(mpsc::Receiver<()>, mpsc::Sender<Vec<u8>>);

    impl Write for Gate {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.recv().map_err(io::Error::other)?;
            let _ = self.1.send(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_output_that_blocks_blocks_no_writer_and_what_does_not_fit_is_counted() {
        let (permit, permits) = mpsc::channel();
        let (written, lines) = mpsc::channel();
        let mut writer = LogWriter::start(Gate(permits, written)).unwrap();
        let before = dropped_lines();
        let line = [b'x'; 1000];
        for _ in 0..2000 {
            writer.write_all(&line).unwrap();
        }
        let dropped = usize::try_from(dropped_lines() - before).unwrap();
        assert!(dropped >= 2000 - MAX_BYTES / 1000, "{dropped}");
        writer.flush_all();
        assert!(lines.try_recv().is_err(), "nothing is written yet");
        for _ in 0..2000 - dropped {
            permit.send(()).unwrap();
        }
        for _ in 0..2000 - dropped {
            assert_eq!(lines.recv_timeout(Duration::from_secs(20)).unwrap(), line);
        }
    }

    #[test]
    fn the_last_lines_are_written_before_the_end() {
        let (permit, permits) = mpsc::channel();
        let (written, lines) = mpsc::channel();
        let mut writer = LogWriter::start(Gate(permits, written)).unwrap();
        for number in 0..10 {
            permit.send(()).unwrap();
            writer.write_all(format!("{number}\n").as_bytes()).unwrap();
        }
        writer.flush_all();
        assert_eq!(lines.try_iter().count(), 10);
    }
}
