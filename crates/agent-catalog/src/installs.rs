//! Installs running in this process: one per agent, shared by all callers that wait for it.
//!
//! The work runs in a separate task, so that it continues if a caller leaves. The work also takes a file
//! lock, which excludes other processes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::agent_id::AgentId;
use crate::error::{CatalogError, InstallStep};
use crate::info::{InstallOutcome, InstallRequest};
use crate::install_counts::{InstallCounter, InstallCounts};
use crate::progress::{InstallProgress, ProgressReporter};

pub(crate) type InstallResult = Result<InstallOutcome, CatalogError>;

#[derive(Debug, Default)]
struct Slot {
    progress: watch::Sender<InstallProgress>,
    running: Option<Running>,
}

/// Why an agent is being installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A client requested the install: the registry is contacted again, and an agent that fails its
    /// verification is an error.
    Explicit,
    /// An agent is about to be started: a cached registry document is used, and an agent that fails its verification is
    /// started anyway, because its own output says more.
    FirstUse,
}

#[derive(Debug, Clone)]
struct Running {
    request: InstallRequest,
    purpose: Purpose,
    done: watch::Receiver<Option<InstallResult>>,
}

/// The running installs of all agents.
#[derive(Debug, Default)]
pub(crate) struct Installs {
    slots: Mutex<HashMap<AgentId, Slot>>,
    counter: Arc<InstallCounter>,
}

impl Installs {
    /// Watches an agent's progress, now and over later installs.
    pub(crate) fn progress(&self, id: &AgentId) -> watch::Receiver<InstallProgress> {
        self.locked().entry(id.clone()).or_default().progress.subscribe()
    }

    /// How installs ended so far.
    pub(crate) fn counts(&self) -> InstallCounts {
        self.counter.read()
    }

    /// Joins the running install of the same request and purpose, or starts `work`. Waits for any other running install
    /// of the agent to finish first.
    pub(crate) async fn run<F>(
        &self,
        id: &AgentId,
        request: &InstallRequest,
        purpose: Purpose,
        work: impl FnOnce(ProgressReporter) -> F,
    ) -> InstallResult
    where
        F: Future<Output = InstallResult> + Send + 'static,
    {
        let mut work = Some(work);
        loop {
            let (mut done, is_ours) = self.join_or_start(id, request, purpose, &mut work);
            let result = match done.wait_for(Option::is_some).await {
                Ok(result) => result.clone(),
                // The task ended without a result: it panicked.
                Err(_) => None,
            };
            if is_ours {
                return result.unwrap_or_else(|| Err(ended_without_result(id)));
            }
        }
    }

    fn join_or_start<F>(
        &self,
        id: &AgentId,
        request: &InstallRequest,
        purpose: Purpose,
        work: &mut Option<impl FnOnce(ProgressReporter) -> F>,
    ) -> (watch::Receiver<Option<InstallResult>>, bool)
    where
        F: Future<Output = InstallResult> + Send + 'static,
    {
        let mut slots = self.locked();
        let slot = slots.entry(id.clone()).or_default();
        // A finished or panicked install has dropped its sender, so it does not block the next one.
        if let Some(running) = slot.running.as_ref().filter(|running| running.done.has_changed().is_ok()) {
            return (running.done.clone(), running.request == *request && running.purpose == purpose);
        }
        let (sender, done) = watch::channel(None);
        // Called at most once: every path that starts the work returns "ours".
        if let Some(work) = work.take() {
            let progress = ProgressReporter::new(id.clone(), slot.progress.clone());
            let future = work(progress.clone());
            let counter = Arc::clone(&self.counter);
            tokio::spawn(async move {
                let result = future.await;
                counter.count(&result);
                progress.finish(result.as_ref().err().map(ToString::to_string));
                // All callers may have left.
                let _receivers_gone = sender.send(Some(result));
            });
        }
        slot.running = Some(Running { request: request.clone(), purpose, done: done.clone() });
        (done, true)
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<AgentId, Slot>> {
        // Only plain assignments happen under the lock, so a panic elsewhere leaves the map usable.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn ended_without_result(id: &AgentId) -> CatalogError {
    CatalogError::InstallFailed {
        agent: id.to_string(),
        step: InstallStep::Activate,
        detail: "the install ended without a result; this is a bug in sandbox-agent".to_owned(),
        output_tail: String::new(),
    }
}
