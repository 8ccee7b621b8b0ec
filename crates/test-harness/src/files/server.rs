//! The server of one test: the built binary, started for the test and stopped at its end.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use tempfile::TempDir;

use super::PATIENCE;

/// How to start a server.
#[derive(Debug, Default)]
pub struct Options {
    /// Flags in addition to those that every test needs.
    pub flags: Vec<OsString>,
    /// A command that gets the server's command line as arguments, such as `setpriv`.
    pub wrapper: Vec<OsString>,
    /// The program to start instead of the product under test.
    pub program: Option<PathBuf>,
}

impl Options {
    pub fn flags<S: Into<OsString>>(flags: impl IntoIterator<Item = S>) -> Self {
        Self { flags: flags.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    pub fn wrapped<S: Into<OsString>>(mut self, wrapper: impl IntoIterator<Item = S>) -> Self {
        self.wrapper = wrapper.into_iter().map(Into::into).collect();
        self
    }
}

/// A running server with its own workspace and data directory.
#[derive(Debug)]
pub struct Server {
    child: Child,
    pub address: String,
    pub client: reqwest::Client,
    folder: TempDir,
}

impl Server {
    pub fn start() -> Self {
        Self::start_with(&Options::default())
    }

    pub fn start_with(options: &Options) -> Self {
        Self::start_in(Self::folder(), options)
    }

    /// A folder with a workspace and a data directory, for tests that prepare files before the start.
    pub fn folder() -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("workspace")).unwrap();
        std::fs::create_dir(folder.path().join("data")).unwrap();
        folder
    }

    pub fn start_in(folder: TempDir, options: &Options) -> Self {
        let (child, address) = spawn(folder.path(), options);
        // Only plain HTTP is used here, but the client requires a TLS provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().timeout(4 * PATIENCE).build().unwrap();
        Self { child, address, client, folder }
    }

    /// Kills the server with SIGKILL and restarts it with the same folder.
    pub fn kill_and_restart(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        (self.child, self.address) = spawn(self.folder.path(), &Options::default());
    }

    /// Sends SIGTERM to the server.
    pub fn terminate(&self) {
        let process = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    }

    pub fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A path in the workspace, on the disk.
    pub fn at(&self, path: &str) -> PathBuf {
        self.workspace().join(path)
    }

    /// A path in the workspace, as shown in answers.
    pub fn shown(&self, path: &str) -> String {
        self.at(path).to_str().unwrap().to_owned()
    }

    /// A value from the kernel's report about the server's memory, in bytes.
    pub fn memory(&self, line: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let value = status.lines().find_map(|text| text.strip_prefix(line)).unwrap();
        value.trim_matches([':', ' ', '\t']).trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(folder: &Path, options: &Options) -> (Child, String) {
    let mut words = options.wrapper.clone();
    words.push(options.program.clone().unwrap_or_else(crate::server::product).into());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(["server", "--port", "0", "--log", "error"]);
    command.arg("--data-dir").arg(folder.join("data"));
    // A test may set the workspace itself, with a flag or a config file.
    if !options.flags.iter().any(|flag| flag == "--workspace" || flag == "--config") {
        command.arg("--workspace").arg(folder.join("workspace"));
    }
    command.args(&options.flags);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).current_dir("/");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let (sender, lines) = mpsc::channel();
    // Read to the end, so that the server never writes into a closed pipe.
    std::thread::spawn(move || output.lines().map_while(Result::ok).for_each(|line| drop(sender.send(line))));
    let line = lines.recv_timeout(PATIENCE).expect("the server should say where it listens");
    let address = line.strip_prefix("listening on http://").expect("an address").to_owned();
    (child, address)
}
