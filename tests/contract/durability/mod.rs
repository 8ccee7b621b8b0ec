//! The journal: what a server knew before it died, the next one knows.

mod history;
mod restart;
mod suspended;

use tempfile::TempDir;
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

/// Kills a server as a crash would, and waits until it is gone.
fn kill(mut server: Server) {
    server.process.signal("KILL");
    server.wait_for_end(test_harness::SOON);
}
