//! Runs a tool (npm, uv, python) to completion, with limits on time and output.
//!
//! Every tool runs under a supervisor, like every agent: all its processes end with it, even if the caller
//! leaves or this process is killed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use process_supervisor::{Control, Events, Exit, LaunchError, LaunchSpec, Launched, TreeEvent};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::unix::pipe;

use crate::tail::Tail;

/// How much standard output is kept; metadata is far smaller.
const MAX_STDOUT: usize = 16 << 20;
/// How long to read output after the tool itself has exited.
const DRAIN: Duration = Duration::from_secs(2);
/// How long a killed tree may take to end.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// A tool's command line, environment and limits.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    /// The complete environment; nothing is inherited.
    pub(crate) variables: BTreeMap<OsString, OsString>,
    pub(crate) directory: PathBuf,
    pub(crate) timeout: Duration,
}

/// The output of a tool that succeeded.
#[derive(Debug)]
pub(crate) struct ToolOutput {
    pub(crate) stdout: Vec<u8>,
}

/// Why a tool failed, and the last lines of its output.
#[derive(Debug, Clone)]
pub(crate) struct ToolFailure {
    pub(crate) detail: String,
    pub(crate) tail: String,
}

impl Tool {
    pub(crate) async fn run(self) -> Result<ToolOutput, ToolFailure> {
        let name =
            self.program.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let spec = LaunchSpec {
            program: self.program.into(),
            arguments: self.args,
            environment: self.variables.into_iter().collect(),
            directory: Some(self.directory),
        };
        let (mut tree, Pipes { stdin, stdout, stderr }) = Tree::launch(&spec).await.map_err(|error| {
            ToolFailure { detail: format!("cannot start {name}: {error}"), tail: String::new() }
        })?;
        drop(stdin);
        let tail = Arc::new(Mutex::new(Tail::default()));
        let stdout = tokio::spawn(collect(stdout, tail.clone(), MAX_STDOUT));
        let stderr = tokio::spawn(collect(stderr, tail.clone(), 0));
        let ended = tokio::time::timeout(self.timeout, tree.exit()).await;
        tree.kill().await;
        let stdout = drain(stdout).await;
        drain(stderr).await;
        let tail = tail.lock().map(|mut tail| tail.text()).unwrap_or_default();
        match ended {
            Ok(Exit::Code(0)) => Ok(ToolOutput { stdout }),
            Ok(exit) => Err(ToolFailure { detail: format!("{name} ended with {exit}"), tail }),
            Err(_) => {
                let detail = format!("{name} did not finish within {} s", self.timeout.as_secs());
                Err(ToolFailure { detail, tail })
            }
        }
    }
}

/// The process tree of a tool or of a probed agent. Dropping it ends the tree, a moment later than [`Tree::kill`].
#[derive(Debug)]
pub(crate) struct Tree {
    control: Control,
    events: Events,
}

impl Tree {
    /// Starts a tree.
    pub(crate) async fn launch(spec: &LaunchSpec) -> Result<(Self, Pipes), LaunchError> {
        let Launched { stdin, stdout, stderr, control, events, .. } =
            process_supervisor::launch(spec).await?;
        Ok((Self { control, events }, Pipes { stdin, stdout, stderr }))
    }

    /// Waits for the main process to exit.
    pub(crate) async fn exit(&mut self) -> Exit {
        match self.events.next().await {
            TreeEvent::Exited(exit) => exit,
            TreeEvent::Gone => Exit::Unknown,
        }
    }

    /// Kills the rest of the tree, and waits until it is gone.
    pub(crate) async fn kill(&mut self) {
        let gone = async { while self.events.next_after_kill(&self.control).await != TreeEvent::Gone {} };
        if tokio::time::timeout(KILL_LIMIT, gone).await.is_err() {
            tracing::error!("processes of an installer or of a probed agent could not be ended");
        }
    }
}

/// A started process's ends of its pipes.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) stdin: pipe::Sender,
    pub(crate) stdout: pipe::Receiver,
    pub(crate) stderr: pipe::Receiver,
}

/// Reads a pipe to its end and keeps the first `keep` bytes and the last lines.
pub(crate) async fn collect(
    mut pipe: impl AsyncRead + Unpin,
    tail: Arc<Mutex<Tail>>,
    keep: usize,
) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut buffer = vec![0; 16 << 10];
    while let Ok(count) = pipe.read(&mut buffer).await {
        if count == 0 {
            break;
        }
        let room = keep.saturating_sub(kept.len()).min(count);
        kept.extend_from_slice(&buffer[..room]);
        if let Ok(mut tail) = tail.lock() {
            tail.push(&buffer[..count]);
        }
    }
    kept
}

async fn drain(mut task: tokio::task::JoinHandle<Vec<u8>>) -> Vec<u8> {
    match tokio::time::timeout(DRAIN, &mut task).await {
        Ok(result) => result.unwrap_or_default(),
        Err(_) => {
            // A process that could not be killed still holds the pipe.
            task.abort();
            Vec::new()
        }
    }
}

/// Converts text to arguments for a tool.
pub(crate) fn words(args: &[&str]) -> Vec<OsString> {
    args.iter().map(Into::into).collect()
}

/// A path argument such as `--prefix=<path>`.
pub(crate) fn path_option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}
