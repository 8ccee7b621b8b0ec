//! The task that writes to the agent. All lines that wait go out in one write.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::Arc;

use process_supervisor::PipeSize;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio_util::sync::CancellationToken;

use super::Instance;
use super::state::QueuedLine;
use crate::local::PipeMetrics;

/// How many lines one write takes at most.
const LINES_PER_WRITE: usize = 64;

/// Writes until the agent no longer reads, or until `finish` and the queue is empty. Dropping the pipe closes
/// the agent's input.
pub(super) async fn write(instance: Arc<Instance>, mut pipe: pipe::Sender, finish: CancellationToken) {
    let mut batch = VecDeque::new();
    let mut pipe_size = PipeSize::default();
    loop {
        {
            let mut state = instance.lock();
            std::mem::swap(&mut batch, &mut state.queue);
        }
        if batch.is_empty() {
            if finish.is_cancelled() {
                return;
            }
            // An idle instance holds no memory for a queue.
            batch = VecDeque::new();
            tokio::select! {
                () = instance.queued.notified() => {}
                () = finish.cancelled() => {}
            }
            // Where several clients send at once, the others get their turn first: a write for each message would wake
            // the agent as often. A single client is not held up.
            if instance.lock().client_requests.len() > 1 {
                tokio::task::yield_now().await;
            }
            continue;
        }
        let longest = batch.iter().map(|line: &QueuedLine| line.bytes.len()).max().unwrap_or(0);
        pipe_size.fit(&pipe, longest);
        if let Err(error) = write_all(&mut pipe, &mut batch, &instance.shared.metrics.pipes).await {
            tracing::debug!(server_id = %instance.id, %error, "the agent closed its input");
            input_failed(&instance, batch, &error).await;
            return;
        }
    }
}

async fn write_all(
    pipe: &mut pipe::Sender,
    batch: &mut VecDeque<QueuedLine>,
    metrics: &PipeMetrics,
) -> io::Result<()> {
    // How much of the first line is written already.
    let mut offset = 0;
    while !batch.is_empty() {
        let written = {
            let mut slices = [IoSlice::new(&[]); LINES_PER_WRITE];
            let count = batch.len().min(LINES_PER_WRITE);
            for (slice, line) in slices.iter_mut().zip(batch.iter()) {
                *slice = IoSlice::new(&line.bytes);
            }
            slices[0] = IoSlice::new(&batch[0].bytes[offset..]);
            pipe.write_vectored(&slices[..count]).await?
        };
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        metrics.stdin_bytes.add(written as u64);
        let waiting = batch.len();
        offset += written;
        while let Some(line) = batch.front()
            && offset >= line.bytes.len()
        {
            offset -= line.bytes.len();
            // Dropping the line gives its room and its memory back.
            batch.pop_front();
        }
        metrics.messages_written.add((waiting - batch.len()) as u64);
    }
    Ok(())
}

/// Most often a broken pipe means that the process has ended, and its exit says more than the pipe. So the exit gets its
/// chance first.
async fn input_failed(instance: &Arc<Instance>, unwritten: VecDeque<QueuedLine>, error: &io::Error) {
    let ended = instance.wait_finished();
    let _ = tokio::time::timeout(instance.shared.limits.eof_grace, ended).await;
    let settlements = {
        let mut state = instance.lock();
        if !matches!(state.phase, super::Phase::Running) {
            return;
        }
        state.input_failed(unwritten.into(), &error.to_string())
    };
    settlements.deliver();
    instance.announce();
}
