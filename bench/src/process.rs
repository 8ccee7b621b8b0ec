//! What the system says of a process: its memory, its processor time, its children.

use std::fs;

use crate::Result;

/// The resident memory of a process, in kB.
pub(crate) fn resident_kb(pid: u32) -> Result<u64> {
    status(pid, "VmRSS:")
}

/// The most it ever was.
pub(crate) fn peak_kb(pid: u32) -> Result<u64> {
    status(pid, "VmHWM:")
}

/// The part of it that is not a file's: what the process has written itself.
pub(crate) fn anonymous_kb(pid: u32) -> Result<u64> {
    status(pid, "RssAnon:")
}

/// The memory that would be free without this process: its own pages, and its share of those it shares.
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
    // The name, in parentheses, may hold anything; the fields behind it are numbers.
    let (_, fields) = text.rsplit_once(')').ok_or("no name")?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let ticks: u64 = fields.get(11).ok_or("no utime")?.parse::<u64>()?
        + fields.get(12).ok_or("no stime")?.parse::<u64>()?;
    Ok(ticks * 1000 / rustix::param::clock_ticks_per_second())
}

/// Its children, of all its threads.
pub(crate) fn children(pid: u32) -> Result<Vec<u32>> {
    let mut children = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = fs::read_to_string(thread?.path().join("children"))?;
        children.extend(text.split_ascii_whitespace().filter_map(|word| word.parse::<u32>().ok()));
    }
    Ok(children)
}

/// Lets this process and those it starts open as many files as the system allows: a thousand instances with a
/// reader each take several thousand.
pub(crate) fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
