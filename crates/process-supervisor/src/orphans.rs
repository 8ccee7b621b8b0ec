//! Ending what a supervisor leaves when it is killed.
//!
//! A supervisor that is killed cannot end its tree. The agent dies with it, but a process that the agent started may have
//! left its session and its group. If the server is a subreaper, all of these become its children. The server then
//! ends every child that is not a supervisor. It never calls `waitpid(-1)`: that would take the exit status of
//! supervisors from tokio.

use std::collections::HashSet;
use std::io;
use std::process::ExitStatus;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use tokio::process::{Child, Command};

use crate::tree;

/// The pause between two searches for orphans, at first and at most: one that cannot be killed is waited for.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(250));

/// The supervisors of this process, or `None` if it does not adopt orphans. Locked while a supervisor is started, so that
/// a supervisor is not taken for an orphan before it is listed here.
static SUPERVISORS: Mutex<Option<HashSet<Pid>>> = Mutex::new(None);

fn supervisors() -> MutexGuard<'static, Option<HashSet<Pid>>> {
    // Every change is one step, so the set is sound after a panic.
    SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes this process end the processes that a killed supervisor leaves. Must be called before the first launch, and only
/// in a program whose children are all started by [`crate::launch`]: any other child is killed when a supervisor dies.
///
/// # Errors
/// This process has children already, because the program that it was before `exec` started them. Or the kernel has no
/// subreapers. In both cases, processes that a killed supervisor leaves live on.
pub fn adopt_orphans() -> io::Result<()> {
    let any = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if !matches!(waitid(WaitId::All, any), Err(Errno::CHILD)) {
        return Err(io::Error::other("this process has children that are no agents"));
    }
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    supervisors().get_or_insert_default();
    Ok(())
}

pub(crate) fn is_adopting() -> bool {
    supervisors().is_some()
}

/// A supervisor, as a child of this process. It stays listed until it has been waited for.
#[derive(Debug)]
pub(crate) struct SupervisorProcess {
    /// Taken out when the process has been waited for.
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

    /// Kills it. What it leaves is ended by [`end_all`].
    pub(crate) fn kill(&mut self) {
        // Fails only if it has ended.
        let _ = self.child.as_mut().map(Child::start_kill);
    }

    /// Waits for its end. Cancel-safe.
    pub(crate) async fn wait(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.wait().await;
            self.child = None;
            unlist(self.pid);
        }
    }
}

impl Drop for SupervisorProcess {
    /// The control socket is closed too, so the supervisor ends its tree and exits, unless it was killed.
    fn drop(&mut self) {
        let (Some(mut child), pid) = (self.child.take(), self.pid) else { return };
        // Without a runtime, this process is exiting.
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

/// Ends all orphans, and waits until none is left.
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

/// Kills the orphans, which makes their own children orphans, and reaps those that have ended.
fn kill_and_reap() -> Remaining {
    let orphans = adopted();
    tree::signal_groups(&orphans, Signal::KILL);
    for orphan in &orphans {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        while matches!(waitid(WaitId::Pid(*orphan), ended), Err(Errno::INTR)) {}
    }
    if orphans.is_empty() { Remaining::None } else { Remaining::Some }
}
