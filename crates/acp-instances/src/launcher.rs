//! The interface through which the engine learns how to start an agent.

use std::future::Future;
use std::pin::Pin;

use process_supervisor::LaunchSpec;

use crate::caller::Caller;
use crate::error::StartFailure;

/// A boxed future, for traits that are used as trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// An agent that is ready to be started.
pub struct Prepared {
    /// The command, environment and directory to start it with.
    pub spec: LaunchSpec,
    /// Held for as long as the process lives, so that the agent's files are not removed while it runs.
    pub lease: Box<dyn std::any::Any + Send>,
}

impl Prepared {
    /// Prepares an agent whose files are never removed.
    #[must_use]
    pub fn without_lease(spec: LaunchSpec) -> Self {
        Self { spec, lease: Box::new(()) }
    }
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Prepared").field("program", &self.spec.program).finish_non_exhaustive()
    }
}

/// Knows which agents exist and how to start them. It also installs a missing agent.
pub trait Launcher: Send + Sync + 'static {
    /// The agent to use if a client names none. The product has no default; the standalone adapter has only
    /// one agent.
    fn default_agent(&self) -> Option<&str> {
        None
    }

    /// Maps the name that a client used to the agent's main name; an agent may have aliases.
    fn resolve<'a>(
        &'a self,
        agent: &'a str,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<String, StartFailure>>;

    /// True if two names mean the same agent. Answers without waiting, from what is already known.
    fn is_same(&self, bound: &str, named: &str) -> bool {
        bound == named
    }

    /// Makes the agent ready (installs it if necessary) and returns how to start it. A failure is
    /// reported to every waiting client.
    fn prepare<'a>(&'a self, agent: &'a str) -> BoxFuture<'a, Result<Prepared, StartFailure>>;
}
