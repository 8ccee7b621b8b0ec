//! A test's own environment for the command line, with its own home directory and a mark on every process.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use test_harness::server::product;
use test_harness::{Server, eventually};

/// How long a command may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The environment that commands run in.
pub(crate) struct Place {
    folder: TempDir,
    /// A unique value for a realtime scheduling limit that is not used otherwise. Processes inherit the limit
    /// and cannot hide it. A mark in the environment would not work: the product hides its environment, so
    /// only root could read it.
    mark: u128,
    variables: Vec<(String, String)>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("cli-").tempdir().expect("a folder can be made");
        let mark = std::time::UNIX_EPOCH.elapsed().expect("it is later than 1970").as_nanos();
        let place = Self { folder, mark, variables: Vec::new() };
        let home = place.path("home").display().to_string();
        std::fs::create_dir(&home).expect("a folder can be made");
        let registry = place.file("registry.json", r#"{"version":"1","agents":[]}"#);
        place
            .with("HOME", &home)
            .with("XDG_CONFIG_HOME", &format!("{home}/config"))
            .with("XDG_DATA_HOME", &format!("{home}/data"))
            .with("XDG_CACHE_HOME", &format!("{home}/cache"))
            .with("SANDBOX_AGENT_ACP_REGISTRY_URL", &format!("file://{}", registry.display()))
            .with("TERM", "xterm")
            .with("NO_COLOR", "")
    }

    /// An environment whose commands use this server.
    pub(crate) fn of(server: &Server) -> Self {
        Self::new().with("SANDBOX_AGENT_URL", &format!("http://127.0.0.1:{}", server.port))
    }

    /// Sets a variable; an empty value unsets it.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// A file in the folder.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("folders can be made");
        std::fs::write(&path, content).expect("files can be written");
        path
    }

    /// The product with these arguments, started through another program.
    pub(crate) fn command_under(&self, program: &[&str], arguments: &[&str]) -> Command {
        let mut command = Command::new("prlimit");
        command.arg(format!("--rttime={}", self.mark)).args(program).arg(product());
        self.prepare(command, arguments)
    }

    fn prepare(&self, mut command: Command, arguments: &[&str]) -> Command {
        for (name, _) in std::env::vars_os() {
            // The environment of the developer who runs the tests must not affect them.
            if name.to_string_lossy().starts_with("SANDBOX_AGENT_") {
                command.env_remove(name);
            }
        }
        command.args(arguments).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.current_dir(self.folder()).stdin(Stdio::null());
        command
    }

    /// Runs a command to completion, without a terminal, even if the tests have one.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Finished {
        self.begin(arguments).end()
    }

    /// Like [`Place::run`], with this standard input.
    #[track_caller]
    pub(crate) fn run_with_input(&self, input: impl AsRef<[u8]>, arguments: &[&str]) -> Finished {
        let file = self.file("input", input);
        let mut command = self.command_under(&["setsid", "--wait"], arguments);
        command.stdin(File::open(file).expect("it was just written"));
        self.spawn(command).end()
    }

    /// Starts a command, without a terminal.
    pub(crate) fn begin(&self, arguments: &[&str]) -> Running {
        self.spawn(self.command_under(&["setsid", "--wait"], arguments))
    }

    fn spawn(&self, mut command: Command) -> Running {
        let outputs = tempfile::tempdir_in(self.folder()).expect("a folder can be made");
        let file = |name: &str| File::create(outputs.path().join(name)).expect("a file can be made");
        command.stdout(file("out")).stderr(file("err"));
        Running { child: command.spawn().expect("the product starts"), outputs }
    }

    /// The processes started here that are still running.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let mark = self.mark.to_string();
        let entries = std::fs::read_dir("/proc").expect("there is a /proc").flatten();
        entries
            .filter(|entry| {
                let limits = std::fs::read_to_string(entry.path().join("limits")).unwrap_or_default();
                limits.split_ascii_whitespace().any(|word| word == mark)
            })
            .map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default())
            // A process that has exited but was not waited for has no command line.
            .filter(|command| !command.is_empty())
            .collect()
    }

    /// Asserts that no process started here is left.
    #[track_caller]
    pub(crate) fn expect_nothing_left(&self) {
        assert_eq!(self.leftovers(), Vec::<String>::new());
    }

    /// Like [`Place::expect_nothing_left`], but polls until a deadline.
    #[track_caller]
    pub(crate) fn wait_until_nothing_left(&self) {
        eventually("every process is gone", || self.leftovers().is_empty().then_some(()));
    }
}

/// A running command.
pub(crate) struct Running {
    child: Child,
    outputs: TempDir,
}

impl Running {
    /// The command's standard output so far.
    pub(crate) fn output(&self) -> String {
        self.read("out")
    }

    /// The command's standard error so far.
    pub(crate) fn errors(&self) -> String {
        self.read("err")
    }

    /// Waits until the command exits.
    #[track_caller]
    pub(crate) fn end(mut self) -> Finished {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                return Finished { code: status.code(), output: self.output(), errors: self.errors() };
            }
            assert!(Instant::now() < deadline, "it did not end within {TIMEOUT:?}: {}", self.errors());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn read(&self, name: &str) -> String {
        let bytes = std::fs::read(self.outputs.path().join(name)).expect("it is there");
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Finished {
    /// The exit code; `None` if a signal ended the command.
    pub(crate) code: Option<i32>,
    pub(crate) output: String,
    pub(crate) errors: String,
}

impl Finished {
    /// Asserts this exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.output, self.errors);
        self
    }

    /// Asserts success.
    #[track_caller]
    pub(crate) fn done(self) -> Self {
        self.exits(0)
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.output).unwrap_or_else(|error| panic!("{error}: {}", self.output))
    }

    /// The output as lines of JSON.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.output.lines().map(parse).collect()
    }

    /// Asserts that standard error contains this.
    #[track_caller]
    pub(crate) fn says(self, words: &str) -> Self {
        assert!(self.errors.contains(words), "`{words}` is not in: {}", self.errors);
        self
    }
}
