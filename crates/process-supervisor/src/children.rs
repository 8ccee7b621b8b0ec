//! Finding the children of this process where there is no `/proc` to read them from.
//!
//! The kernel tells whether a number is that of a child, to whoever asks to wait for it, so numbers are tried. That
//! finds children only, not their children; but whoever loses its parent becomes a child of the supervisor, so ending
//! what is found, again and again, ends the whole tree.

use std::ops::RangeInclusive;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions, waitid, waitpid};

use crate::signals::fork_and_exit;

/// No kernel gives a process a higher number.
const HIGHEST: i32 = 1 << 22;

/// Children of this process, those that have ended and are not reaped yet among them; at least one if there is any.
///
/// Trying all numbers takes a second or more. They are given out in ascending order, so what this process started is
/// mostly between its own number and the next one; only when nobody is there are all of them tried.
pub(crate) fn own_children() -> Vec<Pid> {
    if matches!(waitid(WaitId::All, looking()), Err(Errno::CHILD)) {
        return Vec::new();
    }
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let next = next_number().unwrap_or(own);
    let near = if next > own { children_in(own..=next) } else { children_in(1..=next) };
    if near.is_empty() { children_in(1..=HIGHEST) } else { near }
}

/// Takes nothing: whoever has ended is still there for the one who reaps.
fn looking() -> WaitIdOptions {
    WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT
}

fn children_in(numbers: RangeInclusive<i32>) -> Vec<Pid> {
    let is_child = |pid: &Pid| !matches!(waitid(WaitId::Pid(*pid), looking()), Err(Errno::CHILD));
    numbers.filter_map(Pid::from_raw).filter(is_child).collect()
}

/// The number that a process gets that starts now, seen by starting one that ends at once.
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
    fn a_child_is_found_also_when_it_has_ended_and_is_still_there_to_be_reaped() {
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
