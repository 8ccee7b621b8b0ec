//! Metrics of this process, under the names that all Prometheus clients use.
//!
//! They are read on every scrape. On a system without `/proc` these families have no values.

use metrics::Exposition;

/// Writes all values that are available.
pub(crate) fn expose(text: &mut Exposition) {
    let found = Process::read();
    let mut family =
        text.counter("process_cpu_seconds_total", "Processor time of this process, without its agents.");
    if let Some(process) = &found {
        family.fraction(&[], process.cpu_seconds);
    }
    let mut family =
        text.gauge("process_start_time_seconds", "Start time of this process, in seconds since 1970.");
    if let Some(start) = found.as_ref().and_then(|process| process.start_seconds) {
        family.fraction(&[], start);
    }
    let mut family = text.gauge("process_resident_memory_bytes", "Resident memory of this process.");
    if let Some(process) = &found {
        family.value(&[], process.resident_bytes);
    }
    let mut family = text.gauge("process_virtual_memory_bytes", "Virtual memory of this process.");
    if let Some(process) = &found {
        family.value(&[], process.virtual_bytes);
    }
    let mut family = text.gauge("process_threads", "Threads of this process.");
    if let Some(process) = &found {
        family.value(&[], process.threads);
    }
    let mut family = text.gauge("process_open_fds", "Open file descriptors of this process.");
    if let Some(count) = open_descriptors() {
        family.value(&[], count);
    }
    let mut family = text.gauge("process_max_fds", "Maximum number of open file descriptors.");
    if let Some(limit) = rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
        family.value(&[], limit);
    }
}

struct Process {
    cpu_seconds: f64,
    start_seconds: Option<f64>,
    resident_bytes: u64,
    virtual_bytes: u64,
    threads: u64,
}

impl Process {
    fn read() -> Option<Self> {
        let stat = Stat::parse(&std::fs::read_to_string("/proc/self/stat").ok()?)?;
        let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
        let boot = std::fs::read_to_string("/proc/stat").ok().and_then(|text| boot_time(&text));
        Some(Self {
            cpu_seconds: stat.cpu_ticks as f64 / ticks_per_second,
            start_seconds: boot.map(|boot| boot as f64 + stat.start_ticks as f64 / ticks_per_second),
            resident_bytes: stat.resident_pages * rustix::param::page_size() as u64,
            virtual_bytes: stat.virtual_bytes,
            threads: stat.threads,
        })
    }
}

/// The fields of `/proc/self/stat` that are exposed. The field numbers are those of proc_pid_stat(5).
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    cpu_ticks: u64,
    threads: u64,
    start_ticks: u64,
    virtual_bytes: u64,
    resident_pages: u64,
}

impl Stat {
    fn parse(text: &str) -> Option<Self> {
        // Field 2, the name, may contain spaces and parentheses. Field 3 follows the last closing
        // parenthesis.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            cpu_ticks: field(14)? + field(15)?,
            threads: field(20)?,
            start_ticks: field(22)?,
            virtual_bytes: field(23)?,
            resident_pages: field(24)?,
        })
    }
}

fn boot_time(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

fn open_descriptors() -> Option<u64> {
    let count = std::fs::read_dir("/proc/self/fd").ok()?.count() as u64;
    // One of the descriptors belongs to the directory that is being read.
    Some(count.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_does_not_shift_the_fields() {
        let text = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 40 2 13 14 15 16 9 18 500 8192 3 21";
        let expected =
            Stat { cpu_ticks: 42, threads: 9, start_ticks: 500, virtual_bytes: 8192, resident_pages: 3 };
        assert_eq!(Stat::parse(text), Some(expected));
        assert_eq!(Stat::parse("7 (a) S 1"), None);
        assert_eq!(boot_time("cpu 1\nbtime 1700000000\n"), Some(1_700_000_000));
    }

    #[test]
    fn this_process_has_memory_threads_and_descriptors() {
        let process = Process::read().unwrap();
        assert!(process.resident_bytes > 0 && process.virtual_bytes >= process.resident_bytes);
        assert!(process.threads > 0 && process.start_seconds.is_some_and(|start| start > 1e9));
        assert!(open_descriptors().is_some_and(|count| count >= 3));
    }
}
