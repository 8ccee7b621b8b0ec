//! `RESULTS.md`: the generated table, and after it the hand-written part, which is kept.

use std::fs;
use std::path::Path;

use super::Row;
use crate::Result;

/// Everything up to this line is rewritten.
const END_OF_GENERATED: &str = "<!-- Above: written by `make bench`. Below: written by hand and kept. -->";

/// Rewrites the page except the hand-written part.
pub(crate) fn write(path: &Path, rows: &[Row], rounds: usize) -> Result<()> {
    let before = fs::read_to_string(path).unwrap_or_default();
    let by_hand = before.split_once(END_OF_GENERATED).map_or("\n", |(_, rest)| rest);
    let table: String = rows.iter().map(|row| format!("{row}\n")).collect();
    let head = Row::HEAD;
    let (machine, cores) = (machine(), std::thread::available_parallelism()?);
    let page = format!(
        "# What the bridge costs\n\n\
         All sides in one run on {machine} ({cores} cores), interleaved, {rounds} rounds; medians, with the least and the\n\
         most in parentheses. The limit is an absolute number, the other sides are ratios to it; where there is no limit,\n\
         they are absolute. Load, servers and agents share the cores.\n\n\
         {head}{table}\n\
         How cost grows: [throughput](plots/instances-throughput.svg) and [memory](plots/instances-memory.svg) over the\n\
         number of instances, [throughput](plots/sizes-throughput.svg) and [memory](plots/sizes-memory.svg) over the size\n\
         of messages.\n\n\
         {END_OF_GENERATED}{by_hand}"
    );
    fs::write(path, page)?;
    Ok(())
}

fn machine() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or("an unknown processor", |(_, name)| name.trim()).to_owned()
}
