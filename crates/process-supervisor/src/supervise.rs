//! The supervisor process itself: one thread, no runtime, a loop over the control socket and SIGCHLD.

use std::io::{self, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};

use crate::Exit;
use crate::wire::{KILL, LaunchSpec, Report, TERMINATE};

/// How long a tree has after SIGTERM when the server has vanished and nobody is left to say when to kill.
const GRACE_WITHOUT_SERVER: Duration = Duration::from_secs(1);
/// How long what an ended agent left behind may live on when the server says nothing about it.
const GRACE_AFTER_EXIT: Duration = Duration::from_secs(2);
/// How often the kill is repeated while something still lives.
const KILL_AGAIN: Duration = Duration::from_millis(5);
/// When to give up on processes that survive SIGKILL (another user's, or stuck in the kernel).
const KILL_PATIENCE: Duration = Duration::from_secs(8);

/// Runs the supervisor to its end. The control socket is this process's standard input.
pub(crate) fn run() -> ! {
    std::process::exit(match supervise() {
        Ok(()) => 0,
        Err(_) => 1,
    })
}

struct Supervisor {
    /// The agent's main process.
    agent: Pid,
    /// Whether the agent's main process has been reaped.
    agent_ended: bool,
    /// Whether the server still holds its end of the control socket.
    server_present: bool,
    /// When the tree is to be killed without another word.
    kill_at: Option<Instant>,
    /// When killing began.
    killing_since: Option<Instant>,
}

fn supervise() -> io::Result<()> {
    close_inherited_descriptors();
    // A terminal's Ctrl-C is meant for the server, which then ends its agents in its own way.
    let _ = rustix::process::setsid();
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let _ = rustix::thread::set_name(c"agent-supervisor");
    let signals: SigSet =
        [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP].into_iter().collect();
    signals.thread_block()?;
    let signals = SignalFd::with_flags(&signals, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;

    let [stdin, stdout, stderr] = receive_stdio()?;
    let spec = LaunchSpec::read(&mut Socket)?;
    let agent = match start(spec, stdin, stdout, stderr) {
        Ok(pid) => pid,
        Err(reason) => {
            send(&Report::Failed(reason));
            return Ok(());
        }
    };
    send(&Report::Started(agent.as_raw().unsigned_abs()));
    let mut supervisor =
        Supervisor { agent, agent_ended: false, server_present: true, kill_at: None, killing_since: None };
    supervisor.watch(&signals)
}

impl Supervisor {
    fn watch(&mut self, signals: &SignalFd) -> io::Result<()> {
        loop {
            if self.reap()? == Remaining::Nothing {
                send(&Report::Gone);
                return Ok(());
            }
            if self.kill_at.is_some_and(|at| at <= Instant::now()) {
                let since = *self.killing_since.get_or_insert_with(Instant::now);
                crate::tree::kill_all();
                if since.elapsed() > KILL_PATIENCE {
                    send(&Report::Stuck(crate::tree::descendants().len()));
                    return Ok(());
                }
            }
            self.wait_for_something(signals)?;
        }
    }

    fn wait_for_something(&mut self, signals: &SignalFd) -> io::Result<()> {
        let timeout = match (self.killing_since, self.kill_at) {
            (Some(_), _) => Some(KILL_AGAIN),
            (None, Some(at)) => Some(at.saturating_duration_since(Instant::now())),
            (None, None) => None,
        };
        let timeout = timeout.map_or(PollTimeout::NONE, |wait| {
            // Rounded up: waking a little early would turn the rest of the wait into a busy loop.
            PollTimeout::try_from(wait.as_millis().saturating_add(1)).unwrap_or(PollTimeout::MAX)
        });
        let control = io::stdin();
        let mut sources = vec![PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        if self.server_present {
            sources.push(PollFd::new(control.as_fd(), PollFlags::POLLIN));
        }
        match poll(&mut sources, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let heard = |index: usize| {
            sources.get(index).and_then(PollFd::revents).is_some_and(|events| !events.is_empty())
        };
        let (signalled, commanded) = (heard(0), heard(1));
        if signalled {
            self.take_signals(signals);
        }
        if commanded {
            self.take_commands();
        }
        Ok(())
    }

    fn take_signals(&mut self, signals: &SignalFd) {
        while let Ok(Some(info)) = signals.read_signal() {
            // SIGCHLD needs nothing here: reaping happens at the top of the loop. The others are somebody asking
            // this very process to end, and its way to end is to end the tree.
            if info.ssi_signo != Signal::SIGCHLD as u32 {
                self.end_without_server();
            }
        }
    }

    fn take_commands(&mut self) {
        let mut commands = [0; 16];
        match rustix::io::read(io::stdin().as_fd(), &mut commands) {
            Ok(0) => {
                self.server_present = false;
                self.end_without_server();
            }
            Ok(count) => commands[..count].iter().for_each(|command| match *command {
                TERMINATE => crate::tree::signal_all(Signal::SIGTERM),
                KILL => self.kill_at = Some(Instant::now()),
                _ => {}
            }),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => {
                self.server_present = false;
                self.end_without_server();
            }
        }
    }

    fn end_without_server(&mut self) {
        crate::tree::signal_all(Signal::SIGTERM);
        self.kill_no_later_than(GRACE_WITHOUT_SERVER);
    }

    fn kill_no_later_than(&mut self, wait: Duration) {
        let at = Instant::now() + wait;
        self.kill_at = Some(self.kill_at.map_or(at, |earlier| earlier.min(at)));
    }

    /// Reaps every child that has ended, the agent's re-parented ones included.
    fn reap(&mut self) -> io::Result<Remaining> {
        loop {
            let exit = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) if pid == self.agent => Exit::Code(code),
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == self.agent => Exit::Signal(signal as i32),
                Ok(WaitStatus::StillAlive) => return Ok(Remaining::Something),
                Ok(_) | Err(Errno::EINTR) => continue,
                Err(Errno::ECHILD) => return Ok(Remaining::Nothing),
                // A real-time signal has no name to decode; whoever died of it has been reaped all the same.
                Err(Errno::EINVAL) => continue,
                Err(error) => return Err(error.into()),
            };
            self.agent_ended = true;
            send(&Report::Exited(exit));
            self.kill_no_later_than(GRACE_AFTER_EXIT);
        }
    }
}

#[derive(PartialEq, Eq)]
enum Remaining {
    Nothing,
    Something,
}

fn start(spec: LaunchSpec, stdin: OwnedFd, stdout: OwnedFd, stderr: OwnedFd) -> Result<Pid, String> {
    let mut command = Command::new(&spec.program);
    command.args(&spec.arguments).env_clear().envs(spec.environment);
    command.stdin(Stdio::from(stdin)).stdout(Stdio::from(stdout)).stderr(Stdio::from(stderr));
    command.process_group(0);
    if let Some(directory) = &spec.directory {
        std::fs::read_dir(directory)
            .map_err(|error| format!("cannot use the working directory {}: {error}", directory.display()))?;
        command.current_dir(directory);
    }
    // SAFETY: the closure runs in the forked child and makes two system calls that are safe there. It gives back
    // the signals that this supervisor blocks for itself, and arms the agent's own death for the case that this
    // supervisor is killed with SIGKILL.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(|| {
            SigSet::all().thread_unblock()?;
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            Ok(())
        });
    }
    match command.spawn() {
        Ok(child) => Ok(Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX))),
        Err(error) => Err(format!("cannot execute {}: {error}", spec.program.to_string_lossy())),
    }
}

/// Closes what the server itself inherited from whoever started it (a shell's lock file, a terminal's pipe): an
/// agent that outlives nothing must not hold it open either.
fn close_inherited_descriptors() {
    if close_all_at_once().is_ok() {
        return;
    }
    let Ok(listing) = std::fs::read_dir("/proc/self/fd") else { return };
    let numbers: Vec<i32> =
        listing.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    // The listing's own descriptor is among them, and closed by now.
    let is_open = |number: &i32| std::fs::symlink_metadata(format!("/proc/self/fd/{number}")).is_ok();
    for number in numbers.into_iter().filter(|number| *number > 2).filter(is_open) {
        // SAFETY: this is the first thing the process does; nothing in it owns a descriptor above standard error.
        #[allow(unsafe_code)]
        unsafe {
            rustix::io::close(number);
        }
    }
}

/// One call for all of them, which needs no `/proc`; older kernels and some sandboxes refuse it.
fn close_all_at_once() -> Result<(), Errno> {
    let (first, last, flags) = (3_u32, u32::MAX, 0_u32);
    // SAFETY: the call takes numbers only; and as above, nothing in this process owns a descriptor above standard error.
    #[allow(unsafe_code)]
    let closed = unsafe { nix::libc::syscall(nix::libc::SYS_close_range, first, last, flags) };
    Errno::result(closed).map(drop)
}

fn receive_stdio() -> io::Result<[OwnedFd; 3]> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut marker = [0; 1];
    let control = io::stdin();
    let mut parts = [IoSliceMut::new(&mut marker)];
    rustix::net::recvmsg(control.as_fd(), &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let descriptors: Vec<OwnedFd> = ancillary
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        })
        .flatten()
        .collect();
    descriptors
        .try_into()
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "three descriptors were expected"))
}

/// Reads the control socket without the buffering of `std::io::Stdin`, which would swallow later commands.
struct Socket;

impl io::Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(io::stdin().as_fd(), buffer)?)
    }
}

/// Tells the server. When the server is gone there is nobody to tell, and the tree ends all the same.
fn send(report: &Report) {
    struct Control;
    impl Write for Control {
        fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
            Ok(rustix::net::send(io::stdin().as_fd(), buffer, rustix::net::SendFlags::NOSIGNAL)?)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let _ = Control.write_all(report.to_line().as_bytes());
}
