//! The task that writes to the agent's standard input. All lines that wait go out in one write.

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

/// How many lines one write combines at most.
const LINES_PER_WRITE: usize = 64;

/// Writes until the agent no longer reads, or until `finish` is cancelled and the queue is empty. Returning
/// drops the pipe, which closes the agent's input.
pub(super) async fn write(instance: Arc<Instance>, mut pipe: pipe::Sender, finish: CancellationToken) {
    let mut batch = VecDeque::new();
    let mut pipe_size = PipeSize::default();
    loop {
        // A message is written to the journal before it is sent to the agent.
        instance.commit();
        let is_queue_empty = take_written(&instance, &mut batch);
        if batch.is_empty() {
            if finish.is_cancelled() && is_queue_empty {
                return;
            }
            // Free the buffer, so that an idle instance holds no memory for it.
            batch = VecDeque::new();
            tokio::select! {
                () = instance.queued.notified() => {}
                () = finish.cancelled(), if is_queue_empty => {}
            }
            // If several clients are sending, let their tasks enqueue first: otherwise each message would be
            // written, and wake the agent, on its own. With a single client there is nothing to wait for.
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

/// Takes the lines that are in the journal. Returns true if no other lines wait.
fn take_written(instance: &Instance, batch: &mut VecDeque<QueuedLine>) -> bool {
    let mut state = instance.lock();
    if state.unwritten.is_clean() {
        std::mem::swap(batch, &mut state.queue);
    } else {
        let ready = state.queue.iter().take_while(|line| state.unwritten.has_written(line.after)).count();
        batch.extend(state.queue.drain(..ready));
    }
    state.is_writer_idle = batch.is_empty();
    state.queue.is_empty()
}

async fn write_all(
    pipe: &mut pipe::Sender,
    batch: &mut VecDeque<QueuedLine>,
    metrics: &PipeMetrics,
) -> io::Result<()> {
    // How much of the first line has been written.
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
            // Dropping the line releases its room in the queue and its memory.
            batch.pop_front();
        }
        metrics.messages_written.add((waiting - batch.len()) as u64);
    }
    Ok(())
}

/// Called when writing failed. Most often a broken pipe means that the process has ended, and its exit
/// explains more than the pipe error. So this waits a moment for the exit first.
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
    instance.publish(settlements);
}
