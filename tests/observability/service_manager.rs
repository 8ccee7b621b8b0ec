//! `sd_notify`: the service manager receives the server's state on a real socket.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use test_harness::{SOON, Server, ServerBuilder, eventually};

/// The receiving side of a service manager.
struct Manager(UnixDatagram);

/// The path for a socket in the server's scratch folder.
fn socket_path(builder: &ServerBuilder) -> PathBuf {
    // Writing any file creates the directory.
    builder.file("notify/keep", "").with_file_name("socket")
}

impl Manager {
    fn at(path: &Path) -> Self {
        Self(UnixDatagram::bind(path).unwrap())
    }

    fn next(&self) -> String {
        self.0.set_read_timeout(Some(SOON)).unwrap();
        let mut buffer = [0; 4096];
        let count = self.0.recv(&mut buffer).expect("the server sends a notification");
        String::from_utf8(buffer[..count].to_vec()).unwrap()
    }
}

#[test]
fn ready_is_sent_once_the_server_answers_and_stopping_when_it_begins_to_stop() {
    let builder = Server::with();
    let path = socket_path(&builder);
    let manager = Manager::at(&path);
    let mut server = builder.env("NOTIFY_SOCKET", path.to_str().unwrap()).start();
    let ready = manager.next();
    assert_eq!(ready, format!("READY=1\nSTATUS=listening on http://127.0.0.1:{}", server.port));
    server.request("GET", "/readyz").send().expect(200);
    // Without a watchdog, the next notification is that the server stops.
    server.process.signal("TERM");
    assert_eq!(manager.next().lines().next(), Some("STOPPING=1"));
    assert!(server.wait_for_end(SOON).success());
    manager.0.set_nonblocking(true).unwrap();
    assert!(manager.0.recv(&mut [0; 16]).is_err(), "another notification was sent");
}

#[test]
fn an_abstract_socket_works_and_the_watchdog_is_notified_at_half_its_interval() {
    let name = format!("sandbox-agent-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let manager = Manager(UnixDatagram::bind_addr(&address).unwrap());
    let server =
        Server::with().env("NOTIFY_SOCKET", &format!("@{name}")).env("WATCHDOG_USEC", "400000").start();
    assert!(manager.next().starts_with("READY=1\n"));
    assert_eq!(manager.next(), "WATCHDOG=1");
    let first = Instant::now();
    for _ in 0..5 {
        assert_eq!(manager.next(), "WATCHDOG=1");
    }
    // Five intervals of 200 ms are 1 s. A slow machine may take longer, so there is no upper bound.
    assert!(first.elapsed() > Duration::from_millis(900), "{:?}", first.elapsed());
    drop(server);
}

#[test]
fn a_watchdog_for_another_process_is_not_notified() {
    let builder = Server::with();
    let path = socket_path(&builder);
    let manager = Manager::at(&path);
    let builder = builder.env("NOTIFY_SOCKET", path.to_str().unwrap());
    let server = builder.env("WATCHDOG_USEC", "20000").env("WATCHDOG_PID", "1").start();
    assert!(manager.next().starts_with("READY=1\n"));
    server.open("a", "fault");
    server.process.signal("TERM");
    assert!(manager.next().starts_with("STOPPING=1\n"));
}

#[test]
fn a_missing_service_manager_does_not_prevent_serving() {
    for socket in ["/no/such/socket", "no-socket", "@no-listener"] {
        let server = Server::with().env("NOTIFY_SOCKET", socket).start();
        server.request("GET", "/v1/health").send().expect(200);
        eventually("the failure is logged", || server.log().contains("WARN").then_some(()));
    }
}

#[test]
fn agents_do_not_inherit_the_notification_variables() {
    let builder = Server::with();
    let path = socket_path(&builder);
    let _manager = Manager::at(&path);
    let builder = builder.env("NOTIFY_SOCKET", path.to_str().unwrap()).env("KEPT", "yes");
    let server = builder.env("WATCHDOG_USEC", "60000000").env("WATCHDOG_PID", "1").start();
    server.open("a", "fault");
    for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] {
        assert_eq!(server.tell("a", "env", json!({"name": name})), Value::Null, "{name}");
    }
    assert_eq!(server.tell("a", "env", json!({"name": "KEPT"})), "yes");
}
