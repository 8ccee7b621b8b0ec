//! The README's commands, run as they stand.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may fail loudly")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const README: &str = include_str!("../../README.md");
const PATIENCE: Duration = Duration::from_secs(30);

/// The shell blocks of a page that have `needle` in them.
fn shell_blocks<'a>(page: &'a str, needle: &str) -> Vec<&'a str> {
    page.split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split("\n```").next())
        .filter(|block| block.contains(needle))
        .collect()
}

struct Server {
    child: Child,
    address: String,
    scratch: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_sandbox-agent"))
            .args(["server", "--port", "0", "--data-dir"])
            .arg(scratch.path())
            .env_remove("SANDBOX_AGENT_TOKEN")
            .env("SANDBOX_AGENT_CONFIG", "/dev/null")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").expect("an address").to_owned();
        Self { child, address, scratch }
    }

    /// A documented command, with the address of this server in place of the usual one.
    fn shell(&self, command: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-eu", "-c", &command.replace("127.0.0.1:2468", &self.address)]);
        shell
            .current_dir(self.scratch.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        shell
    }

    fn run(&self, command: &str) -> String {
        let child = self.shell(command).spawn().expect("there is a shell");
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert!(status.success(), "{command}\n{stdout}\n{stderr}");
        stdout.into_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A command that goes on until it is ended.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_readme_leads_to_a_streamed_answer_of_the_mock_agent() {
    let server = Server::start();
    let curl = shell_blocks(README, "curl");
    let [start, watch, prompt, end] = curl.as_slice() else { panic!("the README has four steps: {curl:#?}") };

    let started = server.run(start);
    assert!(started.contains(r#""protocolVersion":1"#), "{started}");
    assert!(started.contains(r#""sessionId":"mock-session-1""#), "{started}");

    // `exec`, so that ending the shell ends curl.
    let mut watching = Running(server.shell(&format!("exec {watch}")).spawn().unwrap());
    let output = BufReader::new(watching.0.stdout.take().unwrap());
    let (send, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || output.lines().map_while(Result::ok).all(|line| send.send(line).is_ok()));

    let answer = server.run(prompt);
    assert!(answer.contains(r#""stopReason":"end_turn""#), "{answer}");
    let deadline = Instant::now() + PATIENCE;
    let mut streamed = String::new();
    while !streamed.contains("end_turn") {
        let wait = deadline.saturating_duration_since(Instant::now());
        streamed += &lines.recv_timeout(wait).expect("the answer is streamed in time");
        streamed.push('\n');
    }
    assert!(streamed.contains("agent_message_chunk"), "{streamed}");
    assert_eq!(server.run(end), "");
}

#[test]
fn the_readme_has_two_commands_for_everything() {
    let makefile = include_str!("../../Makefile");
    for target in ["run", "test"] {
        assert_eq!(shell_blocks(README, &format!("make {target}")), [format!("make {target}")]);
        assert!(makefile.lines().any(|line| line.starts_with(&format!("{target}:"))), "make {target}");
    }
}
