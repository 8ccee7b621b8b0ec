//! `make run`, as shown in the README and the quickstart. It builds the server, so it does not run with the other
//! tests: see `make test-builds`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use crate::blocks::{RunMode, every_page, of, project};

const COMMAND: &str = "make run";

#[test]
fn make_run_starts_the_server_and_prints_the_address_of_the_inspector() {
    let pages = every_page();
    let page = |name: &str| &pages.iter().find(|(page, _)| page == name).expect("the page").1;
    for name in ["README.md", "docs/quickstart.md"] {
        let is_it = |block: &crate::blocks::Block| block.text == COMMAND && block.mode == RunMode::Elsewhere;
        assert!(of(page(name)).iter().any(is_it), "{name} does not show the command");
    }
    // The text block after the command is its output.
    let (_, behind) = page("docs/quickstart.md").split_once(COMMAND).unwrap();
    let shown = behind.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();

    let mut server = Command::new("sh")
        .args(["-c", COMMAND])
        .current_dir(project())
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let group = Pid::from_child(&server);
    let ended = Ended(group);
    let mut printed = BufReader::new(server.stdout.take().unwrap()).lines().map_while(Result::ok);
    for line in shown.lines() {
        assert!(printed.any(|one| one == line), "the output ended before `{line}`");
    }

    let address = shown.trim_end().rsplit("://").next().unwrap();
    let (host, path) = address.split_once('/').unwrap();
    let inspector = get(host, &format!("/{path}"));
    assert!(
        inspector.starts_with("HTTP/1.1 200 ") && inspector.contains("<title>Sandbox Agent"),
        "{inspector}"
    );

    // Ctrl-C reaches all processes of the group.
    kill_process_group(group, Signal::INT).unwrap();
    server.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while test_kill_process_group(group).is_ok() {
        assert!(Instant::now() < deadline, "some processes are still running");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(TcpStream::connect(host).is_err(), "the server still listens");
    drop(ended);
}

fn get(host: &str, path: &str) -> String {
    let mut connection = TcpStream::connect(host).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(connection, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

/// Kills the remaining processes when the test fails.
struct Ended(Pid);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = kill_process_group(self.0, Signal::KILL);
    }
}
