//! Where agents come from, as far as the bridge cares.

use std::future::Future;
use std::pin::Pin;

use http_edge::Problem;
use process_supervisor::LaunchSpec;

/// A future that the bridge can hold on to.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// An agent that can be started.
pub struct Prepared {
    /// How to start it.
    pub spec: LaunchSpec,
    /// Held for as long as the process lives, so that nobody removes its files meanwhile.
    pub lease: Box<dyn std::any::Any + Send>,
}

impl Prepared {
    /// An agent whose files nobody removes.
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

/// Knows which agents there are and how to start them. Installing one that is missing happens in here.
pub trait Launcher: Send + Sync + 'static {
    /// The agent meant when a client names none. The product has none; the standalone adapter has just one.
    fn default_agent(&self) -> Option<&str> {
        None
    }

    /// The one name of the agent that a client means, which may have several. The problem says why there is none.
    fn resolve<'a>(&'a self, agent: &'a str) -> BoxFuture<'a, Result<String, Problem>>;

    /// Whether two names mean one agent, without asking anybody.
    fn is_same(&self, bound: &str, named: &str) -> bool {
        bound == named
    }

    /// Makes the agent ready and says how to start it. The problem is what every waiting client is told.
    fn prepare<'a>(&'a self, agent: &'a str) -> BoxFuture<'a, Result<Prepared, Problem>>;
}
