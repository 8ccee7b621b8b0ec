//! `api`: calls each kind of endpoint and expects unprocessed answers. A unit test next to the endpoint list
//! checks that no endpoint is missing.

use serde_json::json;

use crate::support::{Place, Terminal};
use test_harness::{Server, eventually};

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;

#[test]
fn the_servers_own_endpoints_answer() {
    let server = Server::start();
    let place = Place::of(&server);
    assert_eq!(place.run(&["api", "root"]).done().json()["name"], "sandbox-agent");
    assert_eq!(place.run(&["api", "v1", "health"]).done().json()["status"], "ok");
    assert_eq!(place.run(&["api", "v1", "openapi"]).done().json()["openapi"], "3.1.0");
    for probe in ["healthz", "readyz"] {
        assert!(!place.run(&["api", probe]).done().output.is_empty());
    }
    assert!(place.run(&["api", "metrics"]).done().output.contains("# TYPE "));
    let page = place.run(&["api", "ui", "page"]).done().output;
    assert!(page.contains("<html"), "{page}");
    assert_eq!(place.run(&["api", "ui", "find"]).done().output, page);
    assert_eq!(place.run(&["api", "ui", "file", "index.html"]).done().output, page);
    place.run(&["api", "ui", "file", "no/such.js"]).exits(3);
}

#[test]
fn agents_and_instances_can_be_called() {
    let server = Server::start();
    let place = Place::of(&server);
    let list = place.run(&["api", "v1", "agents", "list"]).done().json();
    assert!(list["agents"].as_array().unwrap().iter().any(|agent| agent["id"] == "mock"));
    assert!(
        place.run(&["api", "v1", "agents", "show", "mock", "--config"]).done().json()["modes"].is_object()
    );
    let installed = place.run(&["api", "v1", "agents", "install", "mock", "--reinstall"]).done().json();
    assert_eq!(installed["artifacts"][0]["source"], "builtin");
    place.run(&["api", "v1", "agents", "show", "nobody"]).exits(3).says("agents list");

    let post = ["api", "v1", "acp", "post", "one", "--agent", "mock", "--body", HELLO];
    let keyed = [&post[..], &["--idempotency-key", "k"]].concat();
    let first = place.run(&keyed).done().output;
    assert_eq!(place.run(&keyed).done().output, first, "a repeat must get the same answer");
    assert_eq!(place.run(&["api", "v1", "acp", "list"]).done().json()["servers"][0]["serverId"], "one");
    let stream = place.begin(&["api", "v1", "acp", "stream", "one"]);
    let journal = place.begin(&["api", "v1", "acp", "stream", "one", "--view", "journal"]);
    let many = place.begin(&["api", "v1", "acp", "watch", "--server", "one", "--server", "two"]);
    eventually("all see the answer", || {
        let seen = [&stream, &journal, &many].iter().all(|one| one.output().contains("protocolVersion"));
        seen.then_some(())
    });
    assert!(journal.output().contains("event: sent\n"));
    place.run(&["api", "v1", "acp", "close", "one"]).done();
    assert!(stream.end().done().output.contains("event: exit\n"));
}

#[test]
fn files_can_be_called() {
    let server = Server::start();
    let place = Place::of(&server);
    let fs = |arguments: &[&str]| place.run(&[&["api", "v1", "fs"], arguments].concat());
    place.file("local", "0123456789");
    let written =
        fs(&["write-file", "--path", "a/f", "--body", "@local", "--if-none-match", "*"]).done().json();
    assert_eq!(written["bytesWritten"], 10);
    fs(&["write-file", "--path", "a/f", "--body", "text", "--if-none-match", "*"]).exits(1).says("412");
    assert_eq!(fs(&["read-file", "--path", "a/f"]).done().output, "0123456789");
    assert_eq!(fs(&["read-file", "--path", "a/f", "--range", "bytes=2-4"]).done().output, "234");
    let head = fs(&["head-file", "--path", "a/f"]).done().output;
    assert!(head.starts_with("status: 200\n") && head.contains("content-length: 10\n"), "{head}");
    assert_eq!(fs(&["stat", "--path", "a/f"]).done().json()["size"], 10);
    fs(&["mkdir", "--path", "b"]).done();
    fs(&["move", "--from", "a/f", "--to", "b/f"]).done();
    let entries = fs(&["entries", "--path", "b", "--limit", "5", "--recursive"]).done().json();
    assert_eq!(entries[0]["name"], "f");
    let archive = place.path("b.tar").display().to_string();
    let mut download = place.command_under(&["env"], &["api", "v1", "fs", "download-batch", "--path", "b"]);
    let packed = download.args(["--format", "tar.gz"]).output().unwrap();
    std::fs::write(&archive, packed.stdout).unwrap();
    let upload = ["upload-batch", "--path", "c", "--content-type", "application/gzip", "--body"];
    assert_eq!(fs(&[&upload[..], &[&format!("@{archive}")]].concat()).done().json()["count"], 1);
    let watch = place.begin(&["api", "v1", "fs", "watch", "--path", "c", "--recursive", "false"]);
    eventually("the watch is there", || watch.output().contains(": connected").then_some(()));
    fs(&["delete-entry", "--path", "c", "--recursive"]).done();
    eventually("the removal is reported", || watch.output().contains("event: removed").then_some(()));
}

#[test]
fn configuration_can_be_called() {
    let server = Server::start();
    let place = Place::of(&server);
    for (kind, name, entry) in [
        ("mcp", "--mcp-name", r#"{"type":"local","command":"x"}"#),
        ("skills", "--skill-name", r#"{"sources":[{"type":"local","source":"/s"}]}"#),
    ] {
        let config = |verb: &str, more: &[&str]| {
            place.run(&[&["api", "v1", "config", kind, verb, "--directory", "."], more].concat())
        };
        config("put", &[name, "n", "--body", entry]).done();
        assert_eq!(config("get", &[name, "n"]).done().output, format!("{entry}\n"));
        assert!(config("list", &[]).done().json()["entries"]["n"].is_object());
        assert_eq!(config("delete", &[name, "n"]).done().output, "");
        config("get", &[name, "n"]).exits(3);
        config("get", &[]).exits(2);
    }
}

#[test]
fn an_answer_is_indented_on_a_terminal_and_otherwise_unchanged() {
    let server = Server::start();
    let place = Place::of(&server);
    let came = place.run(&["api", "v1", "acp", "list"]).done().output;
    assert_eq!(came, "{\"servers\":[]}\n");
    let (_, shown) = Terminal::start(&place, &["api", "v1", "acp", "list"]).end();
    assert_eq!(shown, "{\n  \"servers\": []\n}\n");
    let (_, exact) = Terminal::start(&place, &["api", "--json", "v1", "acp", "list"]).end();
    assert_eq!(exact, came);
    let failed = place.run(&["api", "v1", "agents", "show", "nobody", "--json"]).exits(3).errors;
    let failed: serde_json::Value = serde_json::from_str(&failed).unwrap();
    assert_eq!(failed["problem"]["status"], json!(404));
}
