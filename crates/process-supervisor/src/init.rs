//! Running as process 1 of a container.
//!
//! Process 1 inherits every orphan of the container and must reap it. A process that also waits for children of its own
//! cannot do that without taking their exit codes. So process 1 does nothing else: it starts the real program as its
//! child, forwards signals, reaps, and exits with the child's exit code.

use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};

use crate::signals::SignalSet;

/// How many processes are reaped before signals are checked again.
const REAP_BATCH: usize = 64;

/// If this is process 1, starts the program again as a child and becomes its init, without returning. Returns at once
/// in that child and in every other process. Must be called before any thread is started.
pub fn become_init_if_first_process() {
    if std::process::id() == 1 {
        std::process::exit(run());
    }
}

fn run() -> i32 {
    let signals = SignalSet::of(&[
        Signal::CHILD,
        Signal::TERM,
        Signal::INT,
        Signal::HUP,
        Signal::QUIT,
        Signal::USR1,
        Signal::USR2,
    ]);
    if signals.block().is_err() {
        return 1;
    }
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_else(|| "sandbox-agent".into());
    let mut command = Command::new(crate::program::own_program());
    command.arg0(name).args(arguments);
    // SAFETY: the closure runs in the forked child and makes one system call that is safe there. It unblocks the
    // signals that this process has blocked in order to wait for them.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(SignalSet::unblock_all);
    }
    let child = match command.spawn() {
        Ok(child) => Pid::from_child(&child),
        Err(error) => {
            eprintln!("cannot start as process 1: {error}");
            return 1;
        }
    };
    loop {
        match signals.wait() {
            Some(Signal::CHILD) => {
                if let Some(code) = reap(child) {
                    return code;
                }
            }
            Some(signal) => {
                // Fails if the child has just ended; then SIGCHLD follows.
                let _ = kill_process(child, signal);
            }
            None => {}
        }
    }
}

/// Reaps processes that have ended, in one batch. Returns the exit code if `child` is among them.
///
/// One SIGCHLD stands for all children that ended before it was taken. When the batch is full, this process sends itself
/// another one, so that the rest is reaped after other pending signals.
fn reap(child: Pid) -> Option<i32> {
    let mut code = None;
    for _ in 0..REAP_BATCH {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == child => {
                code =
                    status.exit_status().or_else(|| status.terminating_signal().map(|number| 128 + number));
            }
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) | Err(_) => return code,
        }
    }
    let _ = kill_process(rustix::process::getpid(), Signal::CHILD);
    code
}
