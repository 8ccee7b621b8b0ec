//! The checks after each round: memory, processes, descriptors, and pending work.

use std::fs;
use std::path::Path;
use std::time::Instant;

use test_harness::Process;

use crate::wire::{Ask, PATIENCE};

const MEBIBYTE: u64 = 1 << 20;
/// How much memory the server may use in addition to one and a half times its memory account.
const BESIDE_THE_ACCOUNT: u64 = 40 * MEBIBYTE;

/// The values of `/metrics` that the checks use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Measured {
    pub(crate) used: u64,
    pub(crate) limit: u64,
    pub(crate) descriptors: u64,
    /// Connections, and requests and bytes that wait for something.
    open: [u64; 7],
}

impl Measured {
    /// The current values; `None` if the server does not answer.
    pub(crate) fn read(port: u16) -> Option<Self> {
        let answer = Ask::new("GET", "/metrics").header("Connection", "close").send(port).ok()?;
        let text = String::from_utf8(answer.body).ok()?;
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line?.parse::<u64>().ok()
        };
        Some(Self {
            used: value("sandbox_agent_memory_used_bytes")?,
            limit: value("sandbox_agent_memory_limit_bytes")?,
            descriptors: value("process_open_fds")?,
            open: [
                value("sandbox_agent_http_connections")?,
                value("sandbox_agent_pending_requests")?,
                value("sandbox_agent_awaited_answers")?,
                value("sandbox_agent_stdin_queue_bytes")?,
                value("sandbox_agent_replay_bytes")?,
                value(r#"sandbox_agent_instances{status="running"}"#)?,
                value(r#"sandbox_agent_instances{status="exited"}"#)?,
            ],
        })
    }

    /// True if this is the only connection, and nothing waits.
    pub(crate) fn is_idle(&self) -> bool {
        self.open == [1, 0, 0, 0, 0, 0, 0]
    }

    /// `Err` if the server uses more memory than its account explains. The pages of its own program do not count: the
    /// kernel can drop them, and an unoptimized program has 20 MB of them.
    pub(crate) fn explain(&self, server: Process) -> Result<(), String> {
        let used = server.own_memory();
        if used <= bound(self.used) {
            return Ok(());
        }
        Err(format!(
            "{} KiB are used, and the account explains {}: {self:?}",
            used >> 10,
            bound(self.used) >> 10
        ))
    }

    /// The differences from the state before the first round.
    fn difference(&self, start: &Self) -> Option<String> {
        (self != start).then(|| format!("now {self:?}, at the start {start:?}"))
    }
}

/// How much memory an account of this many bytes explains.
pub(crate) const fn bound(account: u64) -> u64 {
    account + account / 2 + BESIDE_THE_ACCOUNT
}

/// Waits until `look` finds no problem; panics with the problem at the deadline.
pub(crate) fn settled<T>(title: &str, mut look: impl FnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match look() {
            Ok(found) => return found,
            Err(wrong) => assert!(Instant::now() < deadline, "{title}: {wrong}"),
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// True once everything is as it was before the first round.
pub(crate) fn is_as_at_the_start(
    port: u16,
    server: Process,
    folder: &Path,
    start: &Measured,
) -> Result<(), String> {
    let measured = Measured::read(port).ok_or("the server does not answer")?;
    if let Some(difference) = measured.difference(start) {
        return Err(format!("{difference}; descriptors: {}", descriptors(server)));
    }
    measured.explain(server)?;
    let mut left = server.descendants();
    left.extend(processes_below(folder).into_iter().filter(|process| *process != server));
    match left.as_slice() {
        [] => Ok(()),
        left => Err(format!("processes are left: {}", describe(left))),
    }
}

/// Every process whose working directory is below a folder, wherever it is in the tree of processes.
pub(crate) fn processes_below(folder: &Path) -> Vec<Process> {
    let numbers = fs::read_dir("/proc").unwrap().flatten();
    let pids = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_below = |pid: &u32| {
        fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|directory| directory.starts_with(folder))
    };
    pids.filter(is_below).filter_map(Process::find).collect()
}

/// The files that the descriptors of a process refer to, if the kernel shows them to this user.
fn descriptors(process: Process) -> String {
    let entries = fs::read_dir(format!("/proc/{}/fd", process.pid)).into_iter().flatten().flatten();
    let targets = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    targets.map(|target| target.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Some processes as `/proc` describes them.
pub(crate) fn describe(processes: &[Process]) -> String {
    let describe = |process: &Process| {
        let stat = fs::read_to_string(format!("/proc/{}/stat", process.pid)).unwrap_or_default();
        stat.split(' ').take(4).collect::<Vec<_>>().join(" ")
    };
    processes.iter().take(10).map(describe).collect::<Vec<_>>().join("; ")
}
