//! The progress of an install: state, step and elapsed time, on a watch channel.

use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::sync::watch;

use crate::agent_id::AgentId;
use crate::error::InstallStep;

/// Whether an agent is being installed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InstallState {
    /// No version is installed.
    #[default]
    NotInstalled,
    /// An install is running.
    Installing,
    /// A version is installed.
    Installed,
    /// The last attempt failed; an older version may still be in use.
    Failed,
}

/// The progress of one agent's install in this process.
#[derive(Debug, Clone, Default)]
pub struct InstallProgress {
    /// The current state.
    pub state: InstallState,
    /// The running step, or the one that failed.
    pub step: Option<InstallStep>,
    /// What the step is working on, such as a package's name.
    pub detail: Option<String>,
    /// Why the install failed.
    pub error: Option<String>,
    started: Option<Instant>,
    took: Option<Duration>,
}

impl InstallProgress {
    /// How long the install has been running, or how long it ran.
    #[must_use]
    pub fn elapsed(&self) -> Option<Duration> {
        self.took.or_else(|| self.started.map(|start| start.elapsed()))
    }
}

/// The sending side of the progress channel, held by the running install.
#[derive(Debug, Clone)]
pub(crate) struct ProgressReporter {
    agent: AgentId,
    sender: watch::Sender<InstallProgress>,
}

impl ProgressReporter {
    pub(crate) fn new(agent: AgentId, sender: watch::Sender<InstallProgress>) -> Self {
        sender.send_replace(InstallProgress {
            state: InstallState::Installing,
            started: Some(Instant::now()),
            ..InstallProgress::default()
        });
        Self { agent, sender }
    }

    /// Reports the start of a step.
    pub(crate) fn enter(&self, step: InstallStep, detail: impl Into<String>) {
        let detail = detail.into();
        tracing::info!(agent = %self.agent, %step, %detail, "install");
        self.sender.send_modify(|progress| {
            progress.step = Some(step);
            progress.detail = Some(detail);
        });
    }

    /// Reports the end of the install.
    pub(crate) fn finish(&self, error: Option<String>) {
        self.sender.send_modify(|progress| {
            progress.took = progress.elapsed();
            progress.state = if error.is_some() { InstallState::Failed } else { InstallState::Installed };
            if error.is_none() {
                progress.step = None;
                progress.detail = None;
            }
            progress.error = error;
        });
    }
}
