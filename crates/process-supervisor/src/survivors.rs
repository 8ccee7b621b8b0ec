//! Finds the processes of a tree that have survived SIGKILL, for reports. Such processes belong to another user or
//! are stuck in the kernel.

use rustix::process::Pid;

use crate::orphans::adopted;
use crate::tree;
use crate::usage::{SupervisorId, is_running};

/// The maximum number of listed process ids.
const MAX_LISTED: usize = 256;

/// The processes of a tree that are still running; if only the supervisor is, the supervisor. If the supervisor was
/// killed, all orphans that this process has adopted, with their descendants. Empty if there is no `/proc`.
#[must_use]
pub fn remaining(supervisor: Option<SupervisorId>) -> Vec<u32> {
    let supervisor = supervisor.filter(|supervisor| supervisor.is_running()).and_then(SupervisorId::process);
    let orphans = if supervisor.is_some() { Vec::new() } else { adopted() };
    let below = supervisor.iter().chain(&orphans).flat_map(|root| tree::read_descendants(*root));
    let members: Vec<u32> =
        orphans.iter().copied().chain(below).map(number).filter(|pid| is_running(*pid)).collect();
    let mut listed = if members.is_empty() { supervisor.map(number).into_iter().collect() } else { members };
    listed.truncate(MAX_LISTED);
    listed
}

fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_has_ended_is_not_listed_even_before_it_is_reaped() {
        let mut child = std::process::Command::new("sh").args(["-c", "sleep 30 & wait"]).spawn().unwrap();
        let root = SupervisorId::of(child.id());
        while remaining(root) == [child.id()] {
            std::thread::yield_now();
        }
        let below = remaining(root);
        assert_eq!(below.len(), 1);
        let sleep = Pid::from_raw(i32::try_from(below[0]).unwrap()).unwrap();
        child.kill().unwrap();
        while !remaining(root).is_empty() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        rustix::process::kill_process(sleep, rustix::process::Signal::KILL).unwrap();
    }
}
