//! The task that owns an agent's process: it starts the process, waits for it to end, and ends it on request.

use std::sync::Arc;
use std::time::{Duration, Instant};

use process_supervisor::{Control, Events, Exit, Launched, TreeEvent};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::state::AfterExit;
use super::{Instance, Phase, stderr, stdin, stdout};
use crate::error::{Error, StartFailure, StartStep};
use crate::exit::{ExitCause, ExitRecord};
use crate::launcher::Prepared;

/// The time between SIGTERM and SIGKILL for processes that an agent left behind.
const LEFTOVER_GRACE: Duration = Duration::from_millis(500);

/// How long killing a process tree may take after both grace periods.
const KILL_MARGIN: Duration = Duration::from_secs(1);

/// Why an instance is being closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CloseReason {
    /// A client asked for it, or the instance was idle.
    Requested,
    /// The server shuts down.
    ShutDown,
}

/// Starts a process for an instance in phase `Starting`, in a new task.
pub(crate) fn start(instance: &Arc<Instance>) {
    tokio::spawn(run(Arc::clone(instance)));
}

async fn run(instance: Arc<Instance>) {
    // An earlier process under this id may not have ended completely yet.
    if let Err(still_running) = instance.wait_until_finished().await {
        let detail = format!("{still_running}; end them, or use another server id");
        return instance.fail_start(StartFailure::new(StartStep::SpawnFailed, detail));
    }
    let Prepared { spec, lease } = match instance.shared.launcher.prepare(&instance.agent).await {
        Ok(prepared) => prepared,
        Err(failure) => return instance.fail_start(failure),
    };
    if !instance.begin_launch() {
        return;
    }
    let launched = process_supervisor::launch(&spec).await;
    // The specification has a copy of the whole environment, which is not needed while the agent runs.
    drop(spec);
    match launched {
        Ok(launched) => {
            let (supervisor, trees) = (launched.supervisor, &instance.shared.metrics.by_agent.trees);
            trees.started(supervisor, &instance.series);
            let cpu = live(&instance, launched).await;
            trees.ended(supervisor, cpu);
        }
        Err(error) => instance.fail_start(StartFailure::new(
            StartStep::SpawnFailed,
            format!("{error}; check the agent's command and that it is installed"),
        )),
    }
    drop(lease);
    instance.finished.send_replace(true);
}

/// Runs a process until its whole tree has ended. Returns the processor time of the tree, if known.
async fn live(instance: &Arc<Instance>, launched: Launched) -> Option<Duration> {
    let Launched { pid, stdin, stdout, stderr, supervisor, control, mut events } = launched;
    instance.lock().supervisor = supervisor;
    // Set the status before reading any output: no answer may come from an agent whose status is still
    // `starting`.
    if !instance.started(pid) {
        // The instance was closed while the process was launched. No client knows of this process.
        kill(&control, &mut events).await;
        return events.cpu();
    }
    let finish = CancellationToken::new();
    let tail = stderr::Tail::default();
    let writer = tokio::spawn(stdin::write(Arc::clone(instance), stdin, finish.clone()));
    let reader = tokio::spawn(stdout::read(Arc::clone(instance), stdout));
    let errors = tokio::spawn(stderr::read(Arc::clone(instance), stderr, tail.clone()));
    tracing::info!(server_id = %instance.id, agent = %instance.agent, pid, "agent started");

    let mut outputs = [reader, errors];
    let ending = wait_for_end(instance, &mut events, &mut outputs[0]).await;
    // A DELETE must be answered at most a second after this time.
    let kill_at = Instant::now() + instance.shared.limits.graces();
    let (cause, after) = match ending {
        Ending::Exited(exit) => (ExitCause::Exited(exit), AfterExit::StayListed),
        Ending::OutputClosed => {
            let exit = end_process(instance, &control, &mut events, Duration::ZERO).await;
            (ExitCause::Exited(exit), AfterExit::StayListed)
        }
        Ending::CloseRequested => {
            finish.cancel();
            end_process(instance, &control, &mut events, instance.shared.limits.close_grace).await;
            (ExitCause::Closed, AfterExit::Leave)
        }
    };
    drain(&mut outputs, instance.shared.limits.drain).await;
    // Abort the writer and wait for it: otherwise it could write the next process's first line to this
    // process's pipe.
    writer.abort();
    let _ = writer.await;
    match after {
        // Settle waiting callers before ending the processes that the agent left behind.
        AfterExit::StayListed => {
            instance.end(cause, &tail, after);
            end_leftovers(&control, &mut events, LEFTOVER_GRACE).await;
        }
        AfterExit::Leave => {
            let left = kill_at.saturating_duration_since(Instant::now());
            end_leftovers(&control, &mut events, LEFTOVER_GRACE.min(left)).await;
            instance.end(cause, &tail, after);
        }
    }
    events.cpu()
}

enum Ending {
    Exited(Exit),
    OutputClosed,
    CloseRequested,
}

async fn wait_for_end(instance: &Instance, events: &mut Events, reader: &mut JoinHandle<()>) -> Ending {
    tokio::select! {
        event = events.next() => return ended(event),
        () = instance.close.cancelled() => return Ending::CloseRequested,
        _ = reader => {}
    }
    // The output ended before the process did. Most often the exit follows a moment later.
    tokio::select! {
        event = events.next() => ended(event),
        () = instance.close.cancelled() => Ending::CloseRequested,
        () = tokio::time::sleep(instance.shared.limits.eof_grace) => Ending::OutputClosed,
    }
}

fn ended(event: TreeEvent) -> Ending {
    Ending::Exited(match event {
        TreeEvent::Exited(exit) => exit,
        TreeEvent::Gone => Exit::Unknown,
    })
}

/// Waits `grace` for the process to exit by itself, then sends SIGTERM, then SIGKILL.
async fn end_process(instance: &Instance, control: &Control, events: &mut Events, grace: Duration) -> Exit {
    if let Ok(event) = tokio::time::timeout(grace, events.next()).await {
        return exit_of(event);
    }
    control.terminate();
    if let Ok(event) = tokio::time::timeout(instance.shared.limits.terminate_grace, events.next()).await {
        return exit_of(event);
    }
    exit_of(events.next_after_kill(control).await)
}

fn exit_of(event: TreeEvent) -> Exit {
    match event {
        TreeEvent::Exited(exit) => exit,
        TreeEvent::Gone => Exit::Unknown,
    }
}

/// Reads the rest of the output after the exit: the last answer may still be in the pipe.
async fn drain(outputs: &mut [JoinHandle<()>; 2], patience: Duration) {
    let deadline = tokio::time::Instant::now() + patience;
    for output in outputs {
        if !output.is_finished() && tokio::time::timeout_at(deadline, &mut *output).await.is_err() {
            // Wait for the abort, so that nothing of this process is read after its end.
            output.abort();
            let _ = output.await;
        }
    }
}

/// Ends the processes that the agent left behind.
async fn end_leftovers(control: &Control, events: &mut Events, grace: Duration) {
    control.terminate();
    if tokio::time::timeout(grace, events.next()).await.is_err() {
        kill(control, events).await;
    }
}

/// Kills the whole tree, and waits until it is gone.
async fn kill(control: &Control, events: &mut Events) {
    while events.next_after_kill(control).await != TreeEvent::Gone {}
}

impl Instance {
    /// Called when the agent is ready to be started. Returns false if the instance was closed in the meantime.
    fn begin_launch(&self) -> bool {
        let state = self.lock();
        let is_wanted = matches!(state.phase, Phase::Starting);
        if is_wanted {
            self.finished.send_replace(false);
        }
        is_wanted
    }

    /// Called when the process runs. Returns false if the instance was closed in the meantime.
    fn started(self: &Arc<Self>, pid: u32) -> bool {
        let settlements = {
            let mut state = self.lock();
            if !matches!(state.phase, Phase::Starting) {
                return false;
            }
            state.started(pid)
        };
        self.shared.metrics.agents.starts.increment();
        self.publish(settlements);
        true
    }

    /// Called when the agent could not be started. Changes the state in a single step under the lock, so that an
    /// instance that is closed at the same time is ended only once.
    fn fail_start(self: &Arc<Self>, failure: StartFailure) {
        let detail = failure.detail.clone();
        let cause = ExitCause::NotStarted(failure.clone());
        let Some((settlements, after)) = self.lock().fail_start(failure) else { return };
        tracing::warn!(server_id = %self.id, agent = %self.agent, reason = detail, "agent did not start");
        self.shared.metrics.agents.ended(&cause);
        self.publish(settlements);
        if after == AfterExit::Leave
            && let Some(registry) = self.shared.registry()
        {
            registry.remove(self);
            let instance = Arc::clone(self);
            tokio::spawn(async move { instance.close_journal().await });
        }
    }

    /// Called when the process has ended.
    fn end(self: &Arc<Self>, cause: ExitCause, tail: &stderr::Tail, after: AfterExit) {
        tracing::info!(server_id = %self.id, agent = %self.agent, ?cause, "agent ended");
        self.shared.metrics.agents.ended(&cause);
        let record = ExitRecord { cause, stderr_tail: tail.text() };
        let settlements = self.lock().end(record, after);
        self.publish(settlements);
    }

    /// Waits until the whole process tree is gone, but only for as long as that takes if every process can be killed.
    ///
    /// # Errors
    /// [`Error::StillRunning`] with the processes that have survived.
    pub(crate) async fn wait_until_finished(&self) -> Result<(), Error> {
        let patience = self.shared.limits.graces() + KILL_MARGIN;
        if tokio::time::timeout(patience, self.wait_finished()).await.is_ok() {
            return Ok(());
        }
        let supervisor = self.lock().supervisor;
        let remaining = tokio::task::spawn_blocking(move || process_supervisor::remaining(supervisor));
        let pids = remaining.await.unwrap_or_default();
        // The tree may have ended during the search for its processes.
        if *self.finished.borrow() { Ok(()) } else { Err(Error::StillRunning { pids }) }
    }

    /// Fails all waiting requests, because the agent's processes do not end. The `exit` event follows when they
    /// have ended.
    pub(crate) fn fail_waiting(self: &Arc<Self>) {
        let settlements = self.lock().fail_all(&Error::InstanceClosed);
        self.publish(settlements);
    }

    /// Closes the instance and waits until its whole process tree is gone.
    pub(crate) async fn close(self: &Arc<Self>, reason: CloseReason) {
        self.begin_close(reason);
        self.room.close();
        self.wait_finished().await;
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.close.is_cancelled()
    }

    pub(crate) fn begin_close(self: &Arc<Self>, reason: CloseReason) {
        let mut state = self.lock();
        let settlements = match &state.phase {
            Phase::Starting => {
                let cause = match reason {
                    CloseReason::Requested => ExitCause::Closed,
                    CloseReason::ShutDown => ExitCause::ShutDown,
                };
                Some(state.end(ExitRecord { cause, stderr_tail: String::new() }, AfterExit::Leave))
            }
            Phase::Running => {
                state.phase = Phase::Closing;
                (reason == CloseReason::ShutDown).then(|| state.fail_all(&Error::ShuttingDown))
            }
            Phase::Exited(ended) => {
                state.phase = Phase::Gone(ended.clone());
                None
            }
            Phase::Closing | Phase::Gone(_) => None,
        };
        drop(state);
        self.close.cancel();
        self.publish(settlements.unwrap_or_default());
    }
}

#[cfg(test)]
#[path = "lifecycle_tests.rs"]
mod tests;
