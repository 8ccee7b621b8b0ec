//! Starts the agent and exchanges lines with it. Every wait has a deadline.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Longer than anything the agent does.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// All client capabilities.
pub(crate) fn all_capabilities() -> Value {
    json!({
        "fs": {"readTextFile": true, "writeTextFile": true},
        "terminal": true,
        "elicitation": {"form": {}},
    })
}

/// A running agent. Dropping it kills it.
pub(crate) struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    stderr: Option<JoinHandle<Vec<u8>>>,
    next_id: i64,
}

/// The messages received in answer to a prompt.
pub(crate) struct Turn {
    /// The `update` of each `session/update` of the session, in order.
    pub(crate) updates: Vec<Value>,
    /// All other messages except the response, in order.
    pub(crate) others: Vec<Value>,
    /// The whole response.
    pub(crate) response: Value,
}

impl Turn {
    /// The stop reason; panics for an error.
    pub(crate) fn stop_reason(&self) -> &str {
        self.response["result"]["stopReason"].as_str().unwrap_or_else(|| panic!("{}", self.response))
    }

    /// The updates of one kind.
    pub(crate) fn of(&self, kind: &str) -> Vec<&Value> {
        self.updates.iter().filter(|update| update["sessionUpdate"] == kind).collect()
    }

    /// The text of all message chunks, joined.
    pub(crate) fn text(&self) -> String {
        self.of("agent_message_chunk").iter().filter_map(|chunk| chunk["content"]["text"].as_str()).collect()
    }

    /// The successive statuses of the only tool call.
    pub(crate) fn statuses(&self) -> Vec<&str> {
        let calls = self.updates.iter().filter(|update| {
            update["sessionUpdate"] == "tool_call" || update["sessionUpdate"] == "tool_call_update"
        });
        // By the schema, a missing status in the first message is `pending`.
        calls.map(|call| call["status"].as_str().unwrap_or("pending")).collect()
    }
}

impl Agent {
    pub(crate) fn start() -> Self {
        Self::start_with(|_| {})
    }

    pub(crate) fn start_with(set_up: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mock-agent"));
        command
            .env_remove("MOCK_AGENT_STATE")
            .env_remove("MOCK_AGENT_REQUIRE_AUTH")
            .env_remove("MOCK_AGENT_WITHOUT");
        set_up(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut errors = child.stderr.take().unwrap();
        // The channel is bounded: a test that does not take lines acts as a client that does not read.
        let (sender, lines) = sync_channel(1);
        std::thread::spawn(move || {
            let mut line = Vec::new();
            while stdout.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                if sender.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        let stderr = std::thread::spawn(move || {
            let mut all = Vec::new();
            errors.read_to_end(&mut all).unwrap();
            all
        });
        Self { child, stdin, lines, stderr: Some(stderr), next_id: 100 }
    }

    /// A started agent with an initialized connection and one session, `mock-session-1`.
    pub(crate) fn ready(capabilities: &Value) -> Self {
        let mut agent = Self::start();
        agent.initialize(capabilities);
        agent.new_session();
        agent
    }

    pub(crate) fn initialize(&mut self, capabilities: &Value) -> Value {
        self.call("initialize", &json!({"protocolVersion": 1, "clientCapabilities": capabilities}))
    }

    /// Creates a session and takes the slash commands that follow.
    pub(crate) fn new_session(&mut self) -> Value {
        let made = self.call("session/new", &json!({"cwd": "/mock", "mcpServers": []}));
        assert_eq!(self.next()["params"]["update"]["sessionUpdate"], "available_commands_update");
        made["result"].clone()
    }

    pub(crate) fn send_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
        stdin.flush().unwrap();
    }

    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.send_line(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    pub(crate) fn answer(&mut self, request: &Value, result: &Value) {
        self.send_line(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}).to_string());
    }

    /// Sends a request and returns its id.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> i64 {
        self.next_id += 1;
        let id = self.next_id;
        self.send_line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        id
    }

    /// Sends a request and takes its response, which must be the next message.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        let id = self.ask(method, params);
        let response = self.next();
        assert_eq!(response["id"], id, "{response}");
        response
    }

    pub(crate) fn ask_prompt(&mut self, session: &str, text: &str) -> i64 {
        self.ask("session/prompt", &json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]}))
    }

    /// Prompts `mock-session-1` and takes everything up to the answer.
    pub(crate) fn prompt(&mut self, text: &str) -> Turn {
        self.prompt_answering(text, |request| panic!("the agent asked: {request}"))
    }

    /// Like `prompt`, but answers the agent's requests with `answer`.
    pub(crate) fn prompt_answering(&mut self, text: &str, answer: impl FnMut(&Value) -> Value) -> Turn {
        let id = self.ask_prompt("mock-session-1", text);
        self.finish(id, answer)
    }

    /// Takes everything up to the response to `id`.
    pub(crate) fn finish(&mut self, id: i64, mut answer: impl FnMut(&Value) -> Value) -> Turn {
        let mut turn = Turn { updates: Vec::new(), others: Vec::new(), response: Value::Null };
        loop {
            let message = self.next();
            if message["method"] == "session/update" {
                turn.updates.push(message["params"]["update"].clone());
            } else if message.get("method").is_none() && message["id"] == id {
                turn.response = message;
                return turn;
            } else {
                if message.get("method").is_some() && message.get("id").is_some() {
                    let result = answer(&message);
                    self.answer(&message, &result);
                }
                turn.others.push(message);
            }
        }
    }

    /// The next line, which must be JSON.
    pub(crate) fn next(&mut self) -> Value {
        let line = self.next_line().expect("the agent closed stdout");
        serde_json::from_slice(&line).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&line)))
    }

    /// The next raw line; `None` at the end of stdout.
    pub(crate) fn next_line(&mut self) -> Option<Vec<u8>> {
        match self.lines.recv_timeout(DEADLINE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("the agent sent nothing within {DEADLINE:?}"),
        }
    }

    /// Takes messages until one matches.
    pub(crate) fn next_where(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.next();
            if fits(&message) {
                return message;
            }
        }
    }

    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits for the process to exit; returns its status and its whole stderr.
    pub(crate) fn wait(mut self) -> (ExitStatus, String) {
        let until = Instant::now() + DEADLINE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < until, "the agent did not exit within {DEADLINE:?}");
            std::thread::sleep(Duration::from_millis(5));
        };
        let stderr = self.stderr.take().expect("taken once").join().unwrap();
        (status, String::from_utf8_lossy(&stderr).into_owned())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Agent {
    /// The agent's resident memory.
    pub(crate) fn resident_kilobytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}
