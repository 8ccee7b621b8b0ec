//! The supervisor process itself: one thread, no runtime, a loop over the control socket and SIGCHLD.

use std::io::{self, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, wait};

use crate::exec::Executable;
use crate::signals::{SignalReader, SignalSet, close_from};
use crate::wire::{KILL, LaunchSpec, Report, TERMINATE};
use crate::{Confinement, Exit};

/// How many processes are reaped before commands and deadlines are checked again. Otherwise, processes that fork
/// and exit in an endless chain would keep the supervisor from everything else.
const REAP_BATCH: usize = 64;
/// The time between SIGTERM and SIGKILL when the server is gone and can no longer send the kill command.
const GRACE_WITHOUT_SERVER: Duration = Duration::from_secs(1);
/// How long the remaining processes of an agent may live after its main process has ended, unless the server kills
/// them earlier.
const GRACE_AFTER_EXIT: Duration = Duration::from_secs(2);
/// How long a start is retried while its program is open for writing.
const BUSY_LIMIT: Duration = Duration::from_millis(400);
/// The pause between two of these tries.
const BUSY_PAUSE: Duration = Duration::from_millis(20);
/// The interval at which SIGKILL is repeated while a process is still alive.
const KILL_AGAIN: Duration = Duration::from_millis(5);
/// The interval at which SIGKILL is repeated after [`KILL_PATIENCE`].
const KILL_AGAIN_SLOWLY: Duration = Duration::from_millis(250);
/// After this time, processes that survive SIGKILL (because they belong to another user or are stuck in the kernel)
/// are not expected to end soon. If the server is gone, this supervisor then gives up on them.
const KILL_PATIENCE: Duration = Duration::from_secs(8);

/// Runs the supervisor to its end. The control socket is this process's standard input.
pub(crate) fn run(confinement: Confinement) -> ! {
    std::process::exit(match supervise(confinement) {
        Ok(()) => 0,
        Err(_) => 1,
    })
}

struct Supervisor {
    /// The agent's main process.
    agent: Pid,
    /// True when the agent's main process has been reaped.
    agent_ended: bool,
    /// True while the server holds its end of the control socket.
    server_present: bool,
    /// When the agent's process tree is to be killed, even if the server sends no further command.
    kill_at: Option<Instant>,
    /// True if the server has sent a kill command that was not carried out yet, and waits for the report.
    must_report_kill: bool,
    /// When killing began.
    killing_since: Option<Instant>,
}

fn supervise(confinement: Confinement) -> io::Result<()> {
    close_inherited_descriptors();
    // Ctrl-C in a terminal must reach only the server, which then shuts down its agents itself.
    let _ = rustix::process::setsid();
    // If the server dies while this supervisor is stopped, it must continue, to see the end of the control socket.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::CONT));
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let _ = rustix::thread::set_name(c"agent-supervisor");
    let signals = SignalSet::of(&[Signal::CHILD, Signal::TERM, Signal::INT, Signal::HUP]);
    signals.block()?;
    let signals = SignalReader::new(&signals)?;

    let [stdin, stdout, stderr] = receive_stdio()?;
    let spec = LaunchSpec::read(&mut Socket)?;
    let agent = match start(spec, confinement, [stdin, stdout, stderr]) {
        Ok(pid) => pid,
        Err(reason) => {
            send(&Report::Failed(reason));
            return Ok(());
        }
    };
    send(&Report::Started(agent.as_raw_nonzero().get().unsigned_abs()));
    let mut supervisor = Supervisor {
        agent,
        agent_ended: false,
        server_present: true,
        kill_at: None,
        must_report_kill: false,
        killing_since: None,
    };
    supervisor.watch(&signals)
}

impl Supervisor {
    fn watch(&mut self, signals: &SignalReader) -> io::Result<()> {
        loop {
            let remaining = self.reap()?;
            if remaining == Remaining::Nothing {
                send(&Report::Gone);
                return Ok(());
            }
            if self.kill_at.is_some_and(|at| at <= Instant::now()) {
                let since = *self.killing_since.get_or_insert_with(Instant::now);
                crate::tree::kill_all();
                if std::mem::take(&mut self.must_report_kill) {
                    send(&Report::Killing);
                }
                if since.elapsed() > KILL_PATIENCE && !self.server_present {
                    return Err(io::Error::other("processes survived SIGKILL"));
                }
            }
            self.wait_for_something(signals, remaining)?;
        }
    }

    /// Waits for a signal, a command or a deadline, and handles what has arrived. Does not wait while children remain
    /// to be reaped.
    fn wait_for_something(&mut self, signals: &SignalReader, remaining: Remaining) -> io::Result<()> {
        let timeout = match (remaining, self.killing_since, self.kill_at) {
            (Remaining::Unreaped, _, _) => Some(Duration::ZERO),
            (_, Some(since), _) if since.elapsed() > KILL_PATIENCE => Some(KILL_AGAIN_SLOWLY),
            (_, Some(_), _) => Some(KILL_AGAIN),
            (_, None, Some(at)) => Some(at.saturating_duration_since(Instant::now())),
            (_, None, None) => None,
        };
        let timeout =
            timeout.map(|wait| Timespec::try_from(wait).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 }));
        let control = io::stdin();
        let mut sources = vec![PollFd::new(signals, PollFlags::IN)];
        if self.server_present {
            sources.push(PollFd::new(&control, PollFlags::IN));
        }
        match poll(&mut sources, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready = |index: usize| sources.get(index).is_some_and(|source| !source.revents().is_empty());
        let (signalled, commanded) = (is_ready(0), is_ready(1));
        if signalled {
            self.take_signals(signals);
        }
        if commanded {
            self.take_commands();
        }
        Ok(())
    }

    fn take_signals(&mut self, signals: &SignalReader) {
        while let Some(signal) = signals.next() {
            // SIGCHLD needs no action here, because reaping happens at the top of the loop. The other signals ask
            // this supervisor to exit, and it does that by ending the tree.
            if signal != Signal::CHILD.as_raw() {
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
                TERMINATE => crate::tree::signal_all(Signal::TERM),
                KILL => {
                    self.kill_at = Some(Instant::now());
                    self.must_report_kill = true;
                }
                _ => {}
            }),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => {
                self.server_present = false;
                self.end_without_server();
            }
        }
    }

    fn end_without_server(&mut self) {
        crate::tree::signal_all(Signal::TERM);
        self.kill_no_later_than(GRACE_WITHOUT_SERVER);
    }

    fn kill_no_later_than(&mut self, wait: Duration) {
        let at = Instant::now() + wait;
        self.kill_at = Some(self.kill_at.map_or(at, |earlier| earlier.min(at)));
    }

    /// Reaps children that have ended, in one batch. The agent's orphans are among them: they have become children
    /// of this process.
    fn reap(&mut self) -> io::Result<Remaining> {
        for _ in 0..REAP_BATCH {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.agent => {
                    self.agent_ended = true;
                    send(&Report::Exited(exit_of(status)));
                    self.kill_no_later_than(GRACE_AFTER_EXIT);
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return Ok(Remaining::Running),
                Err(Errno::CHILD) => return Ok(Remaining::Nothing),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Remaining::Unreaped)
    }
}

/// The processes that remain of the tree after a batch of reaping.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Remaining {
    /// No process.
    Nothing,
    /// Processes that have not ended.
    Running,
    /// The batch was full: more children may have ended.
    Unreaped,
}

fn exit_of(status: WaitStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(number)) => Exit::Signal(number),
        (None, None) => Exit::Unknown,
    }
}

fn start(spec: LaunchSpec, confinement: Confinement, stdio: [OwnedFd; 3]) -> Result<Pid, String> {
    let domain = confinement.domain();
    let executable = Executable::of(&spec);
    let mut command = Command::new(&spec.program);
    command.args(&spec.arguments).env_clear().envs(spec.environment);
    let [stdin, stdout, stderr] = stdio.map(Stdio::from);
    command.stdin(stdin).stdout(stdout).stderr(stderr);
    command.process_group(0);
    if let Some(directory) = &spec.directory {
        std::fs::read_dir(directory)
            .map_err(|error| format!("cannot use the working directory {}: {error}", directory.display()))?;
        command.current_dir(directory);
    }
    // SAFETY: the closure runs in the forked child and makes system calls that are safe there. It unblocks the
    // signals that this supervisor blocks, makes the kernel kill the agent if this supervisor is killed, and confines
    // the agent.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(move || {
            SignalSet::unblock_all()?;
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            if let Some(domain) = &domain {
                domain.enter()?;
            }
            executable.as_ref().map_or(Ok(()), |executable| Err(executable.execute()))
        });
    }
    match spawn(&mut command) {
        Ok(child) => Ok(Pid::from_child(&child)),
        Err(error) => Err(format!("cannot execute {}: {error}", spec.program.to_string_lossy())),
    }
}

/// Starts the command, and tries again while its program is busy. A program that was just written may still be open
/// for writing in a process that the server forked at that moment, until that process executes its own program.
fn spawn(command: &mut Command) -> io::Result<Child> {
    let deadline = Instant::now() + BUSY_LIMIT;
    loop {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && Instant::now() < deadline => {
                std::thread::sleep(BUSY_PAUSE);
            }
            result => return result,
        }
    }
}

/// Closes the descriptors that the server inherited from its own parent (a shell's lock file, a terminal's pipe), so
/// that no agent keeps them open.
fn close_inherited_descriptors() {
    // SAFETY: this is the first thing the process does; nothing in it owns a descriptor above standard error.
    #[allow(unsafe_code)]
    if unsafe { close_from(3) }.is_ok() {
        return;
    }
    let Ok(listing) = std::fs::read_dir("/proc/self/fd") else { return };
    let numbers: Vec<i32> =
        listing.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    // The list contains the descriptor of the directory itself, which is closed by now.
    let is_open = |number: &i32| std::fs::symlink_metadata(format!("/proc/self/fd/{number}")).is_ok();
    for number in numbers.into_iter().filter(|number| *number > 2).filter(is_open) {
        // SAFETY: as above.
        #[allow(unsafe_code)]
        unsafe {
            rustix::io::close(number);
        }
    }
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
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "expected three descriptors"))
}

/// Reads the control socket without the buffering of `std::io::Stdin`, which would consume later commands.
struct Socket;

impl io::Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(io::stdin().as_fd(), buffer)?)
    }
}

/// Sends a report to the server. If the server is gone, the report is dropped; the tree ends in any case.
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
