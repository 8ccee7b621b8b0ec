//! Processes that the agent starts and leaves behind.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::give_up;

/// The lifetime of a process that is not killed.
const LIFETIME_SECONDS: u32 = 300;

/// Starts a process that leaves this one's session, environment and parent. Returns its id.
///
/// `deaf` makes the daemon ignore SIGTERM; `stops` makes it stop the process with that id again and again;
/// `keepsStdout` makes it keep the agent's standard output open; with `alone`, it uses no other program, for a
/// file system that has none.
pub(crate) fn daemon(params: &Value) -> u32 {
    if flag(params, "alone") {
        return lone_daemon();
    }
    let mut script = String::new();
    if flag(params, "deaf") {
        script.push_str("trap '' TERM; ");
    }
    let stays = match params["stops"].as_u64() {
        Some(pid) => format!("while kill -s STOP {pid}; do :; done 2>/dev/null"),
        None => format!("exec sleep {LIFETIME_SECONDS} 2>/dev/null"),
    };
    // The daemon reports its id on standard error, which is read here, and then closes it.
    script.push_str(&format!("echo $$ >&2; {stays}"));
    let stdout = if flag(params, "keepsStdout") { Stdio::inherit() } else { Stdio::null() };
    let mut child = Command::new("setsid")
        .args(["--fork", "env", "-i", "sh", "-c", &script])
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| give_up(&format!("setsid: {error}")));
    let mut line = String::new();
    let reported = child.stderr.take().map(|stderr| BufReader::new(stderr).read_line(&mut line));
    let _ = child.wait();
    match (reported, line.trim().parse()) {
        (Some(Ok(_)), Ok(pid)) => pid,
        _ => give_up(&format!("the daemon did not report its id: {line:?}")),
    }
}

/// The flag of the process between the agent and its daemon, which exits at once.
pub(crate) const START_DAEMON: &str = "--start-daemon";
/// The flag of the daemon.
pub(crate) const BE_DAEMON: &str = "--be-daemon";

fn lone_daemon() -> u32 {
    let reported =
        itself(START_DAEMON).output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    match reported.map(|text| text.trim().parse()) {
        Ok(Ok(pid)) => pid,
        other => give_up(&format!("the daemon did not report its id: {other:?}")),
    }
}

/// Starts the daemon, reports its id, and exits, so that the daemon is re-parented.
pub(crate) fn start_daemon() -> ! {
    match itself(BE_DAEMON).spawn() {
        Ok(child) => {
            println!("{}", child.id());
            std::process::exit(0)
        }
        Err(error) => give_up(&format!("cannot start the daemon: {error}")),
    }
}

/// The flag of a process that starts a copy of itself and exits. The next argument is the end of the chain,
/// in milliseconds since the Unix epoch.
pub(crate) const CHAIN: &str = "--chain";

/// Starts processes that each start the next one and exit at once: `count` chains that end by themselves after
/// `seconds`.
pub(crate) fn chains(params: &Value) {
    let end = now() + 1000 * params["seconds"].as_u64().unwrap_or(60);
    for _ in 0..params["count"].as_u64().unwrap_or(1) {
        next_in_chain(end);
    }
}

/// One process of a chain.
pub(crate) fn chain(end: u64) -> ! {
    if now() < end {
        next_in_chain(end);
    }
    std::process::exit(0)
}

fn next_in_chain(end: u64) {
    let mut command = Command::new(std::env::args_os().next().unwrap_or_default());
    command.args([CHAIN, &end.to_string()]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = command.spawn() {
        give_up(&format!("cannot start a process of a chain: {error}"));
    }
}

fn now() -> u64 {
    let time = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A command that runs this program with another flag. Its streams are pipes that are not read, since there
/// may be no `/dev/null`.
fn itself(flag: &str) -> Command {
    let mut command = Command::new(std::env::args_os().next().unwrap_or_default());
    command.arg(flag).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts a child and never waits for it. Returns its id.
///
/// `short` makes the child exit at once, so that it stays a zombie for as long as the agent lives.
#[expect(clippy::zombie_processes, reason = "the test needs an agent that does not reap its children")]
pub(crate) fn child(params: &Value) -> u32 {
    let seconds = if flag(params, "short") { "0".to_owned() } else { LIFETIME_SECONDS.to_string() };
    let child = Command::new("sleep")
        .arg(seconds)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| give_up(&format!("sleep: {error}")));
    child.id()
}

fn flag(params: &Value, name: &str) -> bool {
    params[name].as_bool().unwrap_or(false)
}
