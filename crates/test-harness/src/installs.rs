//! An agent that must be installed first, from a server whose downloads the test controls.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use serde_json::json;

use super::server::fault_agent;

/// The result of a download.
#[derive(Debug, Clone, Copy)]
pub enum Download {
    /// The depot sends the agent.
    Works,
    /// The depot answers with 404.
    Missing,
}

/// A server that agents are installed from. Each download waits until the test releases it.
pub struct Depot {
    pub registry: String,
    release: Sender<Download>,
    asked: Receiver<()>,
}

impl Depot {
    /// Serves one agent, `lazy`, which is the fault agent.
    pub fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let archive = format!("http://{}/agent", listener.local_addr().expect("it has an address"));
        let targets = ["linux-x86_64", "linux-aarch64", "darwin-x86_64", "darwin-aarch64"];
        let binary: serde_json::Map<_, _> = targets
            .into_iter()
            .map(|target| (target.to_owned(), json!({"archive": archive, "cmd": "./agent"})))
            .collect();
        let agent = json!({"id": "lazy", "name": "Lazy", "version": "1.0.0", "description": "",
            "distribution": {"binary": binary}});
        let registry = json!({"version": "1", "agents": [agent]}).to_string();
        let (release, released) = channel();
        let (ask, asked) = channel();
        std::thread::spawn(move || serve(&listener, &ask, &released));
        Self { registry, release, asked }
    }

    /// Waits until a download begins.
    #[track_caller]
    pub fn wait_for_download(&self) {
        self.asked.recv_timeout(Duration::from_secs(20)).expect("the agent is downloaded");
    }

    /// The number of downloads that have begun and were not waited for.
    pub fn further_downloads(&self) -> usize {
        self.asked.try_iter().count()
    }

    /// Finishes one download.
    pub fn release(&self, download: Download) {
        self.release.send(download).expect("the depot is open");
    }
}

fn serve(listener: &TcpListener, ask: &Sender<()>, released: &Receiver<Download>) {
    for connection in listener.incoming().flatten() {
        let mut connection = connection;
        let mut head = [0; 4096];
        let _ = connection.read(&mut head);
        let _ = ask.send(());
        let Ok(download) = released.recv() else { return };
        let script = format!("#!/bin/sh\nexec '{}'\n", fault_agent().display());
        let answer = match download {
            Download::Works => format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{script}",
                script.len()
            ),
            Download::Missing => {
                "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned()
            }
        };
        let _ = connection.write_all(answer.as_bytes());
    }
}
