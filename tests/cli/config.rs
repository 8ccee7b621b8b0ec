//! `mcp` and `skills`: the configuration that a server stores for a directory.

use serde_json::json;

use crate::support::Place;
use test_harness::Server;

#[test]
fn mcp_servers_are_set_listed_shown_and_removed() {
    let server = Server::start();
    let place = Place::of(&server);
    assert_eq!(place.run(&["mcp", "list"]).done().output, "");
    place.run(&["mcp", "set", "files", "--env", "A=b=c", "--", "npx", "server", "--all"]).done();
    let remote =
        ["mcp", "set", "web", "--at", "https://host/mcp", "--transport", "sse", "--header", "X-Key=1"];
    place.run(&remote).done();
    place.run(&["mcp", "set", "raw", "--entry", r#"{"type":"local","command":"x","enabled":false}"#]).done();
    let listed = "files  local  npx server --all\nraw  local  x  (disabled)\nweb  remote  https://host/mcp\n";
    assert_eq!(place.run(&["mcp", "list"]).done().output, listed);
    let files = json!({"type": "local", "command": "npx", "args": ["server", "--all"], "env": {"A": "b=c"}});
    assert_eq!(place.run(&["mcp", "get", "files"]).done().json(), files);
    let web =
        json!({"type": "remote", "url": "https://host/mcp", "transport": "sse", "headers": {"X-Key": "1"}});
    assert_eq!(place.run(&["mcp", "get", "web"]).done().json(), web);
    let all = place.run(&["mcp", "list", "--json"]).done().json();
    assert_eq!(all["entries"].as_object().unwrap().len(), 3);
    assert_eq!(place.run(&["mcp", "list", "--directory", "elsewhere"]).done().output, "");
    place.run(&["mcp", "rm", "files", "raw"]).done();
    place.run(&["mcp", "get", "files"]).exits(3).says("404");
}

#[test]
fn skills_are_set_from_a_source_or_a_file() {
    let server = Server::start();
    let place = Place::of(&server);
    let set =
        ["skills", "set", "review", "--github", "owner/name", "--ref", "v1", "--skill", "a", "--skill", "b"];
    place.run(&set).done();
    let source = json!({"type": "github", "source": "owner/name", "ref": "v1", "skills": ["a", "b"]});
    assert_eq!(place.run(&["skills", "get", "review"]).done().json(), json!({"sources": [source]}));
    place.file("entry.json", r#"{"sources":[{"type":"local","source":"/s"},{"type":"git","source":"u"}]}"#);
    place.run(&["skills", "set", "both", "--entry", "@entry.json", "-d", "work"]).done();
    assert_eq!(place.run(&["skills", "list", "-d", "work"]).done().output, "both  local:/s  git:u\n");
    place.run(&["skills", "rm", "both", "-d", "work"]).done();
    assert_eq!(place.run(&["skills", "list", "-d", "work", "--json"]).done().json(), json!({"entries": {}}));
}

#[test]
fn an_invalid_entry_is_refused_with_the_field() {
    let server = Server::start();
    let place = Place::of(&server);
    place.run(&["mcp", "set", "x", "--entry", "{"]).exits(2).says("not JSON");
    place.run(&["mcp", "set", "x", "--entry", r#"{"type":"local"}"#]).exits(1).says("command");
    place.run(&["mcp", "set", "x"]).exits(2);
    place.run(&["mcp", "set", "x", "--at", "u", "--", "y"]).exits(2);
    place.run(&["skills", "set", "x", "--ref", "v1"]).exits(2);
}
