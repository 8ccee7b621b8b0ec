//! Finding and ending every descendant of this process.
//!
//! A process group does not contain processes that called `setsid`. The parent links in `/proc` lead to all
//! descendants, because the supervisor is a subreaper and every orphan of the tree becomes its direct child. Without
//! `/proc`, only the children and their process groups are found at first; the others are found when their parents
//! have ended.

use std::collections::HashSet;
use std::fs;

use rustix::process::{Pid, Signal, getpgid, getpgrp, getpid, kill_process, kill_process_group};

use crate::children::own_children;

/// All descendants of this process; without `/proc`, its children.
pub(crate) fn descendants() -> Vec<Pid> {
    if fs::metadata("/proc/self").is_ok() { read_descendants(getpid()) } else { own_children() }
}

fn read_descendants(root: Pid) -> Vec<Pid> {
    let mut found = Vec::new();
    let mut seen = HashSet::from([root]);
    let mut open = vec![root];
    let table = if has_children_files(root) { None } else { Some(parent_table()) };
    while let Some(parent) = open.pop() {
        let children = match &table {
            None => children_of(parent),
            Some(table) => table.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid).collect(),
        };
        for child in children {
            if seen.insert(child) {
                found.push(child);
                open.push(child);
            }
        }
    }
    found
}

/// Sends `signal` to every current descendant.
pub(crate) fn signal_all(signal: Signal) {
    if fs::metadata("/proc/self").is_err() {
        return signal_groups(&own_children(), signal);
    }
    for pid in descendants() {
        // Fails if the process has ended in the meantime or belongs to another user; nothing can be done about either.
        let _ = kill_process(pid, signal);
    }
}

/// Sends `signal` to these processes and to all members of their process groups. The supervisor leads its own
/// session, so every group in it except the supervisor's own contains only descendants.
fn signal_groups(children: &[Pid], signal: Signal) {
    let own = getpgrp();
    let group_of = |child: &Pid| getpgid(Some(*child)).ok().filter(|group| *group != own);
    let groups: HashSet<Pid> = children.iter().filter_map(group_of).collect();
    for group in groups {
        let _ = kill_process_group(group, signal);
    }
    for child in children.iter().filter(|child| group_of(child).is_none()) {
        let _ = kill_process(*child, signal);
    }
}

/// Kills every descendant. Stops them all first, so that none can fork while the tree is scanned.
pub(crate) fn kill_all() {
    if fs::metadata("/proc/self").is_err() {
        // Finding children without `/proc` is slow, so there is no pass to stop them. A process that was missed is
        // found by the next call.
        return signal_groups(&own_children(), Signal::KILL);
    }
    let mut stopped = HashSet::new();
    // Each pass finds processes that were forked before their parents were stopped. A process that was missed is a
    // child of the supervisor by the next call.
    for _ in 0..16 {
        let fresh: Vec<Pid> = descendants().into_iter().filter(|pid| stopped.insert(*pid)).collect();
        if fresh.is_empty() {
            break;
        }
        for pid in fresh {
            let _ = kill_process(pid, Signal::STOP);
        }
    }
    // By group first: a signal to a group reaches also a child that is being forked, which a list of processes misses.
    // Without that, processes that fork and exit at once would outrun the scan.
    let found = descendants();
    signal_groups(&found, Signal::KILL);
    for pid in found {
        let _ = kill_process(pid, Signal::KILL);
    }
}

fn has_children_files(pid: Pid) -> bool {
    fs::metadata(format!("/proc/{0}/task/{0}/children", pid.as_raw_nonzero())).is_ok()
}

fn children_of(pid: Pid) -> Vec<Pid> {
    let Ok(threads) = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())) else { return Vec::new() };
    threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|list| list.split_ascii_whitespace().filter_map(parse_pid).collect::<Vec<_>>())
        .collect()
}

/// Every process with its parent. This is slower, and only needed on kernels without the `children` files.
fn parent_table() -> Vec<(Pid, Pid)> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    processes
        .flatten()
        .filter_map(|entry| {
            let pid = parse_pid(entry.file_name().to_str()?)?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            Some((pid, parent_in_stat(&stat)?))
        })
        .collect()
}

/// The parent in a `stat` line. The command name before it may contain spaces and parentheses.
fn parent_in_stat(stat: &str) -> Option<Pid> {
    let (_, after_name) = stat.rsplit_once(')')?;
    parse_pid(after_name.split_ascii_whitespace().nth(1)?)
}

fn parse_pid(text: &str) -> Option<Pid> {
    text.parse().ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_name_with_parentheses_does_not_confuse_the_parent() {
        assert_eq!(parent_in_stat("12 (a) b (c) S 7 12 12 0"), Pid::from_raw(7));
        assert_eq!(parent_in_stat("12 (sh"), None);
    }

    #[test]
    fn both_ways_of_looking_find_the_same_child() {
        let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        let pid = Pid::from_child(&child);
        assert!(descendants().contains(&pid));
        assert!(parent_table().contains(&(pid, getpid())));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
