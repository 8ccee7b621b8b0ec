//! A source of agents: an HTTP server with a registry and archives, whose answers the test can delay.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use test_harness::eventually;

/// The longest time that an answer can be delayed, so that no thread outlives a failed test for long.
const MAX_HOLD: Duration = Duration::from_secs(60);

/// A gate that delays an answer until the test opens it.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    pub(crate) fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    fn pass(&self) {
        let open = self.open.lock().unwrap();
        let _ = self.opened.wait_timeout_while(open, MAX_HOLD, |open| !*open).unwrap();
    }
}

#[derive(Debug, Clone)]
struct Answer {
    body: Vec<u8>,
    gate: Option<Arc<Gate>>,
}

#[derive(Debug, Default)]
struct Shared {
    answers: Mutex<HashMap<String, Answer>>,
    requests: Mutex<Vec<String>>,
}

/// A server that agents are installed from.
#[derive(Debug)]
pub(crate) struct Depot {
    address: String,
    shared: Arc<Shared>,
}

impl Depot {
    /// An empty server.
    pub(crate) fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = format!("http://{}", listener.local_addr().expect("it has an address"));
        let shared = Arc::<Shared>::default();
        let serving = shared.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let shared = serving.clone();
                std::thread::spawn(move || serve(&connection, &shared));
            }
        });
        Self { address, shared }
    }

    /// A server whose registry offers `fake` 1.0.0 with the given script.
    pub(crate) fn with_fake(script: &str) -> Self {
        let depot = Self::open();
        depot.offer("1.0.0", script, &json!({}));
        depot
    }

    /// Offers a version of `fake` as the only agent of the registry; `more` is merged into its distribution.
    pub(crate) fn offer(&self, version: &str, script: &str, more: &Value) {
        let archive = archive(&[("fake/bin/fake", script)]);
        self.put(FAKE, archive);
        let mut target = json!({ "archive": self.url(FAKE), "cmd": "./fake/bin/fake" });
        for (name, value) in more.as_object().into_iter().flatten() {
            target[name] = value.clone();
        }
        let platform = agent_catalog::Platform::current().key();
        let agent = json!({ "id": "fake", "name": "Fake agent", "version": version, "description": "for tests",
            "distribution": { "binary": { platform: target } } });
        self.put("/registry.json", json!({ "version": "1.0.0", "agents": [agent] }).to_string());
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    pub(crate) fn registry(&self) -> String {
        self.url("/registry.json")
    }

    pub(crate) fn put(&self, path: &str, body: impl Into<Vec<u8>>) {
        let answer = Answer { body: body.into(), gate: None };
        self.shared.answers.lock().unwrap().insert(path.to_owned(), answer);
    }

    pub(crate) fn remove(&self, path: &str) {
        self.shared.answers.lock().unwrap().remove(path);
    }

    /// Sends only the first half of the body at this path until the gate is opened.
    pub(crate) fn hold(&self, path: &str) -> Arc<Gate> {
        let gate = Arc::<Gate>::default();
        let mut answers = self.shared.answers.lock().unwrap();
        answers.get_mut(path).expect("there is something to hold").gate = Some(gate.clone());
        gate
    }

    /// The number of requests for a path.
    pub(crate) fn requests(&self, path: &str) -> usize {
        self.shared.requests.lock().unwrap().iter().filter(|asked| *asked == path).count()
    }

    /// Waits until the archive of `fake` is being downloaded.
    #[track_caller]
    pub(crate) fn wait_for_download(&self) {
        eventually("the agent is downloaded", || (self.requests(FAKE) > 0).then_some(()));
    }
}

/// The path of the archive of `fake`.
pub(crate) const FAKE: &str = "/fake.tar.gz";

/// A gzipped tar of programs.
pub(crate) fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut archive = tar::Builder::new(gzip);
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o755);
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, name, content.as_bytes()).expect("it fits into memory");
    }
    archive.into_inner().and_then(flate2::write::GzEncoder::finish).expect("it fits into memory")
}

fn serve(connection: &TcpStream, shared: &Shared) {
    let mut lines = BufReader::new(connection).lines();
    let first = lines.next().and_then(Result::ok).unwrap_or_default();
    while lines.next().and_then(Result::ok).is_some_and(|line| !line.is_empty()) {}
    let target = first.split(' ').nth(1).unwrap_or("/");
    let path = target.split('?').next().unwrap_or("/").replace("%2f", "/").replace("%2F", "/");
    shared.requests.lock().unwrap().push(path.clone());
    let answer = shared.answers.lock().unwrap().get(&path).cloned();
    // Some tests make the client disconnect early.
    let _ = reply(connection, answer);
}

fn reply(mut connection: &TcpStream, answer: Option<Answer>) -> std::io::Result<()> {
    let Some(Answer { body, gate }) = answer else {
        return connection
            .write_all(b"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    };
    write!(connection, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len())?;
    let (first, second) = body.split_at(body.len() / 2);
    connection.write_all(first)?;
    if let Some(gate) = gate {
        gate.pass();
    }
    connection.write_all(second)
}
