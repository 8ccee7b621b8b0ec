//! Where agents come from, as far as the engine cares.

use std::future::Future;
use std::pin::Pin;

use process_supervisor::LaunchSpec;

use crate::caller::Caller;
use crate::error::StartFailure;

/// A future behind a pointer, for traits that are used as objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// An agent that is ready to be started.
pub struct Prepared {
    /// How to start it.
    pub spec: LaunchSpec,
    /// Held for as long as the process lives, so that its files are not removed meanwhile.
    pub lease: Box<dyn std::any::Any + Send>,
}

impl Prepared {
    /// An agent whose files are never removed.
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

/// Knows which agents there are and how to start them. A missing agent is installed in here.
pub trait Launcher: Send + Sync + 'static {
    /// The agent that is meant when a client names none. The product has none; the standalone adapter has just one.
    fn default_agent(&self) -> Option<&str> {
        None
    }

    /// The one name of an agent that may have several.
    fn resolve<'a>(
        &'a self,
        agent: &'a str,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<String, StartFailure>>;

    /// True when two names mean the same agent. Answers at once, from what is known.
    fn is_same(&self, bound: &str, named: &str) -> bool {
        bound == named
    }

    /// Makes the agent ready and says how to start it. Every waiting client receives the failure.
    fn prepare<'a>(&'a self, agent: &'a str) -> BoxFuture<'a, Result<Prepared, StartFailure>>;
}
