//! Running a tool (npm, uv, python) to its end: bounded in time and output, its whole process group killed
//! when it overstays or when the caller goes away.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

use crate::tail::Tail;

/// Standard output kept for reading; metadata answers are far smaller.
const MAX_STDOUT: usize = 16 << 20;
/// How long output may trickle in after the tool itself has exited.
const DRAIN: Duration = Duration::from_secs(2);

/// A command line of a tool.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    /// The whole environment; nothing is inherited.
    pub(crate) variables: BTreeMap<OsString, OsString>,
    pub(crate) directory: PathBuf,
    pub(crate) timeout: Duration,
}

/// What a tool wrote, when it ended well.
#[derive(Debug)]
pub(crate) struct ToolOutput {
    pub(crate) stdout: Vec<u8>,
}

/// Why a tool did not end well, and its last lines.
#[derive(Debug, Clone)]
pub(crate) struct ToolFailure {
    pub(crate) detail: String,
    pub(crate) tail: String,
}

impl Tool {
    pub(crate) async fn run(self) -> Result<ToolOutput, ToolFailure> {
        let name =
            self.program.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let fail = |detail: String| ToolFailure { detail, tail: String::new() };
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .env_clear()
            .envs(&self.variables)
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = spawn_group(&mut command)
            .await
            .map_err(|error| fail(format!("cannot start {}: {error}", self.program.display())))?;
        let tail = Arc::new(Mutex::new(Tail::default()));
        let stdout =
            child.child.stdout.take().map(|pipe| tokio::spawn(collect(pipe, tail.clone(), MAX_STDOUT)));
        let stderr = child.child.stderr.take().map(|pipe| tokio::spawn(collect(pipe, tail.clone(), 0)));
        let ended = tokio::time::timeout(self.timeout, child.child.wait()).await;
        child.kill_group();
        let stdout = drain(stdout).await;
        drain(stderr).await;
        let tail_text = tail.lock().map(|mut tail| tail.text()).unwrap_or_default();
        let failed = |detail: String| ToolFailure { detail, tail: tail_text.clone() };
        match ended {
            Err(_) => Err(failed(format!("{name} did not finish within {} s", self.timeout.as_secs()))),
            Ok(Err(error)) => Err(failed(format!("{name} could not be waited for: {error}"))),
            Ok(Ok(status)) if status.success() => Ok(ToolOutput { stdout }),
            Ok(Ok(status)) => Err(failed(format!("{name} ended with {}", describe(status)))),
        }
    }
}

/// "exit code 1" or "signal 9".
pub(crate) fn describe(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown status".to_owned(),
    }
}

/// The variable by which descendants are found that have left the group as daemons.
const MARK_VARIABLE: &str = "SANDBOX_AGENT_INSTALL_MARK";

/// A child that leads its own process group; dropping it kills the group and whatever escaped from it.
#[derive(Debug)]
pub(crate) struct GroupChild {
    pub(crate) child: Child,
    group: Option<rustix::process::Pid>,
    mark: String,
}

impl GroupChild {
    /// Kills everything the child started. Harmless when nothing is left.
    pub(crate) fn kill_group(&mut self) {
        if let Some(group) = self.group.take() {
            let _gone_already = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            kill_marked(&self.mark);
        }
    }
}

impl Drop for GroupChild {
    fn drop(&mut self) {
        self.kill_group();
    }
}

/// How often to look for marked processes at the most, and how long to wait in between.
const PASSES: usize = 200;
const BETWEEN_PASSES: Duration = Duration::from_millis(2);

/// Kills every process that carries the mark in its environment: daemons that left group and session. Where
/// there is no `/proc`, the group has to be enough.
///
/// Looks again until two passes in a row have found nothing: a process that was being forked or executed during a
/// pass is not seen by it, and only for that moment.
fn kill_marked(mark: &str) {
    let entry = format!("{MARK_VARIABLE}={mark}");
    let mut quiet = 0;
    for _ in 0..PASSES {
        quiet = if kill_pass(entry.as_bytes()) == Pass::Clean { quiet + 1 } else { 0 };
        if quiet == 2 {
            return;
        }
        std::thread::sleep(BETWEEN_PASSES);
    }
}

#[derive(PartialEq, Eq)]
enum Pass {
    /// Nobody carries the mark.
    Clean,
    /// Somebody did, or could not be told yet.
    LookAgain,
}

fn kill_pass(entry: &[u8]) -> Pass {
    let mut pass = Pass::Clean;
    for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
            .and_then(rustix::process::Pid::from_raw);
        let Some(pid) = pid else { continue };
        let Ok(environment) = std::fs::read(process.path().join("environ")) else { continue };
        if environment.split(|byte| *byte == 0).any(|variable| variable == entry) {
            let _gone_already = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            pass = Pass::LookAgain;
        } else if environment.is_empty() && is_executing(&process.path()) {
            pass = Pass::LookAgain;
        }
    }
    pass
}

/// Whether a process without an environment is between two programs. Kernel threads and zombies have no program; one
/// that was started with an empty environment has arguments.
fn is_executing(process: &std::path::Path) -> bool {
    std::fs::read_link(process.join("exe")).is_ok()
        && std::fs::read(process.join("cmdline")).is_ok_and(|arguments| arguments.is_empty())
}

/// Starts a command as the leader of a new process group.
pub(crate) async fn spawn_group(command: &mut Command) -> std::io::Result<GroupChild> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    // The time makes it unique where every server is process 1 of its container.
    let mark = format!("{}-{}-{count}", std::process::id(), crate::registry::now_ms());
    command.env(MARK_VARIABLE, &mark).process_group(0).kill_on_drop(true);
    let mut attempts = 0;
    let child = loop {
        match command.spawn() {
            // A program that was just written may still be open for writing in a child that another thread
            // forked at the wrong moment; that child closes it when it executes.
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy && attempts < 20 => {
                attempts += 1;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            other => break other?,
        }
    };
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
    Ok(GroupChild { child, group, mark })
}

/// Reads a pipe to its end, keeping its first bytes and its last lines.
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

async fn drain(task: Option<tokio::task::JoinHandle<Vec<u8>>>) -> Vec<u8> {
    let Some(mut task) = task else { return Vec::new() };
    match tokio::time::timeout(DRAIN, &mut task).await {
        Ok(result) => result.unwrap_or_default(),
        Err(_) => {
            // A detached grandchild still holds the pipe; its output is not worth waiting for.
            task.abort();
            Vec::new()
        }
    }
}

/// Text arguments for a tool.
pub(crate) fn words(args: &[&str]) -> Vec<OsString> {
    args.iter().map(Into::into).collect()
}

/// A path argument such as `--prefix=<path>`.
pub(crate) fn path_option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}
