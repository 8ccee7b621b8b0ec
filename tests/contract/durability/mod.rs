//! The journal: the next server knows everything that a server knew before it died.

mod history;
mod restart;
mod suspended;

use std::process::Command;

use serde_json::json;
use tempfile::TempDir;
use test_harness::rpc::call;
use test_harness::{Server, ServerBuilder};

/// A home directory that outlives its servers.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::Builder::new().prefix("durability-").tempdir().unwrap())
    }

    /// A server with its data in this home.
    fn server(&self) -> ServerBuilder {
        Server::with().env("XDG_DATA_HOME", &self.0.path().join("data").to_string_lossy())
    }

    fn journal(&self) -> std::path::PathBuf {
        self.0.path().join("data/sandbox-agent/journal")
    }
}

/// A server whose writes fail beyond the limit that [`limit_files`] sets, instead of ending it with a signal.
pub(crate) fn limitable(server: ServerBuilder) -> ServerBuilder {
    server.under("env", &["--ignore-signal=XFSZ"])
}

/// Limits the size of the files that a server can write. Beyond it, writes fail as on a full disk.
fn limit_files(server: &Server, bytes: &str) {
    let pid = server.process.pid.to_string();
    let status =
        Command::new("prlimit").args(["--pid", &pid, &format!("--fsize={bytes}:unlimited")]).status();
    assert!(status.unwrap().success());
}

/// Makes the journal of an instance fail until it is suspended, and then lets it work again.
pub(crate) fn suspend_and_resume(server: &Server, id: &str) {
    let mut stream = server.get(id).query("replay", "none").stream();
    limit_files(server, "4096");
    let flood = call("suspend", "emit", json!({"count": 50, "bytes": 1000}));
    let answer = server.post(id, flood).start();
    stream.until(|event| event.name == "journal_suspended");
    answer.join().unwrap().expect(200);
    limit_files(server, "unlimited");
    stream.until(|event| event.name == "journal_resumed");
}

/// Kills a server as a crash would, and waits until it is gone.
fn kill(mut server: Server) {
    server.process.signal("KILL");
    server.wait_for_end(test_harness::SOON);
}
