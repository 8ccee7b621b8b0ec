//! Runs the commands of a page as a reader would: in one folder, one after the other, with the built program on
//! the `PATH` and without the machine's own settings.
//!
//! The ports in the pages are replaced by free ones, so that pages can run concurrently. If a page does not
//! start a server itself, one is already running.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use crate::blocks::{self, Block, RunMode};

const TIMEOUT: Duration = Duration::from_secs(30);
/// The time limit for blocks that install something.
const LONG_TIMEOUT: Duration = Duration::from_secs(210);
const PORTS: [&str; 2] = ["2468", "2469"];

/// Runs every block of a page that can run here.
pub(crate) fn run(name: &str) {
    let pages = blocks::pages();
    let (_, text) = pages.iter().find(|(page, _)| page == name).expect("the page has shell blocks");
    let blocks = blocks::of(text);
    let mut reader = Reader::new();
    if let Some((folder, _)) = name.rsplit_once('/').filter(|(folder, _)| *folder != "docs") {
        reader.go_to(folder);
    }
    let starts_its_own =
        |block: &Block| block.mode == RunMode::Background && block.text.contains("sandbox-agent server");
    if !blocks.iter().any(starts_its_own) {
        reader.start("sandbox-agent server", &[]);
    }
    for block in &blocks {
        match block.mode {
            RunMode::Run => reader.run(block, TIMEOUT),
            RunMode::Network => reader.run(block, LONG_TIMEOUT),
            RunMode::Background => reader.start(&block.text, &block.output),
            RunMode::Elsewhere => {}
        }
    }
    // A background process must have printed the output that the page shows.
    for Background { printed, output, .. } in &reader.running {
        let deadline = Instant::now() + TIMEOUT;
        while let Err(missing) = in_order(&printed.lock().unwrap(), output) {
            assert!(Instant::now() < deadline, "`{missing}` is not printed: {}", printed.lock().unwrap());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Checks that the lines occur in the text in order; returns the first that does not.
fn in_order<'a>(text: &str, lines: &'a [String]) -> Result<(), &'a str> {
    let mut rest = text;
    for line in lines {
        let place = rest.find(line.as_str()).ok_or(line.as_str())?;
        rest = &rest[place + line.len()..];
    }
    Ok(())
}

/// A reader who follows a page.
struct Reader {
    folder: tempfile::TempDir,
    /// The folder that commands run in.
    place: PathBuf,
    ports: [u16; PORTS.len()],
    /// Ended in reverse order, with their children.
    running: Vec<Background>,
}

/// A process that runs until the page ends.
struct Background {
    _group: Group,
    printed: Arc<Mutex<String>>,
    /// The output that the page shows.
    output: Vec<String>,
}

impl Reader {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().to_owned();
        // All ports are bound at once, so that no two are equal.
        let listeners = PORTS.map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"));
        let ports = listeners.map(|listener| listener.local_addr().expect("an address").port());
        Self { folder, place, ports, running: Vec::new() }
    }

    /// Runs the following commands in a folder of the project, in a copy of the project's files.
    fn go_to(&mut self, folder: &str) {
        let Output { status, stdout, .. } = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(blocks::project())
            .output()
            .expect("there is git");
        assert!(status.success());
        let project = self.folder.path().join("project");
        for name in String::from_utf8(stdout).unwrap().split_terminator('\0') {
            let (from, to) = (blocks::project().join(name), project.join(name));
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            // Uncommitted deletions are listed too.
            if from.is_file() {
                std::fs::copy(from, to).unwrap();
            }
        }
        self.place = project.join(folder);
    }

    fn shell(&self, text: &str) -> Command {
        let text = PORTS.iter().zip(self.ports).fold(text.to_owned(), |text, (port, own)| {
            text.replace(&format!(":{port}"), &format!(":{own}"))
                .replace(&format!("--port {port}"), &format!("--port {own}"))
        });
        let product = test_harness::server::product();
        let program = product.parent().expect("a program is in a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("bash");
        shell
            .args(["-eu", "-o", "pipefail", "-c", &text])
            .current_dir(&self.place)
            .env("PATH", format!("{}:{path}", program.display()))
            .env("HOME", self.folder.path())
            .env("XDG_CONFIG_HOME", self.folder.path().join(".config"))
            .env("XDG_DATA_HOME", self.folder.path().join(".data"))
            .env("SANDBOX_AGENT_PORT", self.ports[0].to_string())
            // The environment of a user without API keys, who uses the page's model with a dummy key.
            .env("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{}", self.ports[1]))
            // This variable tells agents how they were started, which would be wrong here.
            .env_remove("IS_SANDBOX")
            .env_remove("SANDBOX_AGENT_TOKEN")
            .env_remove("SANDBOX_AGENT_URL")
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Replaces the default address. `prompt` has no default: without one, it starts its own server.
        if !text.contains("sandbox-agent prompt") {
            shell.env("SANDBOX_AGENT_URL", format!("http://127.0.0.1:{}", self.ports[0]));
        }
        shell
    }

    fn run(&self, block: &Block, timeout: Duration) {
        let mut group = Group(self.shell(&block.text).spawn().expect("there is a shell"));
        let (out, err) = (drain(group.0.stdout.take()), drain(group.0.stderr.take()));
        let deadline = Instant::now() + timeout;
        let status = loop {
            match group.0.try_wait().expect("it can be waited for") {
                Some(status) => break Some(status),
                None if Instant::now() > deadline => break None,
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        drop(group);
        let (out, err) = (text_of(&out), text_of(&err));
        let reported = format!("{}\n--- printed\n{out}\n--- complained\n{err}", block.text);
        assert!(status.is_some_and(|status| status.success()), "{status:?}: {reported}");
        if let Err(missing) = in_order(&out, &block.output) {
            panic!("`{missing}` is not printed: {reported}");
        }
    }

    /// Starts a background process. It is ready when it has printed something, which all of them do.
    fn start(&mut self, text: &str, output: &[String]) {
        let mut group = Group(self.shell(text).spawn().expect("there is a shell"));
        let err = drain(group.0.stderr.take());
        let mut out = BufReader::new(group.0.stdout.take().expect("its output"));
        let printed = Arc::new(Mutex::new(String::new()));
        let copy = Arc::clone(&printed);
        std::thread::spawn(move || {
            let mut line = Vec::new();
            while out.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                copy.lock().unwrap().push_str(&String::from_utf8_lossy(&line));
                line.clear();
            }
        });
        let deadline = Instant::now() + TIMEOUT;
        while printed.lock().unwrap().is_empty() {
            if Instant::now() > deadline || !matches!(group.0.try_wait(), Ok(None)) {
                drop(group);
                panic!("{text}\nprinted nothing: {}", text_of(&err));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.running.push(Background { _group: group, printed, output: output.to_vec() });
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        while self.running.pop().is_some() {}
    }
}

/// A shell and its children.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.0);
        // Send SIGTERM first: a server then ends its agents.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::TERM);
        let deadline = Instant::now() + Duration::from_secs(10);
        while matches!(self.0.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.0.wait();
    }
}

fn drain(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let mut pipe = pipe.expect("a pipe");
    let (send, drained) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        let _ = send.send(bytes);
    });
    drained
}

fn text_of(drained: &mpsc::Receiver<Vec<u8>>) -> String {
    let bytes = drained.recv_timeout(Duration::from_secs(5)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
