//! A prompt without `--url` runs its agent in its own process, and listens on no TCP socket.
//!
//! This program has two roles. When the test runner runs it, it runs the tests. When a test runs it, with [`REPORT`]
//! set, it is the product with an engine that reports how many TCP sockets its process listens on whenever a message
//! is sent. Only the process itself can count them, because it is not dumpable.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should panic")]

mod observed;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, ExitCode, Stdio};

use tempfile::TempDir;

use self::observed::REPORT;

const TESTS: [(&str, fn()); 2] = [
    ("a_prompt_without_a_url_listens_on_nothing", a_prompt_without_a_url_listens_on_nothing),
    (
        "a_server_with_the_same_engine_listens_on_one_socket",
        a_server_with_the_same_engine_listens_on_one_socket,
    ),
];

fn main() -> ExitCode {
    // The supervisor is started without an environment, so its role is checked first.
    process_supervisor::become_supervisor_if_asked();
    if std::env::var_os(REPORT).is_some() {
        return sandbox_agent::main_with(observed::observe);
    }
    run_tests(&std::env::args().skip(1).collect::<Vec<String>>());
    ExitCode::SUCCESS
}

/// Lists or runs the tests. Supports the part of libtest's command line that cargo and nextest need.
fn run_tests(arguments: &[String]) {
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    if has("--ignored") {
        return;
    }
    if has("--list") {
        return TESTS.iter().for_each(|(name, _)| println!("{name}: test"));
    }
    let filters: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    for (name, test) in TESTS {
        if filters.is_empty() || filters.iter().any(|filter| name.contains(*filter)) {
            test();
            println!("test {name} ... ok");
        }
    }
}

/// The directory for the files and the report of one run of the product.
struct TestDirectory(TempDir);

impl TestDirectory {
    fn new() -> Self {
        let directory = Self(tempfile::tempdir().unwrap());
        std::fs::write(directory.0.path().join("registry.json"), r#"{"version":"1","agents":[]}"#).unwrap();
        directory
    }

    /// A command that runs this program as the product.
    fn product(&self) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        for (name, _) in std::env::vars_os() {
            // The developer's own settings must not affect the tests.
            if name.to_string_lossy().starts_with("SANDBOX_AGENT_") {
                command.env_remove(name);
            }
        }
        let folder = self.0.path();
        let registry = format!("file://{}", folder.join("registry.json").display());
        command.current_dir(folder).env("HOME", folder).env(REPORT, folder.join("report"));
        command.env("XDG_CONFIG_HOME", folder.join("config")).env("XDG_DATA_HOME", folder.join("data"));
        command.env("XDG_CACHE_HOME", folder.join("cache")).env("SANDBOX_AGENT_ACP_REGISTRY_URL", registry);
        command
    }

    /// The number of sockets that the product listened on, once per message that was sent.
    fn report(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.0.path().join("report")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

fn a_prompt_without_a_url_listens_on_nothing() {
    let directory = TestDirectory::new();
    let ended =
        directory.product().args(["prompt", "mock", "echo hello"]).stdin(Stdio::null()).output().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert_eq!((ended.status.code(), &ended.stdout[..]), (Some(0), &b"hello\n"[..]), "{errors}");
    assert_eq!(directory.report(), ["0", "0", "0"], "initialize, session/new, session/prompt");
    let configuration = directory.0.path().join("data/sandbox-agent/config");
    assert!(!configuration.exists(), "only a server creates the configuration store");
}

/// Proves that listening sockets are counted, and that the server also uses the wrapped engine.
fn a_server_with_the_same_engine_listens_on_one_socket() {
    let directory = TestDirectory::new();
    let mut command = directory.product();
    command.args(["server", "--port", "0", "--stop-with-stdin"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = command.spawn().unwrap();
    let mut first = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    let address = first.trim_end().rsplit('/').next().unwrap();

    let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
    let length = body.len();
    let mut connection = TcpStream::connect(address).unwrap();
    write!(
        connection,
        "POST /v1/acp/x?agent=mock HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");

    drop(server.stdin.take());
    assert!(server.wait().unwrap().success());
    assert_eq!(directory.report(), ["1"]);
    assert!(directory.0.path().join("data/sandbox-agent/config").exists());
}
