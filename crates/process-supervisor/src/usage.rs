//! The resource usage of the agents' process trees: processor time and memory, read from `/proc`.
//!
//! One reading of the whole process table serves all trees. It reads one small file per process, which costs
//! less than following the children of every thread, and its cost does not depend on the number of trees.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use rustix::process::Pid;

/// The largest process table that is read, as a number of processes.
const MAX_PROCESSES: usize = 16_384;

/// The identity of a supervisor: a process id with its start time. Process ids are reused, but not with the
/// same start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SupervisorId {
    pid: u32,
    start_ticks: u64,
}

impl SupervisorId {
    /// The identity of the process with this id; `None` if `/proc` does not show the process.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, start_ticks: Stat::read(pid)?.start_ticks })
    }

    /// True if the supervisor is running. False if it has ended, even if it was not reaped yet.
    pub(crate) fn is_running(self) -> bool {
        Stat::read(self.pid).is_some_and(|stat| stat.start_ticks == self.start_ticks && !stat.has_ended)
    }

    pub(crate) fn process(self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.pid).ok()?)
    }

    /// The processor time of all ended processes that this supervisor started. Once the tree has ended, that
    /// is the time of the whole tree, until the supervisor is waited for.
    pub(crate) fn cpu_of_ended(self) -> Option<Duration> {
        let stat = Stat::read(self.pid).filter(|stat| stat.start_ticks == self.start_ticks)?;
        Some(time(stat.ended_ticks))
    }
}

/// The resource usage of one tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeUsage {
    /// Processor time since the start of the tree, including processes that have ended.
    pub cpu: Duration,
    /// The resident memory at the moment. Memory shared by several processes counts once for each of them.
    pub resident_bytes: u64,
}

/// A snapshot of all processes of this machine or container.
#[derive(Debug)]
pub struct ProcessTable {
    processes: HashMap<u32, Stat>,
    children: HashMap<u32, Vec<u32>>,
}

impl ProcessTable {
    /// Reads `/proc`. `None` if there is no `/proc`, or if it lists too many processes for a quick reading.
    #[must_use]
    pub fn read() -> Option<Self> {
        let mut processes = HashMap::new();
        for entry in fs::read_dir("/proc").ok()?.flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            if processes.len() >= MAX_PROCESSES {
                return None;
            }
            // A process that has ended in the meantime is left out.
            if let Some(stat) = Stat::read(pid) {
                processes.insert(pid, stat);
            }
        }
        (!processes.is_empty()).then(|| Self::of(processes))
    }

    fn of(processes: HashMap<u32, Stat>) -> Self {
        let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
        for (pid, stat) in &processes {
            children.entry(stat.parent).or_default().push(*pid);
        }
        Self { processes, children }
    }

    /// The usage of the tree below a supervisor, without the supervisor itself. `None` if the supervisor has
    /// ended.
    #[must_use]
    pub fn tree(&self, supervisor: SupervisorId) -> Option<TreeUsage> {
        let root = self.processes.get(&supervisor.pid)?;
        if root.start_ticks != supervisor.start_ticks {
            return None;
        }
        let (mut ticks, mut pages) = (root.ended_ticks, 0);
        let mut open = vec![supervisor.pid];
        while let Some(parent) = open.pop() {
            for pid in self.children.get(&parent).into_iter().flatten() {
                if let Some(stat) = self.processes.get(pid) {
                    ticks += stat.own_ticks + stat.ended_ticks;
                    pages += stat.resident_pages;
                    open.push(*pid);
                }
            }
        }
        Some(TreeUsage { cpu: time(ticks), resident_bytes: pages * rustix::param::page_size() as u64 })
    }
}

/// True if the process exists and has not ended.
pub(crate) fn is_running(pid: u32) -> bool {
    Stat::read(pid).is_some_and(|stat| !stat.has_ended)
}

fn time(ticks: u64) -> Duration {
    Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// The needed fields of `/proc/<pid>/stat`. The field numbers are those of proc_pid_stat(5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    /// True if the process has ended but was not reaped yet.
    has_ended: bool,
    parent: u32,
    own_ticks: u64,
    /// The time of children that have ended and were waited for, including their own children.
    ended_ticks: u64,
    start_ticks: u64,
    resident_pages: u64,
}

impl Stat {
    fn read(pid: u32) -> Option<Self> {
        // Read as bytes, because the name of a process may not be UTF-8.
        Self::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(line: &[u8]) -> Option<Self> {
        // Field 2, the name, may contain spaces and parentheses. Field 3 follows the last closing
        // parenthesis.
        let name_end = line.iter().rposition(|byte| *byte == b')')?;
        let mut fields = std::str::from_utf8(&line[name_end + 1..]).ok()?.split_ascii_whitespace();
        let mut next = 3;
        // Must be called with ascending numbers.
        let mut field = |number: usize| {
            let found = fields.nth(number - next)?;
            next = number + 1;
            Some(found)
        };
        let has_ended = matches!(field(3)?, "Z" | "X");
        let parent = field(4)?.parse().ok()?;
        let mut number = |index: usize| field(index)?.parse::<u64>().ok();
        let (user, system, ended_user, ended_system) = (number(14)?, number(15)?, number(16)?, number(17)?);
        Some(Self {
            has_ended,
            parent,
            own_ticks: user + system,
            ended_ticks: ended_user + ended_system,
            start_ticks: number(22)?,
            resident_pages: number(24)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(parent: u32, ticks: u64, pages: u64) -> Stat {
        Stat {
            has_ended: false,
            parent,
            own_ticks: ticks,
            ended_ticks: 1,
            start_ticks: 7,
            resident_pages: pages,
        }
    }

    #[test]
    fn the_fields_are_found_after_every_process_name() {
        let line = b"9 (a) b \xff) S 4 2 3 4 5 6 7 8 9 10 40 2 5 1 15 16 9 18 500 8192 3 21";
        let expected = Stat {
            has_ended: false,
            parent: 4,
            own_ticks: 42,
            ended_ticks: 6,
            start_ticks: 500,
            resident_pages: 3,
        };
        assert_eq!(Stat::parse(line), Some(expected));
        assert_eq!(Stat::parse(b"9 (a) S 4"), None);
    }

    #[test]
    fn a_tree_is_the_sum_of_all_descendants_without_the_supervisor_and_other_processes() {
        let processes = HashMap::from([
            (10, stat(1, 100, 100)),
            (11, stat(10, 5, 2)),
            (12, stat(11, 3, 4)),
            (13, stat(1, 50, 50)),
        ]);
        let table = ProcessTable::of(processes);
        let supervisor = SupervisorId { pid: 10, start_ticks: 7 };
        let usage = table.tree(supervisor).unwrap();
        // One tick of ended processes under each of the three.
        assert_eq!(usage.cpu, time(5 + 3 + 3));
        assert_eq!(usage.resident_bytes, 6 * rustix::param::page_size() as u64);
        assert_eq!(
            table.tree(SupervisorId { start_ticks: 8, ..supervisor }),
            None,
            "another process with its id"
        );
    }

    #[test]
    fn this_process_is_found_with_its_child() {
        let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        let own = SupervisorId::of(std::process::id()).unwrap();
        let usage = ProcessTable::read().unwrap().tree(own).unwrap();
        assert!(usage.resident_bytes > 0);
        assert!(own.cpu_of_ended().is_some());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
