//! The server that the rounds use, and the checks of it between two rounds.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use test_harness::{Server, ServerBuilder};

use crate::checks::{self, Measured, settled};
use crate::operations::files;
use crate::round::Round;
use crate::wire::{Ask, PATIENCE};

/// A server, and the state that it had before the first round.
pub(crate) struct Arena {
    pub(crate) server: Server,
    start: Measured,
    numbers: AtomicU64,
}

impl Arena {
    pub(crate) fn start() -> Self {
        Self::start_with(|builder| builder)
    }

    fn start_with(place: impl FnOnce(ServerBuilder) -> ServerBuilder) -> Self {
        let builder = place(Server::with());
        builder.file("work/.keep", "");
        let server = builder
            .flag("--workspace", "work")
            .flag("--memory-budget", "64MiB")
            .flag("--replay-bytes", "8MiB")
            .flag("--replay-events", "2000")
            .flag("--max-message-bytes", "4MiB")
            .flag("--stdin-queue-bytes", "4MiB")
            .flag("--close-grace", "300ms")
            .flag("--terminate-grace", "300ms")
            .env("SANDBOX_AGENT_LOG", "warn")
            .agent("immortal", "--ignore-eof --ignore-term")
            .agent("deaf", "--never-read --ignore-eof")
            .agent("noisy", "--noise")
            .agent("slow", "--slow-start 400")
            .agent("dying", "--exit-at-start 3")
            .start();
        // The first upload opens the list of temporary files, which stays open.
        let upload = Ask::new("PUT", "/v1/fs/file?path=.keep").body("text/plain", "").send(server.port);
        assert_eq!(upload.expect("a new server answers").status(), 200);
        // A restarted server lists the instances whose journal it finds.
        let list = Ask::new("GET", "/v1/acp").send(server.port).expect("a new server answers").json();
        let list = list.expect("the list is JSON");
        for id in list["servers"].as_array().into_iter().flatten().filter_map(|it| it["serverId"].as_str()) {
            let answer = Ask::new("DELETE", format!("/v1/acp/{id}")).send(server.port);
            assert_eq!(answer.expect("a new server answers").status(), 204, "{id}");
        }
        let start = settled("at the start", || match Measured::read(server.port) {
            Some(measured) if measured.is_idle() => Ok(measured),
            measured => Err(format!("{measured:?}")),
        });
        Self { server, start, numbers: AtomicU64::new(0) }
    }

    /// A new server in the folder of this one, which has ended.
    pub(crate) fn restart(self) -> Self {
        let next = Self::start_with(|builder| builder.after(&self.server));
        Self { numbers: self.numbers, ..next }
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.server.folder().canonicalize().unwrap()
    }

    pub(crate) fn round(&self) -> Arc<Round> {
        // Each round has its own range of numbers. No round draws more numbers than its range has.
        let first = self.numbers.fetch_add(1_000_000, Ordering::SeqCst);
        Round::new(self.server.port, self.server.process, self.folder(), first)
    }

    /// Checks that the server has never used more memory than its account can explain.
    pub(crate) fn check_peak(&self, title: &str) -> u64 {
        let (peak, bound) = (self.server.process.peak_memory(), checks::bound(self.start.limit));
        assert!(peak <= bound, "{title}: {} MiB were resident, the bound is {} MiB", peak >> 20, bound >> 20);
        peak
    }

    /// Closes everything, and checks that the server is in the same state as at the start.
    pub(crate) fn finish(&self, round: &Arc<Round>, title: &str) {
        round.cut_held();
        let list = round.ask(&Ask::new("GET", "/v1/acp"), &[200], &[]).and_then(|answer| answer.json());
        let servers = list.as_ref().and_then(|list| list["servers"].as_array()).into_iter().flatten();
        let ids: BTreeSet<&str> = servers.filter_map(|server| server["serverId"].as_str()).collect();
        for id in ids {
            let (task, target) = (Arc::clone(round), format!("/v1/acp/{id}"));
            round.tasks.start(round.fresh(), format!("the last DELETE of {id}"), move || {
                // On a busy machine, processes may take longer to end than a DELETE waits.
                let deadline = Instant::now() + PATIENCE;
                let delete = || task.ask(&Ask::new("DELETE", target.as_str()), &[204], &["still_running"]);
                while delete().is_none() && !task.is_violated() && Instant::now() < deadline {}
            });
        }
        round.wait_for(&round.tasks);
        round.assert_no_violation(title);
        settled(title, || {
            checks::is_as_at_the_start(self.server.port, self.server.process, &self.folder(), &self.start)
        });
        self.check_files(title);
    }

    /// Checks that the only files are complete ones with the names of the operations, and that none is temporary.
    pub(crate) fn check_files(&self, title: &str) {
        let mut open = vec![self.folder().join("work")];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(&folder).unwrap().flatten() {
                let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
                if name == ".keep" {
                    continue;
                }
                assert!(files::PARTS.contains(&name.as_str()), "{title}: {} is left", path.display());
                if path.is_dir() {
                    open.push(path);
                } else {
                    assert!(files::is_whole(&std::fs::read(&path).unwrap()), "{title}: {}", path.display());
                }
            }
        }
    }
}
