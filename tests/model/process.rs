//! `sandbox-agent model` as a user starts it: the process prints its address, answers, and stops on a signal. The
//! other suite in this folder tests the answers in detail.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should panic")]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use serde_json::{Value, json};
use test_harness::server::product;
use test_harness::{Process, Request, eventually};

/// A running model; it is killed when it is dropped.
struct Model {
    child: Child,
    output: BufReader<ChildStdout>,
    port: u16,
}

impl Model {
    fn start(flags: &[&str]) -> Self {
        let mut child = Command::new(product())
            .args(["model", "--port", "0"])
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the model starts");
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("listening on http://127.0.0.1:").expect("an address");
        let port = address.parse().unwrap();
        Self { child, output, port }
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let request = Request::new(self.port, "POST", path).header("content-type", "application/json");
        request.body(body.to_string()).send().expect(200).json()
    }

    /// Sends a signal and waits until the model exits; returns its exit status and its standard error.
    fn end(&mut self, signal: &str) -> (ExitStatus, String) {
        Process::of(self.child.id()).signal(signal);
        let status = eventually("the model ends", || self.child.try_wait().unwrap());
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        (status, errors)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_model_prints_its_address_the_scripts_and_the_settings_for_agents() {
    let mut model = Model::start(&[]);
    let port = model.port;
    let (status, errors) = model.end("TERM");
    let mut introduction = String::new();
    model.output.read_to_string(&mut introduction).unwrap();
    assert!(status.success(), "{status}: {errors}");
    assert!(introduction.contains("    say TEXT "), "{introduction}");
    for expected in [
        format!("# claude\nexport ANTHROPIC_BASE_URL=http://127.0.0.1:{port}\n"),
        "# codex\nexport LOCAL_KEY=dummy\n".to_owned(),
        format!("    base_url = \"http://127.0.0.1:{port}/v1\"\n"),
        "# and in ~/.pi/agent/models.json:\n".to_owned(),
        "# and in ~/.pi/agent/settings.json:\n".to_owned(),
    ] {
        assert!(introduction.contains(&expected), "{expected} is not in {introduction}");
    }
}

#[test]
fn the_model_answers_each_wire_format() {
    let model = Model::start(&["--quiet"]);
    let messages = json!([{"role": "user", "content": "say one two"}]);
    let anthropic = model.post("/v1/messages", &json!({"model": "m", "max_tokens": 9, "messages": messages}));
    assert_eq!(anthropic["content"][0]["text"], "one two");
    let chat = model.post("/v1/chat/completions", &json!({"model": "m", "messages": messages}));
    assert_eq!(chat["choices"][0]["message"]["content"], "one two");
    let responses = model.post("/v1/responses", &json!({"model": "m", "input": "say one two"}));
    assert_eq!(responses["output"][0]["content"][0]["text"], "one two");
    let contents = json!({"contents": [{"role": "user", "parts": [{"text": "say one two"}]}]});
    let gemini = model.post("/v1beta/models/m:generateContent", &contents);
    assert_eq!(gemini["candidates"][0]["content"]["parts"][0]["text"], "one two");
}

#[test]
fn a_signal_stops_the_model_at_once_with_success_even_during_an_answer() {
    for signal in ["TERM", "INT"] {
        let mut model = Model::start(&["--quiet"]);
        let prompt =
            json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "slow 60"}]});
        let request = Request::new(model.port, "POST", "/v1/chat/completions");
        let mut answer = BufReader::new(
            request.header("content-type", "application/json").body(prompt.to_string()).write(),
        );
        let mut line = String::new();
        while !line.starts_with("data: ") {
            line.clear();
            assert_ne!(answer.read_line(&mut line).unwrap(), 0, "the answer ended before it began");
        }
        let (status, errors) = model.end(signal);
        assert!(status.success(), "{signal}: {status}");
        assert_eq!(errors, "", "{signal}");
    }
}

#[test]
fn a_port_in_use_is_reported() {
    let model = Model::start(&["--quiet"]);
    let taken = model.port.to_string();
    let second = Command::new(product()).args(["model", "--port", &taken]).output().expect("it runs");
    assert!(!second.status.success());
    assert!(String::from_utf8_lossy(&second.stderr).contains("in use"), "{second:?}");
}
