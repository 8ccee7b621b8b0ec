//! A minimal root file system with the product, and servers that run in it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use test_harness::rpc::call;
use test_harness::server::fault_agent;
use test_harness::server::product;
use test_harness::{Process, Request, eventually};

/// How the server is started in the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// As an ordinary process.
    Plainly,
    /// As process 1 of its own process namespace.
    AsFirstProcess,
}

/// A folder that is the root of a server.
pub(crate) struct Root(TempDir);

impl Root {
    /// A root with `/sandbox-agent` and `/agent` only: no `/proc`, `/dev`, `/etc` or `/tmp`. Dynamically linked
    /// binaries bring their libraries.
    pub(crate) fn bare() -> Self {
        let folder = tempfile::Builder::new().prefix("packaging-").tempdir().expect("a folder can be made");
        let root = Self(folder);
        root.place(&product(), "sandbox-agent");
        root.place_agent();
        root
    }

    /// A root made by a script of the repository, which gets the binary and the folder as arguments.
    pub(crate) fn laid_out_by(script: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("packaging-").tempdir().expect("a folder can be made");
        let product = product();
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let done = Command::new("sh").arg(top.join(script)).arg(&product).arg(folder.path()).status();
        assert!(done.is_ok_and(|status| status.success()), "{script} failed");
        let root = Self(folder);
        root.place_libraries_of(&product);
        // The folder is private to its owner, but another user will use it.
        let world_readable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(root.path(), world_readable).expect("it can be opened");
        root
    }

    /// Gives the contents of a folder, but not the folder itself, to `USER:GROUP`; does nothing if only one user
    /// is available.
    pub(crate) fn give_away_what_is_in(&self, place: &str, owner: &str) {
        if rustix::process::getuid().is_root() {
            let folder = self.path().join(place.trim_start_matches('/'));
            let below = ["-mindepth", "1", "-exec", "chown", owner, "{}", "+"];
            let done = Command::new("find").arg(folder).args(below).status();
            assert!(done.is_ok_and(|status| status.success()), "chown {owner} {place} failed");
        }
    }

    /// Adds `/agent` to the root.
    pub(crate) fn place_agent(&self) {
        self.place(&fault_agent(), "agent");
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    fn place(&self, program: &Path, name: &str) {
        // A debug build is large; a hard link is as good as a copy.
        let place = self.path().join(name);
        if std::fs::hard_link(program, &place).is_err() {
            std::fs::copy(program, &place).expect("a program can be copied");
        }
        self.place_libraries_of(program);
    }

    fn place_libraries_of(&self, program: &Path) {
        for library in libraries_of(program) {
            let inside = self.path().join(library.strip_prefix("/").expect("a library has a whole path"));
            std::fs::create_dir_all(inside.parent().expect("a library is in a folder"))
                .expect("it can be made");
            std::fs::copy(&library, &inside).expect("a library can be copied");
        }
    }

    /// A command that runs the product in this root with an empty environment.
    pub(crate) fn command(&self, start: Start, arguments: &[&str]) -> Command {
        let user: &[&str] =
            if rustix::process::getuid().is_root() { &[] } else { &["--user", "--map-root-user"] };
        let namespace: &[&str] = match start {
            Start::Plainly => &[],
            Start::AsFirstProcess => &["--pid", "--fork", "--kill-child=SIGKILL"],
        };
        let mut command = Command::new("/usr/bin/unshare");
        command.args(user).args(namespace).arg("/usr/sbin/chroot").arg(self.path()).arg("/sandbox-agent");
        command.args(arguments).env_clear().stdin(Stdio::null());
        command
    }

    /// A server in this root with its data in `/data` and `/agent` as the agent `beside`.
    #[track_caller]
    pub(crate) fn serve(&self, start: Start) -> Inside {
        let arguments = ["server", "--port", "0", "--data-dir", "/data", "--agent", "beside=/agent"];
        Inside::start(self.command(start, &arguments))
    }
}

/// The libraries that a program loads; none for a static one.
fn libraries_of(program: &Path) -> Vec<PathBuf> {
    let reported = Command::new("ldd").arg(program).output().expect("there is an ldd");
    let text = String::from_utf8_lossy(&reported.stdout);
    text.split_ascii_whitespace()
        .filter(|word| word.starts_with('/') && word.contains(".so"))
        .map(PathBuf::from)
        .collect()
}

/// A server that is running in a root.
pub(crate) struct Inside {
    child: Child,
    pub(crate) port: u16,
    /// The token to send with every request.
    token: String,
    _output: BufReader<ChildStdout>,
}

impl Inside {
    /// Starts the server and waits until it prints its address.
    #[track_caller]
    pub(crate) fn start(command: Command) -> Self {
        Self::start_with_token(command, "")
    }

    /// Like [`Inside::start`], for a server with a token.
    #[track_caller]
    pub(crate) fn start_with_token(mut command: Command, token: &str) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it can be started");
        let mut output = BufReader::new(child.stdout.take().expect("its output is piped"));
        let mut line = String::new();
        output.read_line(&mut line).expect("its output is text");
        let port = line.trim().rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        let server = Self { child, port: port.unwrap_or_default(), token: token.to_owned(), _output: output };
        assert_ne!(server.port, 0, "the server did not print its address: {line:?}");
        server
    }

    pub(crate) fn process(&self) -> Process {
        Process::of(self.child.id())
    }

    pub(crate) fn request(&self, method: &str, target: &str) -> Request {
        let request = Request::new(self.port, method, target);
        if self.token.is_empty() {
            request
        } else {
            request.header("Authorization", &format!("Bearer {}", self.token))
        }
    }

    /// Sends a request to an agent and returns its result.
    #[track_caller]
    pub(crate) fn tell(&self, instance: &str, method: &str, params: Value) -> Value {
        let id = format!("{method}-{:?}", Instant::now());
        let post = self.request("POST", &format!("/v1/acp/{instance}")).query("agent", "beside");
        let answer = post.body(call(id, method, params)).send().expect(200).json();
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Makes an agent start a daemon that has left its session and its parent; returns the process as seen from
    /// outside.
    #[track_caller]
    pub(crate) fn spawn_daemon(&self, instance: &str) -> Process {
        assert!(self.tell(instance, "spawn_daemon", json!({"alone": true}))["pid"].is_u64());
        let is_daemon = |process: &Process| {
            let command = std::fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
            command.ends_with(b"--be-daemon\0")
        };
        eventually("the daemon is there", || self.process().descendants().into_iter().find(is_daemon))
    }

    /// Waits for the server to exit by itself.
    #[track_caller]
    pub(crate) fn wait_for_end(&mut self) -> ExitStatus {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                return status;
            }
            assert!(Instant::now() < deadline, "the server still runs");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let family = if self.child.try_wait().is_ok_and(|end| end.is_none()) {
            self.process().descendants()
        } else {
            Vec::new()
        };
        let _ = self.child.kill();
        let _ = self.child.wait();
        // A process 1 that changed its user does not die with the program that created its namespace; all others
        // die with process 1.
        family.first().copied().into_iter().for_each(Process::kill_if_there);
        let deadline = Instant::now() + Duration::from_secs(20);
        while !family.iter().all(|process| process.is_gone()) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
