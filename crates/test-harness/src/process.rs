//! Inspects processes through `/proc`.

use std::fs;

/// A process. Its start time distinguishes it from a later process with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    started: u64,
}

impl Process {
    /// The process that currently has this number.
    #[track_caller]
    pub fn of(pid: u32) -> Self {
        Self::find(pid).unwrap_or_else(|| panic!("there is no process {pid}"))
    }

    /// The process that has this number now, if there is one.
    pub fn find(pid: u32) -> Option<Self> {
        Some(Self { pid, started: stat(pid)?.started })
    }

    /// True if the process is gone completely, so that not even a zombie is left.
    pub fn is_gone(self) -> bool {
        stat(self.pid).is_none_or(|stat| stat.started != self.started)
    }

    /// True if the process has exited but was not reaped.
    pub fn is_zombie(self) -> bool {
        stat(self.pid).is_some_and(|stat| stat.started == self.started && stat.state == 'Z')
    }

    /// True if the process is stopped by a signal.
    pub fn is_stopped(self) -> bool {
        stat(self.pid).is_some_and(|stat| stat.started == self.started && stat.state == 'T')
    }

    /// True if the process is running.
    pub fn is_alive(self) -> bool {
        !self.is_gone() && !self.is_zombie()
    }

    /// Waits until the process is gone completely.
    #[track_caller]
    pub fn wait_until_gone(self) {
        super::eventually(&format!("process {} is gone", self.pid), || self.is_gone().then_some(()));
    }

    /// Sends the process a signal by name, such as `KILL`.
    #[track_caller]
    pub fn signal(self, name: &str) {
        let sent = std::process::Command::new("kill").args(["-s", name, &self.pid.to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "cannot send {name} to {}", self.pid);
    }

    /// Kills the process, unless it has already exited.
    pub fn kill_if_there(self) {
        let mut kill = std::process::Command::new("kill");
        let _ = kill.args(["-s", "KILL", &self.pid.to_string()]).stderr(std::process::Stdio::null()).status();
    }

    pub fn parent(self) -> Self {
        Self::of(stat(self.pid).expect("the process is there").parent)
    }

    /// The parent, unless either of them has ended.
    pub fn parent_if_there(self) -> Option<Self> {
        let parent = Self::find(stat(self.pid)?.parent)?;
        parent.is_parent_of(self).then_some(parent)
    }

    /// True if the process is the parent of a process that still exists.
    pub fn is_parent_of(self, child: Self) -> bool {
        !child.is_gone() && stat(child.pid).is_some_and(|stat| stat.parent == self.pid)
    }

    /// All descendants of the process, including zombies.
    pub fn descendants(self) -> Vec<Self> {
        let everybody: Vec<(u32, Stat)> = fs::read_dir("/proc")
            .expect("there is a /proc")
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter_map(|pid| Some((pid, stat(pid)?)))
            .collect();
        let mut found: Vec<Self> = Vec::new();
        let mut open = vec![self.pid];
        while let Some(parent) = open.pop() {
            for (pid, stat) in everybody.iter().filter(|(_, stat)| stat.parent == parent) {
                found.push(Self { pid: *pid, started: stat.started });
                open.push(*pid);
            }
        }
        found
    }

    /// The largest resident size of the process so far, in bytes.
    pub fn peak_memory(self) -> u64 {
        self.memory("VmHWM:")
    }

    /// The resident size without the pages that are read from files, such as its program, in bytes.
    pub fn own_memory(self) -> u64 {
        self.memory("RssAnon:")
    }

    /// Its resident size, in bytes.
    pub fn resident_memory(self) -> u64 {
        self.memory("VmRSS:")
    }

    fn memory(self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).expect("the process is there");
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a size is listed");
        let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a size is a number");
        kibibytes * 1024
    }
}

struct Stat {
    state: char,
    parent: u32,
    started: u64,
}

fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before this may contain spaces and parentheses.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    Some(Stat {
        state: fields.first()?.chars().next()?,
        parent: fields.get(1)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}
