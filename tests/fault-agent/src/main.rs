//! An agent that misbehaves on request.
//!
//! It exchanges JSON-RPC lines, as an ACP agent does, and treats each method's name as a command: see
//! [`commands`]. Flags control how it starts: see [`flags`]. It is deliberately simple: any failure ends it with a
//! message on standard error.

mod commands;
mod flags;
mod output;
mod processes;

use std::io::BufRead;

use flags::Flags;

/// Ends the agent after an unexpected failure.
pub(crate) fn give_up(what: &str) -> ! {
    eprintln!("fault-agent: {what}");
    std::process::exit(101)
}

/// Sleeps until the process is killed.
pub(crate) fn stay() -> ! {
    loop {
        std::thread::park();
    }
}

fn main() {
    let flags = Flags::read();
    flags.apply_at_start();
    let mut input = std::io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        match input.read_until(b'\n', &mut line) {
            Ok(0) if flags.ignore_eof || commands::input_was_closed() => stay(),
            Ok(0) => return,
            Ok(_) => commands::take(line.strip_suffix(b"\n").unwrap_or(&line)),
            Err(error) => give_up(&format!("cannot read: {error}")),
        }
    }
}
