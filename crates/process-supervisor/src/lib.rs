//! A tiny process between the server and one agent, which owns the whole process tree of that agent.
//!
//! The server re-executes its own binary as a *supervisor* for every agent it starts. The supervisor is the subreaper
//! of that one agent, so a daemon that double-forks becomes a child of the supervisor. It passes the stdio pipes to
//! the agent and is never in the data path.
//!
//! ```text
//!   server ──control socket──▶ supervisor ──fork/exec──▶ agent ──▶ whatever the agent starts
//!     └────────────── stdin, stdout, stderr pipes ─────────┘
//! ```
//!
//! The tree ends on command ([`Control::terminate`], [`Control::kill`]) or when the control socket closes, which
//! happens even when the server is killed with SIGKILL. The supervisor exits when the whole tree has ended.
//!
//! This crate never reads the agent's output and never decides when an agent should end.

mod children;
mod confinement;
mod exec;
mod exit;
mod init;
mod launch;
mod orphans;
mod pipe_size;
mod program;
mod signals;
mod supervise;
mod survivors;
mod tree;
mod usage;
mod wire;

pub use confinement::Confinement;
pub use exit::Exit;
pub use init::become_init_if_first_process;
pub use launch::{Control, Events, LaunchError, Launched, TreeEvent, launch};
pub use orphans::adopt_orphans;
pub use pipe_size::PipeSize;
pub use program::{own_program, set_supervisor_program};
pub use survivors::remaining;
pub use usage::{ProcessTable, SupervisorId, TreeUsage};
pub use wire::LaunchSpec;

/// The argument that turns the binary into a supervisor. It is internal and not listed in the help.
pub(crate) const SUPERVISE_ARGUMENT: &str = "--supervise-one-agent";

/// Turns this process into a supervisor when it was started as one; returns at once otherwise.
///
/// A binary that launches agents calls this at the start of `main`, before it starts threads or a runtime.
pub fn become_supervisor_if_asked() {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == SUPERVISE_ARGUMENT) {
        supervise::run(Confinement::of_argument(std::env::args_os().nth(2).as_deref()));
    }
}

/// Compiles the examples in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
