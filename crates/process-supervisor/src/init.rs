//! Being the first process of a container.
//!
//! Process 1 inherits every orphan of the container and must reap it, which a process that also waits for
//! children of its own cannot do without stealing their exit codes. So process 1 does nothing else: it starts
//! the real program as its child, passes signals on, reaps, and leaves with the child's exit code.

use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// Splits this process into an init and the program when it is process 1; returns at once otherwise, and in the
/// child. Must be called before any thread is started.
pub fn become_init_if_first_process() {
    if std::process::id() == 1 {
        std::process::exit(run());
    }
}

fn run() -> i32 {
    let signals = [
        Signal::SIGCHLD,
        Signal::SIGTERM,
        Signal::SIGINT,
        Signal::SIGHUP,
        Signal::SIGQUIT,
        Signal::SIGUSR1,
        Signal::SIGUSR2,
    ];
    let signals: SigSet = signals.into_iter().collect();
    if signals.thread_block().is_err() {
        return 1;
    }
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_else(|| "sandbox-agent".into());
    let mut command = Command::new(crate::program::own_program());
    command.arg0(name).args(arguments);
    // SAFETY: the closure runs in the forked child and makes one system call that is safe there. The signals that
    // are blocked here, to be waited for, are the program's own business again.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(|| Ok(SigSet::all().thread_unblock()?));
    }
    let child = match command.spawn() {
        Ok(child) => Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX)),
        Err(error) => {
            eprintln!("cannot start as process 1: {error}");
            return 1;
        }
    };
    loop {
        match signals.wait() {
            Ok(Signal::SIGCHLD) => {
                if let Some(code) = reap(child) {
                    return code;
                }
            }
            Ok(signal) => {
                // It may be ending already; then its exit is what comes next.
                let _ = kill(child, signal);
            }
            Err(_) => {}
        }
    }
}

/// Reaps whatever has ended; the exit code once that is the child.
fn reap(child: Pid) -> Option<i32> {
    let mut code = None;
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, status)) if pid == child => code = Some(status),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == child => code = Some(128 + signal as i32),
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return code,
            Ok(_) | Err(Errno::EINTR | Errno::EINVAL) => {}
            Err(_) => return code,
        }
    }
}
