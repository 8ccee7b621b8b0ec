//! `make run`, as the README and the quickstart have it. Builds the server, so it is not run beside the other tests: see
//! `make test-builds`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use crate::blocks::{Manner, every_page, of, project};

const COMMAND: &str = "make run";

#[test]
fn make_run_starts_the_server_and_says_where_the_inspector_is() {
    let pages = every_page();
    let page = |name: &str| &pages.iter().find(|(page, _)| page == name).expect("the page").1;
    for name in ["README.md", "docs/quickstart.md"] {
        let is_it = |block: &crate::blocks::Block| block.text == COMMAND && block.manner == Manner::Elsewhere;
        assert!(of(page(name)).iter().any(is_it), "{name} begins with it");
    }
    // The block of text that follows the command is what it prints.
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
        assert!(printed.any(|one| one == line), "it ends before it prints `{line}`");
    }

    let address = shown.trim_end().rsplit("://").next().unwrap();
    let (host, path) = address.split_once('/').unwrap();
    let inspector = get(host, &format!("/{path}"));
    assert!(
        inspector.starts_with("HTTP/1.1 200 ") && inspector.contains("<title>Sandbox Agent"),
        "{inspector}"
    );

    // Ctrl-C goes to all of them.
    kill_process_group(group, Signal::INT).unwrap();
    server.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while test_kill_process_group(group).is_ok() {
        assert!(Instant::now() < deadline, "something is left");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(TcpStream::connect(host).is_err(), "nobody listens any more");
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

/// Ends what is left when the test fails.
struct Ended(Pid);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = kill_process_group(self.0, Signal::KILL);
    }
}
