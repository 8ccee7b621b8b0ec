//! The task that owns a process: it starts it, waits for its end, and ends it when asked.

use std::sync::Arc;
use std::time::Duration;

use http_edge::{Code, Problem};
use process_supervisor::{Control, Events, Exit, Launched, TreeEvent};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::state::Then;
use super::{Instance, Phase, stderr, stdin, stdout};
use crate::exit_record::{EndCause, ExitRecord};
use crate::launcher::Prepared;

/// How long what an agent left behind has between SIGTERM and SIGKILL.
const LEFTOVER_GRACE: Duration = Duration::from_millis(500);

/// Why an instance is closed from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CloseReason {
    /// Somebody asked for it, or nobody used it.
    Asked,
    /// The server shuts down.
    Stopping,
}

/// Starts a process for an instance in state `starting`, in a task of its own.
pub(crate) fn start(instance: &Arc<Instance>) {
    tokio::spawn(run(Arc::clone(instance)));
}

async fn run(instance: Arc<Instance>) {
    // An earlier process under this id may still be leaving.
    instance.wait_finished().await;
    let Prepared { spec, lease } = match instance.shared.launcher.prepare(&instance.agent).await {
        Ok(prepared) => prepared,
        Err(problem) => return instance.fail_start(problem),
    };
    if !instance.begin_launch() {
        return;
    }
    let launched = process_supervisor::launch(&spec).await;
    // The specification has a copy of the whole environment, which nobody needs for as long as the agent lives.
    drop(spec);
    match launched {
        Ok(launched) => live(&instance, launched).await,
        Err(error) => instance.fail_start(Problem::new(
            Code::SpawnFailed,
            format!("{error}; check the agent's command and that it is installed"),
        )),
    }
    drop(lease);
    instance.finished.send_replace(true);
}

async fn live(instance: &Arc<Instance>, launched: Launched) {
    let Launched { pid, stdin, stdout, stderr, control, mut events } = launched;
    // Before anybody reads a byte of it: no answer may come from an agent that is still said to be starting.
    if !instance.started(pid) {
        // Closed while it was being launched; nobody has heard of this process.
        control.kill();
        wait_until_gone(&mut events, instance).await;
        return;
    }
    let finish = CancellationToken::new();
    let tail = stderr::Tail::default();
    let writer = tokio::spawn(stdin::write(Arc::clone(instance), stdin, finish.clone()));
    let reader = tokio::spawn(stdout::listen(Arc::clone(instance), stdout));
    let errors = tokio::spawn(stderr::listen(Arc::clone(instance), stderr, tail.clone()));
    tracing::info!(server_id = %instance.id, agent = %instance.agent, pid, "agent started");

    let mut outputs = [reader, errors];
    let ending = wait_for_end(instance, &mut events, &mut outputs[0]).await;
    let (cause, then) = match ending {
        Ending::Exited(exit) => (EndCause::Exited(exit), Then::StayListed),
        Ending::OutputClosed => {
            let exit = end_process(instance, &control, &mut events, Duration::ZERO).await;
            (EndCause::Exited(exit), Then::StayListed)
        }
        Ending::CloseAsked => {
            finish.cancel();
            end_process(instance, &control, &mut events, instance.shared.limits.close_grace).await;
            (EndCause::Closed, Then::Leave)
        }
    };
    drain(&mut outputs, instance.shared.limits.drain).await;
    // Waited for: a writer that lives on for a moment would take the next process's first line to this one's pipe.
    writer.abort();
    let _ = writer.await;
    match then {
        // Whoever waits learns of the end before what the agent left behind is cleared away.
        Then::StayListed => {
            instance.end(cause, &tail, then);
            clear_away(&control, &mut events, instance).await;
        }
        Then::Leave => {
            clear_away(&control, &mut events, instance).await;
            instance.end(cause, &tail, then);
        }
    }
}

enum Ending {
    Exited(Exit),
    OutputClosed,
    CloseAsked,
}

async fn wait_for_end(instance: &Instance, events: &mut Events, reader: &mut JoinHandle<()>) -> Ending {
    tokio::select! {
        event = events.next() => return ended(event),
        () = instance.close.cancelled() => return Ending::CloseAsked,
        _ = reader => {}
    }
    // End of output without an exit: mostly the exit is just a moment behind.
    tokio::select! {
        event = events.next() => ended(event),
        () = instance.close.cancelled() => Ending::CloseAsked,
        () = tokio::time::sleep(instance.shared.limits.eof_grace) => Ending::OutputClosed,
    }
}

fn ended(event: TreeEvent) -> Ending {
    Ending::Exited(match event {
        TreeEvent::Exited(exit) => exit,
        TreeEvent::Gone { .. } => Exit::Unknown,
    })
}

/// Waits `grace` for the process to leave by itself, then SIGTERM, then SIGKILL.
async fn end_process(instance: &Instance, control: &Control, events: &mut Events, grace: Duration) -> Exit {
    if let Ok(event) = tokio::time::timeout(grace, events.next()).await {
        return exit_of(event);
    }
    control.terminate();
    if let Ok(event) = tokio::time::timeout(instance.shared.limits.terminate_grace, events.next()).await {
        return exit_of(event);
    }
    control.kill();
    exit_of(events.next().await)
}

fn exit_of(event: TreeEvent) -> Exit {
    match event {
        TreeEvent::Exited(exit) => exit,
        TreeEvent::Gone { .. } => Exit::Unknown,
    }
}

/// Exit is not end of output: the last answer may still be in the pipe.
async fn drain(outputs: &mut [JoinHandle<()>; 2], patience: Duration) {
    let deadline = tokio::time::Instant::now() + patience;
    for output in outputs {
        if !output.is_finished() && tokio::time::timeout_at(deadline, &mut *output).await.is_err() {
            // Waited for, so that nothing is heard of this process after its end.
            output.abort();
            let _ = output.await;
        }
    }
}

/// Ends what the agent left behind.
async fn clear_away(control: &Control, events: &mut Events, instance: &Instance) {
    control.terminate();
    if let Ok(event) = tokio::time::timeout(LEFTOVER_GRACE, events.next()).await {
        return note_survivors(event, instance);
    }
    control.kill();
    wait_until_gone(events, instance).await;
}

async fn wait_until_gone(events: &mut Events, instance: &Instance) {
    loop {
        let event = events.next().await;
        if let TreeEvent::Gone { .. } = event {
            return note_survivors(event, instance);
        }
    }
}

fn note_survivors(event: TreeEvent, instance: &Instance) {
    if let TreeEvent::Gone { survivors: 1.. } = event {
        tracing::error!(server_id = %instance.id, ?event, "processes of the agent could not be ended");
    }
}

impl Instance {
    /// The launch begins, unless the instance was closed while the agent was made ready.
    fn begin_launch(&self) -> bool {
        let state = self.lock();
        let wanted = matches!(state.phase, Phase::Starting);
        if wanted {
            self.finished.send_replace(false);
        }
        wanted
    }

    fn started(&self, pid: u32) -> bool {
        let settlements = {
            let mut state = self.lock();
            if !matches!(state.phase, Phase::Starting) {
                return false;
            }
            state.started(pid)
        };
        self.shared.measures.agents.starts.increment();
        settlements.deliver();
        self.announce();
        true
    }

    fn fail_start(&self, problem: Problem) {
        tracing::warn!(server_id = %self.id, agent = %self.agent, reason = problem.detail(), "agent did not start");
        let then = {
            let state = self.lock();
            if !matches!(state.phase, Phase::Starting) {
                return;
            }
            // An id with a past keeps it; a new one is as if it had never been.
            if state.log.events.end() > 0 { Then::StayListed } else { Then::Leave }
        };
        self.end(EndCause::NotStarted(problem), &stderr::Tail::default(), then);
        if then == Then::Leave
            && let Some(registry) = self.shared.registry.get().and_then(std::sync::Weak::upgrade)
        {
            registry.remove(self);
        }
    }

    fn end(&self, cause: EndCause, tail: &stderr::Tail, then: Then) {
        tracing::info!(server_id = %self.id, agent = %self.agent, ?cause, "agent ended");
        self.shared.measures.agents.ended(&cause);
        let settlements = self.lock().end(cause, tail.text(), then);
        settlements.deliver();
        self.announce();
    }

    /// Closes the instance and waits until nothing of it is left.
    pub(crate) async fn close(self: &Arc<Self>, reason: CloseReason) {
        self.begin_close(reason);
        self.room.close();
        self.wait_finished().await;
    }

    fn begin_close(&self, reason: CloseReason) {
        let mut state = self.lock();
        let settlements = match &state.phase {
            Phase::Starting => {
                let cause = match reason {
                    CloseReason::Asked => EndCause::Closed,
                    CloseReason::Stopping => EndCause::Stopping,
                };
                Some(state.end(cause, String::new(), Then::Leave))
            }
            Phase::Running => {
                state.phase = Phase::Closing;
                (reason == CloseReason::Stopping).then(|| state.fail_all(&ExitRecord::stopping()))
            }
            Phase::Exited(record) => {
                state.phase = Phase::Gone(record.clone());
                None
            }
            Phase::Closing | Phase::Gone(_) => None,
        };
        drop(state);
        self.close.cancel();
        if let Some(settlements) = settlements {
            settlements.deliver();
        }
        self.announce();
    }
}
