//! The transport on stdin and stdout, with features that the SDK's own stdio transport lacks.
//!
//! The SDK hands over whole frames. Five things happen here, in the order of the frames: the SDK's random request
//! ids become 0, 1, 2, ...; [`WriteRaw`] frames become raw bytes; an [`ExitNow`] frame ends the process after all
//! earlier frames are written; turns learn how many of their updates are still unwritten, so that a long stream
//! does not accumulate in memory; and messages after `initialize` wait for its response, so that a client may send
//! several lines at once.
//!
//! Reading and writing use blocking threads: a client that does not read blocks neither the dispatch loop nor
//! cancellation.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::{
    Channel, JsonRpcMessage, RawJsonRpcId, RawJsonRpcMessage, RawJsonRpcParams, RawJsonRpcResponse,
    TransportFrame,
};
use futures_util::StreamExt;
use serde_json::Value;
use tokio::sync::{Notify, mpsc};

use crate::agent::Agent;
use crate::extension::{ExitNow, WriteRaw};
use crate::{MockAgentError, methods};

/// The maximum number of lines that wait for the writer thread.
const WRITER_QUEUE: usize = 16;

/// Locks a mutex whose data stays usable after a panic in another thread.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts the updates that were handed to the SDK and have not reached the writer yet.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    waiting: AtomicUsize,
    drained: Notify,
}

impl Flow {
    /// Counts one update that is about to be sent.
    pub(crate) fn queued(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    fn written(&self) {
        // Updates outside a turn are not counted, so this must not go below zero.
        let _ = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        self.drained.notify_waiters();
    }

    /// Waits until at most `limit` updates are unwritten.
    pub(crate) async fn settle(&self, limit: usize) {
        loop {
            let drained = self.drained.notified();
            if self.waiting.load(Ordering::Relaxed) <= limit {
                return;
            }
            drained.await;
        }
    }
}

/// The agent's open requests: the number in the message, and the SDK's internal id.
#[derive(Debug, Default)]
struct RequestNumbers {
    next: i64,
    open: HashMap<i64, RawJsonRpcId>,
}

impl RequestNumbers {
    fn outgoing(&mut self, message: &mut RawJsonRpcMessage) {
        match message {
            RawJsonRpcMessage::Request(request) => {
                let number = self.next;
                self.next += 1;
                let inner = std::mem::replace(&mut request.id, RawJsonRpcId::Number(number));
                self.open.insert(number, inner);
            }
            RawJsonRpcMessage::Notification(notification) if &*notification.method == "$/cancel_request" => {
                if let Some(RawJsonRpcParams::Object(params)) = &mut notification.params
                    && let Some(id) = params.get_mut("requestId")
                    && let Some(number) = self.number_of(id)
                {
                    *id = number.into();
                }
            }
            RawJsonRpcMessage::Notification(_) | RawJsonRpcMessage::Response(_) => {}
        }
    }

    fn number_of(&self, id: &Value) -> Option<i64> {
        let wanted: RawJsonRpcId = serde_json::from_value(id.clone()).ok()?;
        self.open.iter().find(|(_, inner)| **inner == wanted).map(|(number, _)| *number)
    }

    fn incoming(&mut self, message: &mut RawJsonRpcMessage) {
        if let RawJsonRpcMessage::Response(
            RawJsonRpcResponse::Result { id, .. } | RawJsonRpcResponse::Error { id, .. },
        ) = message
            && let RawJsonRpcId::Number(number) = id
            && let Some(inner) = self.open.remove(number)
        {
            *id = inner;
        }
    }
}

/// Pauses stdin while `initialize` is unanswered: until then the SDK refuses everything else.
#[derive(Debug, Default)]
struct Gate {
    waiting_for: Mutex<Option<RawJsonRpcId>>,
    answered: Condvar,
}

impl Gate {
    /// Closes the gate after an `initialize` request.
    fn close_behind(&self, frame: &TransportFrame) {
        if let TransportFrame::Single(RawJsonRpcMessage::Request(request)) = frame
            && &*request.method == "initialize"
        {
            *lock(&self.waiting_for) = Some(request.id.clone());
        }
    }

    /// Opens the gate when the response passes.
    fn open_for(&self, frame: &TransportFrame) {
        if let TransportFrame::Single(message) = frame {
            let mut waiting_for = lock(&self.waiting_for);
            if waiting_for.is_some() && waiting_for.as_ref() == message.response_id() {
                *waiting_for = None;
                self.answered.notify_all();
            }
        }
    }

    fn pass(&self) {
        let closed = lock(&self.waiting_for);
        // Poisoning is ignored, as in `lock`.
        drop(self.answered.wait_while(closed, |id| id.is_some()).unwrap_or_else(PoisonError::into_inner));
    }
}

/// Shared by the two directions.
#[derive(Debug, Default)]
struct Shared {
    numbering: Mutex<RequestNumbers>,
    gate: Gate,
}

/// A job for the writer thread.
enum Output {
    Bytes(Vec<u8>),
    Exit(ExitNow),
}

/// This process's stdio, with the two threads that serve it.
pub(crate) struct Wire {
    /// The SDK's end; the other end belongs to the threads and the pump.
    channel: Channel,
    frames: futures_util::stream::BoxStream<'static, TransportFrame>,
    writer: mpsc::Sender<Output>,
    writing: std::thread::JoinHandle<()>,
    shared: Arc<Shared>,
    flow: Arc<Flow>,
}

impl Wire {
    /// Starts reading stdin and writing stdout.
    pub(crate) fn open() -> std::io::Result<Self> {
        let (channel, ours) = Channel::duplex();
        let (frames, incoming) = ours.into_parts();
        let shared = Arc::new(Shared::default());

        let reading = Arc::clone(&shared);
        std::thread::Builder::new().name("stdin".into()).spawn(move || {
            // The loop ends with stdin, or when the receiver is dropped.
            read_lines(&reading, |frame| incoming.unbounded_send(frame).is_ok());
        })?;
        let (writer, output) = mpsc::channel(WRITER_QUEUE);
        let writing = std::thread::Builder::new().name("stdout".into()).spawn(move || write_all(output))?;

        Ok(Self { channel, frames: frames.boxed(), writer, writing, shared, flow: Arc::default() })
    }

    /// The back pressure that turns observe.
    pub(crate) fn flow(&self) -> Arc<Flow> {
        Arc::clone(&self.flow)
    }

    /// Runs `agent` on this wire until stdin ends.
    pub(crate) async fn serve(self, agent: Agent) -> Result<(), MockAgentError> {
        let Self { channel, mut frames, writer, writing, shared, flow } = self;
        let connection = async move { methods::serve(agent, channel).await.map_err(MockAgentError::from) };
        let pump = async move {
            while let Some(frame) = frames.next().await {
                let is_update = is_method(&frame, "session/update");
                shared.gate.open_for(&frame);
                let output = prepare(frame, &shared.numbering)?;
                writer.send(output).await.map_err(|_| MockAgentError::Output)?;
                if is_update {
                    flow.written();
                }
            }
            Ok(())
        };
        tokio::try_join!(Box::pin(connection), pump)?;
        // The pump has dropped its sender, so the thread ends after it has written the last line.
        writing.join().map_err(|_| MockAgentError::Output)
    }
}

fn is_method(frame: &TransportFrame, method: &str) -> bool {
    matches!(frame, TransportFrame::Single(RawJsonRpcMessage::Notification(n)) if &*n.method == method)
}

/// Turns one frame into output for stdout.
fn prepare(frame: TransportFrame, numbering: &Mutex<RequestNumbers>) -> Result<Output, MockAgentError> {
    let mut message = match frame {
        TransportFrame::Single(message) => message,
        other => return Ok(Output::Bytes(line(other.to_json()?))),
    };
    if let RawJsonRpcMessage::Notification(notification) = &message {
        let method = &*notification.method;
        if WriteRaw::matches_method(method) || ExitNow::matches_method(method) {
            let params = notification.params.clone().map_or(Value::Null, RawJsonRpcParams::into_value);
            return Ok(if WriteRaw::matches_method(method) {
                Output::Bytes(WriteRaw::parse_message(method, &params)?.bytes)
            } else {
                Output::Exit(ExitNow::parse_message(method, &params)?)
            });
        }
    }
    lock(numbering).outgoing(&mut message);
    Ok(Output::Bytes(line(TransportFrame::Single(message).to_json()?)))
}

fn line(text: String) -> Vec<u8> {
    let mut bytes = text.into_bytes();
    bytes.push(b'\n');
    bytes
}

fn read_lines(shared: &Shared, mut deliver: impl FnMut(TransportFrame) -> bool) {
    let mut stdin = std::io::stdin().lock();
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        // A failed read is treated as the end of stdin: there is no client to report it to.
        if stdin.read_until(b'\n', &mut buffer).unwrap_or(0) == 0 {
            return;
        }
        let text = String::from_utf8_lossy(&buffer);
        if text.trim().is_empty() {
            continue;
        }
        let mut frame = TransportFrame::parse_json(text.trim_end());
        if let TransportFrame::Single(message) = &mut frame {
            lock(&shared.numbering).incoming(message);
        }
        shared.gate.close_behind(&frame);
        if !deliver(frame) {
            return;
        }
        shared.gate.pass();
    }
}

/// Writes until the senders are dropped; a closed stdout ends it early.
fn write_all(mut output: mpsc::Receiver<Output>) {
    let mut stdout = std::io::stdout().lock();
    while let Some(item) = output.blocking_recv() {
        let written = match item {
            Output::Bytes(bytes) => stdout.write_all(&bytes),
            Output::Exit(exit) => {
                let _ = stdout.flush();
                let _ = std::io::stderr().write_all(exit.stderr_message.as_bytes());
                std::process::exit(exit.code);
            }
        };
        // Flushing only when the queue is empty combines small lines into few writes.
        let flushed = if output.is_empty() { stdout.flush() } else { Ok(()) };
        if written.and(flushed).is_err() {
            return;
        }
    }
    let _ = stdout.flush();
}
