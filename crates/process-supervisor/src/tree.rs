//! Finds and ends every descendant of this process.
//!
//! A process group does not contain processes that called `setsid`. The parent links in `/proc` lead to all
//! descendants, because the supervisor is a subreaper and every orphan of the tree becomes its direct child. Without
//! `/proc`, only the children and their process groups are found at first; the others are found when their parents
//! have ended.

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpgid, getpid, kill_process, kill_process_group};

use crate::children::own_children;
use crate::signals::own_group;

/// How long one search for descendants may take. Otherwise, processes that fork endlessly would keep the
/// search going for as long as they run.
const SEARCH_LIMIT: Duration = Duration::from_millis(100);
/// How many times one call of [`kill_all`] looks for new children.
const KILL_PASSES: usize = 16;

/// The descendants of this process that can be found in [`SEARCH_LIMIT`]; without `/proc`, its children.
pub(crate) fn descendants() -> Vec<Pid> {
    if fs::metadata("/proc/self").is_ok() { read_descendants(getpid()) } else { own_children() }
}

pub(crate) fn read_descendants(root: Pid) -> Vec<Pid> {
    let deadline = Instant::now() + SEARCH_LIMIT;
    let mut found = Vec::new();
    let mut seen = HashSet::from([root]);
    let mut open = VecDeque::from([root]);
    let table = if has_children_files(root) { None } else { Some(parent_table()) };
    // From the top down: if time runs out, the children of this process are among those found.
    while let Some(parent) = open.pop_front() {
        let children = match &table {
            None => children_of(parent),
            Some(table) => table.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid).collect(),
        };
        for child in children {
            if seen.insert(child) {
                found.push(child);
                open.push_back(child);
            }
        }
        if Instant::now() > deadline {
            break;
        }
    }
    found
}

/// Sends `signal` to every current descendant.
pub(crate) fn signal_all(signal: Signal) {
    signal_groups(&descendants(), signal);
}

/// Sends `signal` to these processes and to all members of their process groups. The supervisor leads its own
/// session, so every group in it except the supervisor's own contains only descendants.
///
/// A signal to a group also reaches a child that is just being forked, which a list of processes misses.
pub(crate) fn signal_groups(processes: &[Pid], signal: Signal) {
    let own = own_group();
    let mut groups = HashSet::new();
    for process in processes {
        // Each call fails if the process has ended in the meantime or belongs to another user; nothing can be done
        // about either.
        let _ = match getpgid(Some(*process)) {
            Ok(group) if group.as_raw_nonzero().get() == own => kill_process(*process, signal),
            Ok(group) if groups.insert(group) => kill_process_group(group, signal),
            Ok(_) | Err(_) => Ok(()),
        };
    }
}

/// Kills the children of this process with their process groups, then the processes that became its children
/// because of that, level by level. A process that was forked at that moment may be missed; the next call
/// finds it.
pub(crate) fn kill_all() {
    if fs::metadata("/proc/self").is_err() {
        // Finding children without `/proc` takes too long to do it several times.
        return signal_groups(&own_children(), Signal::KILL);
    }
    let own = getpid();
    let mut killed = HashSet::new();
    for _ in 0..KILL_PASSES {
        let children = if has_children_files(own) { children_of(own) } else { children_in_table(own) };
        let new: Vec<Pid> = children.into_iter().filter(|child| killed.insert(*child)).collect();
        if new.is_empty() {
            return;
        }
        signal_groups(&new, Signal::KILL);
    }
}

/// The children of this process. Complete even if the process has many threads: their `children` files can lack a
/// child while another one is reaped.
pub(crate) fn children() -> Vec<Pid> {
    if fs::metadata("/proc/self").is_ok() { children_in_table(getpid()) } else { own_children() }
}

fn children_in_table(parent: Pid) -> Vec<Pid> {
    parent_table().into_iter().filter(|(_, of)| *of == parent).map(|(pid, _)| pid).collect()
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
            // Read as bytes, because the name of a process may not be UTF-8.
            let stat = fs::read(entry.path().join("stat")).ok()?;
            Some((pid, parent_in_stat(&String::from_utf8_lossy(&stat))?))
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
    fn both_search_methods_find_the_same_child() {
        let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        let pid = Pid::from_child(&child);
        assert!(descendants().contains(&pid));
        assert!(parent_table().contains(&(pid, getpid())));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
