//! The data that the operations of a round share, and the rules that every answer must follow.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Error;
use std::net::{Shutdown, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use test_harness::Process;

use crate::order::{Event, Number, payload};
use crate::tasks::Tasks;
use crate::wire::{Answer, Ask, PATIENCE, is_hang};

/// Instances that only well-behaved operations use. Messages to them must succeed.
pub(crate) const CALM: [&str; 3] = ["calm-0", "calm-1", "calm-2"];
/// Instances that all operations use.
pub(crate) const ROUGH: [&str; 6] = ["rough-0", "rough-1", "rough-2", "rough-3", "rough-4", "rough-5"];

/// The errors that a message to a well-behaved agent may get: there may be no memory for it.
pub(crate) const CALM_CODES: &[&str] = &["memory_budget_exhausted"];
/// The errors that a message to an agent may get that dies, hangs, floods or is closed at any moment.
pub(crate) const ROUGH_CODES: &[&str] = &[
    "agent_exited",
    "agent_mismatch",
    "agent_not_reading",
    "agent_required",
    "already_answered",
    "duplicate_request_id",
    "instance_closed",
    "instance_closing",
    "memory_budget_exhausted",
    "outcome_gone",
    "request_timeout",
    "spawn_failed",
    "still_running",
    "too_many_pending",
    "write_failed",
];

/// An accepted request whose client did not wait for the answer.
#[derive(Debug, Clone)]
pub(crate) struct Accepted {
    pub(crate) server_id: &'static str,
    pub(crate) id: String,
    pub(crate) body: String,
}

/// The data that the operations of a round share.
#[derive(Debug)]
pub(crate) struct Round {
    pub(crate) port: u16,
    pub(crate) server: Process,
    /// The server's folder: every process of its agents has a working directory below it.
    pub(crate) folder: PathBuf,
    pub(crate) tasks: Arc<Tasks>,
    /// Those that have to end before any instance is closed.
    pub(crate) calm_tasks: Arc<Tasks>,
    /// Accepted requests of calm instances.
    pub(crate) accepted: Mutex<Vec<Accepted>>,
    /// True from the moment when the server is sent a signal.
    pub(crate) is_stopping: AtomicBool,
    /// True from the moment when connections that would never end are cut.
    is_over: AtomicBool,
    /// Connections to cut at the end.
    held: Mutex<Vec<TcpStream>>,
    /// How many times something was sent that may end or replace the process of an instance.
    changes: Mutex<HashMap<&'static str, u64>>,
    /// The contents of numbered events: the same for all readers.
    contents: Mutex<HashMap<Number, u64>>,
    numbers: AtomicU64,
    pub(crate) operations: AtomicU64,
    pub(crate) events: AtomicU64,
    history: Mutex<Vec<String>>,
    violations: Mutex<Vec<String>>,
}

impl Round {
    pub(crate) fn new(port: u16, server: Process, folder: PathBuf, first_number: u64) -> Arc<Self> {
        Arc::new(Self {
            port,
            server,
            folder,
            tasks: Arc::default(),
            calm_tasks: Arc::default(),
            accepted: Mutex::default(),
            is_stopping: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            held: Mutex::default(),
            changes: Mutex::default(),
            contents: Mutex::default(),
            numbers: AtomicU64::new(first_number),
            operations: AtomicU64::new(0),
            events: AtomicU64::new(0),
            history: Mutex::default(),
            violations: Mutex::default(),
        })
    }

    /// A number that is unique in this run.
    pub(crate) fn fresh(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::SeqCst)
    }

    /// Writes down an operation, for the report of a failure.
    pub(crate) fn note(&self, operation: String) {
        self.operations.fetch_add(1, Ordering::Relaxed);
        self.history.lock().unwrap().push(operation);
    }

    /// Records that a rule is broken.
    pub(crate) fn violated(&self, rule: String) {
        self.violations.lock().unwrap().push(rule);
    }

    pub(crate) fn is_violated(&self) -> bool {
        !self.violations.lock().unwrap().is_empty()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Call before anything that may end or replace the process of this instance.
    pub(crate) fn change(&self, server_id: &'static str) {
        *self.changes.lock().unwrap().entry(server_id).or_default() += 1;
    }

    pub(crate) fn changes(&self, server_id: &str) -> u64 {
        self.changes.lock().unwrap().get(server_id).copied().unwrap_or_default()
    }

    /// Keeps a connection open until the end of the round.
    pub(crate) fn hold(&self, connection: TcpStream) {
        let mut held = self.held.lock().unwrap();
        if self.is_over() {
            let _ = connection.shutdown(Shutdown::Both);
        } else {
            held.push(connection);
        }
    }

    /// Cuts all connections that were held.
    pub(crate) fn cut_held(&self) {
        let mut held = self.held.lock().unwrap();
        self.is_over.store(true, Ordering::SeqCst);
        for connection in held.drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    /// Waits until all of these tasks have ended.
    pub(crate) fn wait_for(&self, tasks: &Tasks) {
        for name in tasks.wait(PATIENCE + Duration::from_secs(10)) {
            self.violated(format!("has not ended: {name}"));
        }
    }

    /// Handles a connection that ended before the answer.
    pub(crate) fn failed(&self, what: &str, error: &Error) {
        if is_hang(error) {
            self.violated(format!("{what}: the server sent nothing for too long"));
        } else if !self.is_stopping() {
            self.violated(format!("{what}: the connection ended early: {error}"));
        }
    }

    /// Sends a request and reads the answer, which must have one of these statuses, or be a problem with one of these
    /// codes. Returns the answer if it is not a problem.
    pub(crate) fn ask(&self, ask: &Ask, statuses: &[u16], codes: &[&str]) -> Option<Answer> {
        let what = format!("{} {}", ask.method, ask.target);
        match ask.send(self.port) {
            Ok(answer) => self.check(&what, answer, statuses, codes),
            Err(error) => {
                self.failed(&what, &error);
                None
            }
        }
    }

    /// Checks the status of an answer, as [`Round::ask`] does.
    pub(crate) fn check(
        &self,
        what: &str,
        answer: Answer,
        statuses: &[u16],
        codes: &[&str],
    ) -> Option<Answer> {
        let is_allowed = if answer.status() < 400 {
            statuses.contains(&answer.status())
        } else {
            let code = answer.problem();
            let is_end =
                |code: &str| self.is_stopping() && matches!(code, "server_stopping" | "agent_exited");
            code.is_some_and(|code| codes.contains(&code.as_str()) || is_end(&code))
        };
        if !is_allowed {
            self.violated(format!("{what}: {} {}", answer.status(), answer.text()));
        }
        (is_allowed && answer.status() < 400).then_some(answer)
    }

    /// All readers receive the same bytes under the same number.
    pub(crate) fn check_content(&self, number: Number, event: &Event) {
        self.events.fetch_add(1, Ordering::Relaxed);
        let mut hasher = DefaultHasher::new();
        (&event.name, payload(&event.data)).hash(&mut hasher);
        let content = hasher.finish();
        let known = *self.contents.lock().unwrap().entry(number.clone()).or_insert(content);
        if known != content {
            self.violated(format!("event {number:?} has two contents, one of them a {}", event.name));
        }
    }

    /// Panics if a rule was broken.
    pub(crate) fn assert_no_violation(&self, title: &str) {
        let violations = self.violations.lock().unwrap();
        if violations.is_empty() {
            return;
        }
        let history = self.history.lock().unwrap();
        let list = |lines: &[String]| lines.iter().map(|line| format!("  {line}\n")).collect::<String>();
        let shown = &violations[..violations.len().min(20)];
        panic!("{title}\noperations:\n{}broken rules:\n{}", list(&history), list(shown));
    }
}
