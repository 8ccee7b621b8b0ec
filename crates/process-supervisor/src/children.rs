//! Finds the children of this process on systems without `/proc`.
//!
//! `waitid` fails with ECHILD for a process id that does not belong to a child, so this module tries process ids. That
//! finds direct children only. But a process whose parent has ended becomes a child of the supervisor, so ending the
//! children repeatedly ends the whole tree.

use std::ops::RangeInclusive;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions, waitid, waitpid};

use crate::signals::fork_and_exit;

/// The highest process id that Linux assigns.
const HIGHEST: i32 = 1 << 22;

/// Children of this process, including those that have ended and are not reaped yet. Returns at least one if there are
/// any, but not always all of them.
///
/// Trying all process ids takes a second or more. The kernel assigns them in ascending order, so most children have
/// an id between that of this process and the next one to be assigned. All ids are tried only if that range has no
/// child.
pub(crate) fn own_children() -> Vec<Pid> {
    if matches!(waitid(WaitId::All, looking()), Err(Errno::CHILD)) {
        return Vec::new();
    }
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let next = next_number().unwrap_or(own);
    let near = if next > own { children_in(own..=next) } else { children_in(1..=next) };
    if near.is_empty() { children_in(1..=HIGHEST) } else { near }
}

/// The flags that check for a child without reaping it: an ended child remains for the reaping loop.
fn looking() -> WaitIdOptions {
    WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT
}

fn children_in(numbers: RangeInclusive<i32>) -> Vec<Pid> {
    let is_child = |pid: &Pid| !matches!(waitid(WaitId::Pid(*pid), looking()), Err(Errno::CHILD));
    numbers.filter_map(Pid::from_raw).filter(is_child).collect()
}

/// The process id that the kernel assigns next, found by starting a process that ends at once.
fn next_number() -> Option<i32> {
    let number = fork_and_exit().ok()?;
    let child = Pid::from_raw(number)?;
    while matches!(waitpid(Some(child), WaitOptions::empty()), Err(Errno::INTR)) {}
    Some(number)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_found_even_after_it_has_ended_and_before_it_is_reaped() {
        let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        let pid = Pid::from_child(&child);
        assert!(own_children().contains(&pid));
        child.kill().unwrap();
        assert!(own_children().contains(&pid));
        assert!(children_in(1..=HIGHEST).contains(&pid));
        assert!(!child.wait().unwrap().success());
        assert!(!own_children().contains(&pid));
    }
}
