//! The system's data about a process: its memory, its processor time, its children.

use std::fs;

use crate::Result;

/// The resident memory of a process, in kB.
pub(crate) fn resident_kb(pid: u32) -> Result<u64> {
    status(pid, "VmRSS:")
}

/// The peak resident memory, in kB.
pub(crate) fn peak_kb(pid: u32) -> Result<u64> {
    status(pid, "VmHWM:")
}

/// The part that is not backed by a file: memory that the process has written.
pub(crate) fn anonymous_kb(pid: u32) -> Result<u64> {
    status(pid, "RssAnon:")
}

/// The process's private memory and its share of shared memory.
pub(crate) fn proportional_kb(pid: u32) -> Result<u64> {
    number(&fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?, "Pss:")
}

fn status(pid: u32, field: &str) -> Result<u64> {
    number(&fs::read_to_string(format!("/proc/{pid}/status"))?, field)
}

fn number(text: &str, field: &str) -> Result<u64> {
    let line = text.lines().find(|line| line.starts_with(field)).ok_or("a field is missing in /proc")?;
    Ok(line.split_ascii_whitespace().nth(1).ok_or("no number")?.parse()?)
}

/// The processor time a process has used, in milliseconds.
pub(crate) fn processor_ms(pid: u32) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name in parentheses may contain anything; the fields after it are numbers.
    let (_, fields) = text.rsplit_once(')').ok_or("no name")?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let ticks: u64 = fields.get(11).ok_or("no utime")?.parse::<u64>()?
        + fields.get(12).ok_or("no stime")?.parse::<u64>()?;
    Ok(ticks * 1000 / rustix::param::clock_ticks_per_second())
}

/// The children of all its threads.
pub(crate) fn children(pid: u32) -> Result<Vec<u32>> {
    let mut children = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = fs::read_to_string(thread?.path().join("children"))?;
        children.extend(text.split_ascii_whitespace().filter_map(|word| word.parse::<u32>().ok()));
    }
    Ok(children)
}

/// Raises the limit on open files for this process and its children: a thousand instances with a reader each need
/// several thousand.
pub(crate) fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
