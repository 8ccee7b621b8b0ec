//! Ends the processes that a killed supervisor leaves behind.
//!
//! A killed supervisor cannot end its tree. The kernel kills the agent together with it, but processes that the
//! agent started may have left the agent's session and group. If the server is a subreaper, they become its
//! children, and the server ends every child that is not a supervisor. It never calls `waitpid(-1)`, because that
//! would take the exit status of supervisors away from tokio.

use std::collections::HashSet;
use std::io;
use std::process::ExitStatus;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use tokio::process::{Child, Command};

use crate::tree;

/// The first and the longest pause between two searches for orphans. The search is repeated for as long as an orphan
/// exists, even if it cannot be killed.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(250));

/// The supervisors that this process has started; `None` if this process does not adopt orphans. The lock is held
/// while a supervisor is started: otherwise the supervisor could be mistaken for an orphan before it is in this
/// set.
static SUPERVISORS: Mutex<Option<HashSet<Pid>>> = Mutex::new(None);

fn supervisors() -> MutexGuard<'static, Option<HashSet<Pid>>> {
    // Every change is a single call, so the set is still valid after a panic.
    SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes this process end the processes that a killed supervisor leaves behind. Must be called before the first
/// launch, and only in a program that starts all its children with [`crate::launch`]: when a supervisor dies, all other
/// children are killed.
///
/// # Errors
/// This process already has children, which the program that it ran before `exec` started; or the kernel does not
/// support subreapers. In both cases, processes that a killed supervisor leaves behind continue to run.
pub fn adopt_orphans() -> io::Result<()> {
    let any = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if !matches!(waitid(WaitId::All, any), Err(Errno::CHILD)) {
        return Err(io::Error::other("this process has children that are not agents"));
    }
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    supervisors().get_or_insert_default();
    Ok(())
}

pub(crate) fn is_adopting() -> bool {
    supervisors().is_some()
}

/// A supervisor that this process has started. It is in [`SUPERVISORS`] until it has been reaped.
#[derive(Debug)]
pub(crate) struct SupervisorProcess {
    /// `None` once the process has been reaped.
    child: Option<Child>,
    pid: Option<Pid>,
}

impl SupervisorProcess {
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Self> {
        let mut supervisors = supervisors();
        let child = command.spawn()?;
        let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let (Some(supervisors), Some(pid)) = (&mut *supervisors, pid) {
            supervisors.insert(pid);
        }
        Ok(Self { child: Some(child), pid })
    }

    pub(crate) const fn pid(&self) -> Option<Pid> {
        self.pid
    }

    /// Kills the supervisor. The caller has to end the processes that it leaves behind, with [`end_all`].
    pub(crate) fn kill(&mut self) {
        // This fails only if the supervisor has already ended.
        let _ = self.child.as_mut().map(Child::start_kill);
    }

    /// Waits until the supervisor has ended. Cancel-safe.
    pub(crate) async fn wait(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.wait().await;
            self.child = None;
            unlist(self.pid);
        }
    }
}

impl Drop for SupervisorProcess {
    /// Reaps the supervisor in the background. Its control socket is dropped too, so it ends its tree and exits. If
    /// it was killed instead, its orphans are ended.
    fn drop(&mut self) {
        let (Some(mut child), pid) = (self.child.take(), self.pid) else { return };
        // If there is no runtime, this process is exiting.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            let ended = child.wait().await;
            unlist(pid);
            if !ended.is_ok_and(|status: ExitStatus| status.success()) {
                end_all().await;
            }
        });
    }
}

fn unlist(pid: Option<Pid>) {
    if let (Some(supervisors), Some(pid)) = (&mut *supervisors(), pid) {
        supervisors.remove(&pid);
    }
}

/// Ends all orphans, and waits until none of them exists.
pub(crate) async fn end_all() {
    let (mut pause, longest) = PAUSES;
    while let Ok(Remaining::Some) = tokio::task::spawn_blocking(kill_and_reap).await {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}

/// The orphans that this process has adopted and that still exist.
pub(crate) fn adopted() -> Vec<Pid> {
    match &*supervisors() {
        Some(supervisors) => {
            tree::children().into_iter().filter(|child| !supervisors.contains(child)).collect()
        }
        None => Vec::new(),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Remaining {
    None,
    Some,
}

/// Kills the orphans, and reaps those that have ended. The children of a killed orphan become orphans too.
fn kill_and_reap() -> Remaining {
    let orphans = adopted();
    tree::signal_groups(&orphans, Signal::KILL);
    for orphan in &orphans {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        while matches!(waitid(WaitId::Pid(*orphan), ended), Err(Errno::INTR)) {}
    }
    if orphans.is_empty() { Remaining::None } else { Remaining::Some }
}
