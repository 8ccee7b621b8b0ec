//! Progress of long operations: one line that is updated in place on a terminal. Without a terminal, only the steps
//! of an installation are printed.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// One line that is updated in place on a terminal; otherwise, a new line for each step.
pub(super) struct StatusLine {
    terminal: bool,
    frame: usize,
    last: String,
}

impl StatusLine {
    const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

    pub(super) fn new() -> Self {
        Self { terminal: is_terminal(), frame: 0, last: String::new() }
    }

    pub(super) fn show(&mut self, text: &str) {
        if self.terminal {
            self.frame += 1;
            draw(&format!("{} {text}", Self::FRAMES[self.frame % Self::FRAMES.len()]));
            return;
        }
        // Leave out the elapsed seconds, so that a log file gets one line per step.
        let step = text.rsplit_once(" (").map_or(text, |(step, _)| step);
        if step != self.last {
            eprintln!("{step}");
            step.clone_into(&mut self.last);
        }
    }

    pub(super) fn clear(&self) {
        if self.terminal && self.frame > 0 {
            draw("");
        }
    }
}

/// The progress of a transfer. Shown on a terminal if the transfer takes longer than a moment.
#[derive(Debug)]
pub(super) struct Meter {
    name: String,
    total: Option<u64>,
    done: u64,
    started: Instant,
    drawn: Option<Instant>,
    terminal: bool,
}

impl Meter {
    const INITIAL_DELAY: Duration = Duration::from_millis(300);
    const INTERVAL: Duration = Duration::from_millis(100);
    const WIDTH: u64 = 24;

    /// A meter for a transfer of this size, if that is known.
    pub(super) fn new(name: &str, total: Option<u64>) -> Self {
        let name = super::style::one_line(name, 40);
        Self { name, total, done: 0, started: Instant::now(), drawn: None, terminal: is_terminal() }
    }

    pub(super) fn add(&mut self, bytes: usize) {
        self.done += bytes as u64;
        let now = Instant::now();
        let due = match self.drawn {
            None => now - self.started >= Self::INITIAL_DELAY,
            Some(drawn) => now - drawn >= Self::INTERVAL,
        };
        if self.terminal && due {
            self.drawn = Some(now);
            draw(&self.text(now - self.started));
        }
    }

    fn text(&self, elapsed: Duration) -> String {
        let rate = size((self.done as f64 / elapsed.as_secs_f64().max(0.001)) as u64);
        let done = size(self.done);
        match self.total.filter(|total| *total > 0) {
            None => format!("{}  {done}  {rate}/s", self.name),
            Some(total) => {
                let part = self.done.min(total);
                let filled = (part * Self::WIDTH / total) as usize;
                let bar = format!("{}{}", "█".repeat(filled), "░".repeat(Self::WIDTH as usize - filled));
                format!("{}  {bar}  {}%  {done} of {}  {rate}/s", self.name, part * 100 / total, size(total))
            }
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if self.drawn.is_some() {
            draw("");
        }
    }
}

/// False for a dumb terminal, which cannot return to the start of a line.
fn is_terminal() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb")
}

fn draw(text: &str) {
    let _ = std::io::stderr().write_all(format!("\r\x1b[2K{text}").as_bytes());
}

/// A number of bytes with a unit, for people.
pub(super) fn size(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = "B";
    for next in units {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_readable_unit() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(5 << 40), "5.0 TiB");
    }

    #[test]
    fn a_meter_shows_the_percentage_and_the_rate() {
        let mut meter = Meter::new("file", Some(4 << 20));
        meter.done = 1 << 20;
        let text = meter.text(Duration::from_secs(2));
        assert_eq!(text, "file  ██████░░░░░░░░░░░░░░░░░░  25%  1.0 MiB of 4.0 MiB  512.0 KiB/s");
        meter.total = None;
        assert_eq!(meter.text(Duration::from_secs(1)), "file  1.0 MiB  1.0 MiB/s");
    }
}
