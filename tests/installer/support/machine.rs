//! A simulated machine: a home, a data directory, and the environment of its servers and commands.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use test_harness::server::product;
use test_harness::{Process, Server, ServerBuilder};

/// How long a command may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Folders and variables that servers and commands share.
pub(crate) struct Machine {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

impl Machine {
    /// A machine without installed agents, with this ACP registry.
    pub(crate) fn new(registry: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("installer-").tempdir().expect("a folder can be made");
        let machine = Self { folder, variables: Vec::new() };
        let home = machine.make_folder("home");
        let data = machine.data().display().to_string();
        machine
            .with("HOME", &home.display().to_string())
            .with("XDG_CONFIG_HOME", &home.join("config").display().to_string())
            .with("XDG_CACHE_HOME", &home.join("cache").display().to_string())
            .with("SANDBOX_AGENT_DATA_DIR", &data)
            .with("SANDBOX_AGENT_ACP_REGISTRY_URL", registry)
    }

    /// Sets a variable; an empty value unsets it.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Removes Node.js, Python and every way to get them; the usual small programs stay.
    pub(crate) fn without_runtimes(self) -> Self {
        let programs = self.make_folder("programs");
        let path = std::env::var_os("PATH").expect("there is a PATH");
        for name in ["sh", "env", "dirname", "uname", "sed", "cat"] {
            let found =
                std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.exists());
            std::os::unix::fs::symlink(found.expect("every machine has it"), programs.join(name)).unwrap();
        }
        let nothing = self.folder().join("none").display().to_string();
        self.with("PATH", &programs.display().to_string())
            .with("NPM_CONFIG_USERCONFIG", &nothing)
            .with("npm_config_userconfig", &nothing)
            .with("NPM_CONFIG_GLOBALCONFIG", &nothing)
            .with("NPM_CONFIG_REGISTRY", "")
            .with("npm_config_registry", "")
            .with("PIP_CONFIG_FILE", "/dev/null")
            .with("PIP_INDEX_URL", "http://127.0.0.1:1/simple")
            .with("PIP_FIND_LINKS", "")
            .with("PIP_RETRIES", "0")
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The data directory, where agents are installed.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder().join("data")
    }

    fn make_folder(&self, name: &str) -> PathBuf {
        let path = self.folder().join(name);
        std::fs::create_dir_all(&path).expect("folders can be made");
        path
    }

    /// A program in the machine's folder.
    pub(crate) fn program(&self, name: &str, content: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.folder().join(name);
        std::fs::write(&path, content).expect("files can be written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("it is ours");
        path
    }

    /// The names below an agent's directory, sorted.
    pub(crate) fn versions(&self, agent: &str) -> Vec<String> {
        let entries =
            std::fs::read_dir(self.data().join("agents").join(agent)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Configures a server on this machine.
    pub(crate) fn server(&self) -> ServerBuilder {
        self.variables.iter().fold(Server::with(), |server, (name, value)| server.env(name, value))
    }

    /// Starts a server with default settings.
    #[track_caller]
    pub(crate) fn start(&self) -> Server {
        self.server().start()
    }

    /// Runs the product's command line to completion.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Finished {
        self.begin(arguments).end()
    }

    /// Starts the product's command line.
    pub(crate) fn begin(&self, arguments: &[&str]) -> Running {
        let outputs = tempfile::tempdir_in(self.folder()).expect("a folder can be made");
        let file = |name: &str| File::create(outputs.path().join(name)).expect("a file can be made");
        let mut command = Command::new(product());
        for (name, _) in std::env::vars_os() {
            // The environment of the developer who runs the tests must not affect them.
            if name.to_string_lossy().starts_with("SANDBOX_AGENT_") {
                command.env_remove(name);
            }
        }
        command.args(arguments).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.current_dir(self.folder()).stdin(Stdio::null()).stdout(file("out")).stderr(file("err"));
        let child = command.spawn().expect("the product starts");
        Running { child, outputs }
    }
}

/// A running command.
pub(crate) struct Running {
    child: Child,
    outputs: TempDir,
}

impl Running {
    pub(crate) fn process(&self) -> Process {
        Process::of(self.child.id())
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
                return Finished { code: status.code(), output: self.read("out"), errors: self.errors() };
            }
            assert!(Instant::now() < deadline, "it did not end within {TIMEOUT:?}: {}", self.errors());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.outputs.path().join(name)).expect("it is text")
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
    /// Asserts success.
    #[track_caller]
    pub(crate) fn done(self) -> Self {
        assert_eq!(self.code, Some(0), "{}{}", self.output, self.errors);
        self
    }

    /// Asserts a failure other than invalid usage, and returns its error output.
    #[track_caller]
    pub(crate) fn failed(self) -> String {
        let failed = !matches!(self.code, None | Some(0 | 2));
        assert!(failed, "{:?} {}{}", self.code, self.output, self.errors);
        self.errors
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.output).unwrap_or_else(|error| panic!("{error}: {}", self.output))
    }
}
