//! The server's side: start a supervisor, hand it the pipes, and hold the control socket.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};

use crate::wire::{KILL, LaunchSpec, Report, TERMINATE};
use crate::{Exit, SUPERVISE_ARGUMENT};

/// Why an agent did not start.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The supervisor or its pipes could not be made: the machine is out of something.
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
    /// Where the agent reads.
    pub stdin: pipe::Sender,
    /// What the agent says.
    pub stdout: pipe::Receiver,
    /// What the agent mutters.
    pub stderr: pipe::Receiver,
    /// Ends the tree. Dropping both this and `events` ends it too.
    pub control: Control,
    /// Tells how the tree ends.
    pub events: Events,
}

/// The commands a supervisor takes.
#[derive(Debug)]
pub struct Control(OwnedWriteHalf);

impl Control {
    /// SIGTERM to every process of the tree.
    pub fn terminate(&self) {
        self.command(TERMINATE);
    }

    /// SIGKILL to every process of the tree, until none is left.
    pub fn kill(&self) {
        self.command(KILL);
    }

    fn command(&self, command: u8) {
        // The only failures are a full socket, impossible with a handful of bytes, and a supervisor that has
        // left, in which case the tree has ended already.
        let _ = self.0.try_write(&[command]);
    }
}

/// What happens to a tree, in order: [`TreeEvent::Exited`] once, then [`TreeEvent::Gone`] once.
#[derive(Debug)]
pub struct Events {
    lines: BufReader<OwnedReadHalf>,
    /// A report whose end has not come yet; kept here so that a cancelled wait loses nothing.
    partial: Vec<u8>,
    supervisor: Child,
    agent: u32,
    exited: bool,
    survivors: Option<usize>,
}

/// One step in the end of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeEvent {
    /// The agent's main process ended.
    Exited(Exit),
    /// Nothing is left of the tree, but for as many processes as nobody could end.
    Gone {
        /// Processes that survived SIGKILL: another user's, or stuck in the kernel.
        survivors: usize,
    },
}

impl Events {
    /// The next event. A wait that is cancelled can be taken up again.
    pub async fn next(&mut self) -> TreeEvent {
        loop {
            if let Some(survivors) = self.survivors {
                let _ = self.supervisor.wait().await;
                return TreeEvent::Gone { survivors };
            }
            match self.report().await {
                Some(Report::Exited(exit)) => {
                    self.exited = true;
                    return TreeEvent::Exited(exit);
                }
                Some(Report::Gone) => self.survivors = Some(0),
                Some(Report::Stuck(survivors)) => self.survivors = Some(survivors),
                Some(Report::Started(_) | Report::Failed(_)) => {}
                None if self.exited => self.survivors = Some(0),
                None => {
                    self.supervisor_lost();
                    return TreeEvent::Exited(Exit::Unknown);
                }
            }
        }
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

    /// Somebody killed the supervisor. The agent dies with it by its parent-death signal; its process group is
    /// what can still be reached from here.
    fn supervisor_lost(&mut self) {
        self.exited = true;
        if let Some(group) = i32::try_from(self.agent).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

/// Starts an agent under a supervisor of its own.
///
/// The calling binary must call [`crate::become_supervisor_if_asked`] first thing in its `main`, since the
/// supervisor is that same binary.
///
/// # Errors
/// [`LaunchError`] says whether the machine or the agent was the reason.
pub async fn launch(spec: &LaunchSpec) -> Result<Launched, LaunchError> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let ours = UnixStream::from_std(ours)?;
    let supervisor = Command::new(crate::program::own_program())
        .arg0("sandbox-agent-supervisor")
        .arg(SUPERVISE_ARGUMENT)
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(nowhere()?)
        .stderr(nowhere()?)
        .spawn()?;
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
    Ok(Launched {
        pid,
        stdin: pipe::Sender::from_owned_fd(stdin)?,
        stdout: pipe::Receiver::from_owned_fd(stdout)?,
        stderr: pipe::Receiver::from_owned_fd(stderr)?,
        control: Control(write),
        events: Events { lines, partial: Vec::new(), supervisor, agent: pid, exited: false, survivors: None },
    })
}

/// Where output goes that nobody reads: `/dev/null`, or a pipe without a reader in a root that has no devices. The
/// supervisor says nothing, and does not mind a failing write if ever it should.
fn nowhere() -> io::Result<Stdio> {
    match std::fs::File::options().write(true).open("/dev/null") {
        Ok(null) => Ok(null.into()),
        Err(_) => Ok(new_pipe()?.1.into()),
    }
}

/// A pipe whose ends no other process that this one starts inherits.
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
