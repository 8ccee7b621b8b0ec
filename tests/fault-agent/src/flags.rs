//! The agent's command line flags.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use crate::processes::{BE_DAEMON, CHAIN, START_DAEMON, chain, start_daemon};
use crate::{give_up, output, stay};

/// The parsed command line.
#[derive(Default)]
pub(crate) struct Flags {
    /// Keeps running when its input ends.
    pub(crate) ignore_eof: bool,
    /// Never reads its input.
    never_read: bool,
    /// Ignores SIGTERM, and so do its children.
    ignore_term: bool,
    /// Prints lines that are not JSON-RPC before anything else.
    noise: bool,
    /// Waits this long before it reads.
    slow_start: Option<Duration>,
    /// Exits at once with this code and a message on standard error.
    exit_at_start: Option<i32>,
}

/// The flag with which the agent starts itself again once SIGTERM is ignored, so that it does so only once.
const DEAF: &str = "--deaf";

impl Flags {
    pub(crate) fn read() -> Self {
        let mut flags = Self::default();
        let mut deaf = false;
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut number = || -> u64 {
                arguments
                    .next()
                    .and_then(|text| text.parse().ok())
                    .unwrap_or_else(|| give_up(&format!("{argument} takes a number")))
            };
            match argument.as_str() {
                "--never-read" => flags.never_read = true,
                "--ignore-term" => flags.ignore_term = true,
                "--ignore-eof" => flags.ignore_eof = true,
                "--noise" => flags.noise = true,
                "--slow-start" => flags.slow_start = Some(Duration::from_millis(number())),
                "--exit-at-start" => flags.exit_at_start = Some(i32::try_from(number()).unwrap_or(1)),
                DEAF => deaf = true,
                CHAIN => chain(number()),
                START_DAEMON => start_daemon(),
                BE_DAEMON => {
                    let _ = rustix::process::setsid();
                    stay()
                }
                other => give_up(&format!("unknown flag {other}")),
            }
        }
        flags.ignore_term &= !deaf;
        flags
    }

    pub(crate) fn apply_at_start(&self) {
        if self.ignore_term {
            start_again_deaf();
        }
        if let Some(code) = self.exit_at_start {
            eprintln!("last words before exit {code}");
            std::process::exit(code);
        }
        if self.noise {
            output::bytes(b"Starting up...\n\n{\"level\":\"info\",\"msg\":\"ready\"}\n[1,2]\n42\n");
        }
        if let Some(wait) = self.slow_start {
            std::thread::sleep(wait);
        }
        if self.never_read {
            stay();
        }
    }
}

/// Starts this program again with SIGTERM ignored. Ignored signals survive `exec`, so no unsafe code is
/// needed.
fn start_again_deaf() -> ! {
    let own = std::env::current_exe().unwrap_or_else(|error| give_up(&error.to_string()));
    let failure = Command::new("sh")
        .args(["-c", "trap '' TERM; exec \"$0\" \"$@\""])
        .arg(own)
        .args(std::env::args_os().skip(1))
        .arg(DEAF)
        .exec();
    give_up(&failure.to_string())
}
