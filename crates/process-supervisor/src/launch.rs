//! The server's side: start a supervisor, hand it the pipes, and hold the control socket.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;
use std::time::Duration;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::Command;

use crate::orphans::{self, SupervisorProcess};
use crate::usage::SupervisorId;
use crate::wire::{KILL, LaunchSpec, Report, TERMINATE};
use crate::{Confinement, Exit, SUPERVISE_ARGUMENT};

/// The pause between two kill commands to a supervisor that does not answer.
const KILL_AGAIN: Duration = Duration::from_millis(50);
/// The longest pause between two kill commands to a supervisor that answers.
const MAX_KILL_PAUSE: Duration = Duration::from_secs(1);
/// How many kill commands a supervisor may leave unanswered before it is killed itself.
const UNANSWERED_KILLS: u32 = 8;

/// Why an agent did not start.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The supervisor or its pipes could not be created: the system is out of resources.
    #[error("cannot start a supervisor: {0}")]
    Supervisor(#[from] io::Error),
    /// The agent itself could not be executed.
    #[error("{0}")]
    Agent(String),
}

/// A started agent.
#[derive(Debug)]
pub struct Launched {
    /// The agent's process id.
    pub pid: u32,
    /// The agent's standard input.
    pub stdin: pipe::Sender,
    /// The agent's standard output.
    pub stdout: pipe::Receiver,
    /// The agent's standard error.
    pub stderr: pipe::Receiver,
    /// The identity of the supervisor; `None` if `/proc` does not show it.
    pub supervisor: Option<SupervisorId>,
    /// Ends the tree. Dropping both this and `events` ends it too.
    pub control: Control,
    /// Reports how the tree ends.
    pub events: Events,
}

/// Sends commands to a supervisor.
#[derive(Debug)]
pub struct Control {
    socket: OwnedWriteHalf,
    /// The supervisor's process; `None` on kernels older than 5.3.
    supervisor: Option<OwnedFd>,
}

impl Control {
    /// Sends SIGTERM to every process of the tree.
    pub fn terminate(&self) {
        self.command(TERMINATE);
    }

    /// Sends SIGKILL to every process of the tree, until none is left.
    pub fn kill(&self) {
        self.command(KILL);
    }

    fn command(&self, command: u8) {
        // An agent may have stopped its supervisor, because both run as the same user: let the supervisor continue.
        if let Some(supervisor) = &self.supervisor {
            let _ = pidfd_send_signal(supervisor, Signal::CONT);
        }
        // This fails only when the socket is full, which is impossible with a handful of bytes, or when the
        // supervisor has exited, and then the tree has already ended.
        let _ = self.socket.try_write(&[command]);
    }
}

/// The events of a tree, in this order: [`TreeEvent::Exited`] once, then [`TreeEvent::Gone`] once.
#[derive(Debug)]
pub struct Events {
    lines: BufReader<OwnedReadHalf>,
    /// A report that is not yet complete; kept here so that a cancelled wait loses nothing.
    partial: Vec<u8>,
    supervisor: SupervisorProcess,
    supervisor_id: Option<SupervisorId>,
    agent: u32,
    progress: Progress,
    /// True if the supervisor has answered the last kill command.
    has_answered: bool,
    cpu: Option<Duration>,
}

/// One step in the end of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeEvent {
    /// The agent's main process ended.
    Exited(Exit),
    /// The whole tree has ended.
    Gone,
}

/// The progress of a tree towards its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Running,
    /// The agent's main process has ended.
    Exited,
    /// The supervisor has reported that the tree has ended.
    Gone,
    /// The supervisor ended before its tree did.
    Lost,
}

impl Events {
    /// The next event. Cancel-safe: call it again after a cancelled wait.
    pub async fn next(&mut self) -> TreeEvent {
        loop {
            match self.progress {
                Progress::Running | Progress::Exited => {}
                Progress::Gone => {
                    // Read the times now: the kernel forgets them when the supervisor is waited for.
                    self.cpu = self.cpu.or_else(|| self.supervisor_id?.cpu_of_ended());
                    self.supervisor.wait().await;
                    if !Confinement::is_enforced() {
                        // An agent that can trace its supervisor may have made it send a false report.
                        orphans::end_all().await;
                    }
                    return TreeEvent::Gone;
                }
                Progress::Lost => {
                    // When the supervisor can be reaped, the kernel has already given its children a new parent.
                    self.supervisor.wait().await;
                    orphans::end_all().await;
                    return TreeEvent::Gone;
                }
            }
            match self.report().await {
                Some(Report::Exited(exit)) => {
                    self.progress = Progress::Exited;
                    return TreeEvent::Exited(exit);
                }
                Some(Report::Gone) => {
                    self.progress = Progress::Gone;
                    // The supervisor exits by itself, unless a process traces it.
                    self.supervisor.kill();
                }
                Some(Report::Killing) => self.has_answered = true,
                Some(Report::Started(_) | Report::Failed(_)) => {}
                None => {
                    let had_exited = self.progress == Progress::Exited;
                    self.supervisor_lost();
                    if !had_exited {
                        return TreeEvent::Exited(Exit::Unknown);
                    }
                }
            }
        }
    }

    /// Kills the tree and waits for the next event, without a time limit. Cancel-safe.
    ///
    /// If this process adopts orphans, it kills a supervisor that does not answer: an agent that is not confined (see
    /// [`crate::Confinement`]) can stop its supervisor again and again.
    pub async fn next_after_kill(&mut self, control: &Control) -> TreeEvent {
        let (mut pause, mut unanswered) = (KILL_AGAIN, 0);
        loop {
            if let Progress::Gone | Progress::Lost = self.progress {
                return self.next().await;
            }
            control.kill();
            self.has_answered = false;
            if let Ok(event) = tokio::time::timeout(pause, self.next()).await {
                return event;
            }
            if self.has_answered {
                // The supervisor has killed its tree, but a process has not ended.
                (pause, unanswered) = ((pause * 2).min(MAX_KILL_PAUSE), 0);
                continue;
            }
            unanswered += 1;
            if unanswered == UNANSWERED_KILLS && orphans::is_adopting() {
                self.supervisor.kill();
            }
        }
    }

    /// The processor time of the whole tree, once it has ended. `None` if `/proc` does not show it.
    #[must_use]
    pub fn cpu(&self) -> Option<Duration> {
        self.cpu
    }

    async fn report(&mut self) -> Option<Report> {
        loop {
            let end = self.lines.read_until(b'\n', &mut self.partial).await;
            let line = std::mem::take(&mut self.partial);
            match end {
                Ok(count) if count > 0 => {
                    if let Some(report) = std::str::from_utf8(&line).ok().and_then(Report::parse) {
                        return Some(report);
                    }
                }
                _ => return None,
            }
        }
    }

    /// Called when the supervisor was killed. The agent is then killed by its parent-death signal, and its process
    /// group here. The rest of the tree is ended after this process has adopted it.
    fn supervisor_lost(&mut self) {
        self.progress = Progress::Lost;
        // If a process traces the supervisor, it may have closed the socket and still be running.
        self.supervisor.kill();
        if let Some(group) = i32::try_from(self.agent).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Starts an agent under a supervisor of its own.
///
/// The supervisor is the calling binary itself, so that binary must call [`crate::become_supervisor_if_asked`] at the
/// start of `main`.
///
/// # Errors
/// [`LaunchError`] says whether the system or the agent is the cause.
pub async fn launch(spec: &LaunchSpec) -> Result<Launched, LaunchError> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let ours = UnixStream::from_std(ours)?;
    let mut command = Command::new(crate::program::own_program());
    command
        .arg0("sandbox-agent-supervisor")
        .arg(SUPERVISE_ARGUMENT)
        .arg(Confinement::of_this_process().argument())
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(nowhere()?)
        .stderr(nowhere()?);
    let supervisor = SupervisorProcess::spawn(&mut command)?;
    // The command holds the supervisor's end of the socket. If it stayed open, this process would not notice when the
    // supervisor ends.
    drop(command);
    let pidfd = supervisor.pid().and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let (agent_stdin, stdin) = new_pipe()?;
    let (stdout, agent_stdout) = new_pipe()?;
    let (stderr, agent_stderr) = new_pipe()?;
    send_stdio(&ours, [agent_stdin, agent_stdout, agent_stderr]).await?;
    let (read, mut write) = ours.into_split();
    write.write_all(&spec.encode()).await?;
    let mut lines = BufReader::with_capacity(256, read);
    let mut line = String::new();
    lines.read_line(&mut line).await?;
    let pid = match Report::parse(&line) {
        Some(Report::Started(pid)) => pid,
        Some(Report::Failed(reason)) => return Err(LaunchError::Agent(reason)),
        _ => {
            return Err(io::Error::other("the supervisor ended before it started the agent").into());
        }
    };
    for end in [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()] {
        rustix::io::ioctl_fionbio(end, true).map_err(io::Error::from)?;
    }
    let supervisor_id =
        supervisor.pid().and_then(|pid| SupervisorId::of(pid.as_raw_nonzero().get().unsigned_abs()));
    Ok(Launched {
        pid,
        stdin: pipe::Sender::from_owned_fd(stdin)?,
        stdout: pipe::Receiver::from_owned_fd(stdout)?,
        stderr: pipe::Receiver::from_owned_fd(stderr)?,
        supervisor: supervisor_id,
        control: Control { socket: write, supervisor: pidfd },
        events: Events {
            lines,
            partial: Vec::new(),
            supervisor,
            supervisor_id,
            agent: pid,
            progress: Progress::Running,
            has_answered: false,
            cpu: None,
        },
    })
}

/// A place to discard output: `/dev/null`, or a pipe without a reader if the root file system has no devices. The
/// supervisor writes nothing, and would ignore a failed write.
fn nowhere() -> io::Result<Stdio> {
    match std::fs::File::options().write(true).open("/dev/null") {
        Ok(null) => Ok(null.into()),
        Err(_) => Ok(new_pipe()?.1.into()),
    }
}

/// A pipe whose ends are not inherited by child processes.
fn new_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}

/// Sends the agent's ends of the pipes; this process's copies close when they are dropped here.
async fn send_stdio(control: &UnixStream, descriptors: [OwnedFd; 3]) -> io::Result<()> {
    let borrowed = descriptors.each_ref().map(AsFd::as_fd);
    loop {
        control.writable().await?;
        let sent = control.try_io(Interest::WRITABLE, || {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            ancillary.push(SendAncillaryMessage::ScmRights(&borrowed));
            Ok(rustix::net::sendmsg(control, &[IoSlice::new(b"F")], &mut ancillary, SendFlags::NOSIGNAL)?)
        });
        match sent {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            other => return other.map(|_| ()),
        }
    }
}
