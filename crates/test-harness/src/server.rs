//! A server for one test, with its own port and folders. It is stopped when the test ends.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::{Process, Request, SOON};

/// The product under test: the binary that `SANDBOX_AGENT_BIN` names, or else the one that was built with the tests.
pub fn product() -> PathBuf {
    std::env::var_os("SANDBOX_AGENT_BIN").map_or_else(|| built("sandbox-agent"), PathBuf::from)
}

/// The agent that misbehaves on request, in the product's build folder.
pub fn fault_agent() -> PathBuf {
    let path = product().with_file_name("fault-agent");
    assert!(path.exists(), "{} is missing: run cargo build --workspace first", path.display());
    path
}

/// A program of the workspace. Cargo puts programs into the folder above that of the tests.
fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let folder = test.parent().and_then(Path::parent).expect("a test lies in the folder `deps` of a profile");
    folder.join(name)
}

/// Configures a server.
pub struct ServerBuilder {
    command: Command,
    scratch: Arc<TempDir>,
    registry: String,
    has_unread_log: bool,
}

impl Default for ServerBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl ServerBuilder {
    pub fn new() -> Self {
        let scratch = tempfile::Builder::new().prefix("contract-").tempdir().expect("a folder can be made");
        let mut command = Command::new(product());
        command.arg("server");
        Self {
            command,
            scratch: Arc::new(scratch),
            registry: r#"{"version":"1","agents":[]}"#.to_owned(),
            has_unread_log: false,
        }
        .env("SANDBOX_AGENT_PORT", "0")
        .flag("--agent", &format!("fault='{}'", fault_agent().display()))
    }

    /// Starts the server through another program, which gets the server's command line as arguments.
    pub fn under(mut self, program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).arg(product()).args(self.command.get_args());
        command.envs(self.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        self.command = command;
        self
    }

    pub fn flag(mut self, name: &str, value: &str) -> Self {
        self.command.args([name, value]);
        self
    }

    pub fn switch(mut self, name: &str) -> Self {
        self.command.arg(name);
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Configures an agent with this name: the fault agent with these flags.
    pub fn agent(self, name: &str, flags: &str) -> Self {
        self.flag("--agent", &format!("{name}='{}' {flags}", fault_agent().display()))
    }

    /// Sets the document that the server reads as ACP registry (default: empty).
    pub fn registry(mut self, document: &str) -> Self {
        self.registry = document.to_owned();
        self
    }

    /// Starts in the folder of a server that has ended, with what it has left there.
    pub fn after(mut self, server: &Server) -> Self {
        self.scratch = Arc::clone(&server.scratch);
        self
    }

    /// Gives the server a pipe for its log that is never read.
    pub fn unread_log(mut self) -> Self {
        self.has_unread_log = true;
        self
    }

    /// Runs the server and its processes as another user.
    pub fn user(mut self, id: u32) -> Self {
        // The programs are copied to where that user can reach them: the project may be in root's home directory.
        let product = product();
        let built = product.parent().expect("a program is in a folder").to_string_lossy().into_owned();
        let reachable = self.scratch.path().join("programs");
        std::fs::create_dir(&reachable).expect("folders can be made");
        for program in [&product, &fault_agent()] {
            let place = reachable.join(program.file_name().expect("a program has a name"));
            if std::fs::hard_link(program, &place).is_err() {
                std::fs::copy(program, &place).expect("a program can be copied");
            }
        }
        let moved =
            |word: &std::ffi::OsStr| word.to_string_lossy().replace(&built, &reachable.to_string_lossy());
        let mut command = Command::new(moved(self.command.get_program()));
        command.args(self.command.get_args().map(moved));
        command.envs(self.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        self.command = command;
        self.command.uid(id).gid(id);
        std::os::unix::fs::chown(self.scratch.path(), Some(id), Some(id))
            .expect("root may give folders away");
        self
    }

    /// Writes a file in the server's scratch folder and returns its path.
    pub fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.scratch.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folders can be made");
        std::fs::write(&path, content).expect("files can be written");
        path
    }

    fn prepare(&mut self) {
        let registry = self.file("registry.json", &self.registry);
        for (name, _) in std::env::vars_os() {
            // The environment of the developer who runs the tests must not affect them.
            if name.to_string_lossy().starts_with("SANDBOX_AGENT_")
                && !self.command.get_envs().any(|(given, _)| given == name)
            {
                self.command.env_remove(name);
            }
        }
        let home = self.scratch.path();
        let usual = [
            ("HOME", home.to_owned()),
            ("XDG_DATA_HOME", home.join("data")),
            ("XDG_CONFIG_HOME", home.join("config")),
            ("XDG_CACHE_HOME", home.join("cache")),
            ("SANDBOX_AGENT_ACP_REGISTRY_URL", format!("file://{}", registry.display()).into()),
        ];
        for (name, value) in usual {
            if !self.command.get_envs().any(|(given, _)| given == name) {
                self.command.env(name, value);
            }
        }
        self.command.current_dir(home).stdin(Stdio::null()).stdout(Stdio::piped());
    }

    /// Starts the server and waits until it listens.
    #[track_caller]
    pub fn start(mut self) -> Server {
        self.prepare();
        let log = self.scratch.path().join("server.log");
        let errors = std::fs::File::create(&log).expect("a log can be written");
        let errors = if self.has_unread_log { Stdio::piped() } else { errors.into() };
        let mut child = self.command.stderr(errors).spawn().expect("the server starts");
        let mut output = BufReader::new(child.stdout.take().expect("its output is piped"));
        let mut line = String::new();
        output.read_line(&mut line).expect("its output can be read");
        let port = line.trim().rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        let Some(port) = port else {
            let _ = child.kill();
            let _ = child.wait();
            let log = std::fs::read_to_string(&log).unwrap_or_default();
            panic!("the server did not report its address: {line:?}\n{log}");
        };
        Server { process: Process::of(child.id()), child, port, _output: output, scratch: self.scratch }
    }

    /// Starts a server that must refuse to start; returns its exit status and its error output.
    #[track_caller]
    pub fn refuse_to_start(mut self) -> (ExitStatus, String) {
        self.prepare();
        let mut child = self.command.stderr(Stdio::piped()).spawn().expect("the server can be executed");
        let status = wait_for(&mut child, SOON);
        let mut said = String::new();
        child.stderr.take().expect("it is piped").read_to_string(&mut said).expect("it is text");
        match status {
            Some(status) => (status, said),
            None => {
                let _ = child.kill();
                panic!("the server runs, though it should have refused to start")
            }
        }
    }
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    pub process: Process,
    pub port: u16,
    child: Child,
    /// Kept open, so that the server can always write to its standard output.
    _output: BufReader<std::process::ChildStdout>,
    scratch: Arc<TempDir>,
}

impl Server {
    /// A server with every default and the `fault` agent.
    #[track_caller]
    pub fn start() -> Self {
        ServerBuilder::new().start()
    }

    pub fn with() -> ServerBuilder {
        ServerBuilder::new()
    }

    pub fn request(&self, method: &str, target: &str) -> Request {
        Request::new(self.port, method, target)
    }

    /// What the server has logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.scratch.path().join("server.log")).unwrap_or_default()
    }

    /// True if the server has read every byte that clients have sent, according to the kernel's connection
    /// table.
    pub fn has_read_everything(&self) -> bool {
        let table = std::fs::read_to_string("/proc/net/tcp").expect("there is a table of connections");
        let port = format!(":{:04X}", self.port);
        let established = table.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
        established.filter(|fields| fields.len() > 4 && fields[3] == "01").all(|fields| {
            let (unsent, unread) = fields[4].split_once(':').expect("two queues");
            let ours = |address: &str| address.ends_with(&port);
            (!ours(fields[1]) || unread == "00000000") && (!ours(fields[2]) || unsent == "00000000")
        })
    }

    /// The bytes that the server has charged to its memory account.
    #[track_caller]
    pub fn accounted_memory(&self) -> u64 {
        let metrics = self.request("GET", "/metrics").send().expect(200);
        let line = |line: &str| Some(line.strip_prefix("sandbox_agent_memory_used_bytes ")?.to_owned());
        let value = metrics.text().lines().find_map(line).expect("the account is exposed");
        value.trim().parse().expect("a size is a number")
    }

    /// The server's home directory, with its data and its configuration.
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// Waits for the server to exit by itself.
    #[track_caller]
    pub fn wait_for_end(&mut self, within: Duration) -> ExitStatus {
        wait_for(&mut self.child, within)
            .unwrap_or_else(|| panic!("the server still runs after {within:?}\n{}", self.log()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- log of the server ---\n{}", self.log());
        }
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            // The supervisors end the server's agents even after it is killed.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn wait_for(child: &mut Child, within: Duration) -> Option<ExitStatus> {
    let deadline = Instant::now() + within;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    None
}
