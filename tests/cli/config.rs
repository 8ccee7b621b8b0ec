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
    let list = r#"{"type":"local","command":["uv","run"],"args":["x"]}"#;
    place.run(&["mcp", "set", "list", "--entry", list]).done();
    let listed = "NAME   TYPE    COMMAND OR URL\nfiles  local   npx server --all\nlist   local   uv run x\n\
                  raw    local   x  (disabled)\nweb    remote  https://host/mcp\n";
    assert_eq!(place.run(&["mcp", "list"]).done().output, listed);
    let files = json!({"type": "local", "command": "npx", "args": ["server", "--all"], "env": {"A": "b=c"}});
    assert_eq!(place.run(&["mcp", "get", "files"]).done().json(), files);
    let web =
        json!({"type": "remote", "url": "https://host/mcp", "transport": "sse", "headers": {"X-Key": "1"}});
    assert_eq!(place.run(&["mcp", "get", "web"]).done().json(), web);
    let all = place.run(&["mcp", "list", "--json"]).done().json();
    assert_eq!(all["entries"].as_object().unwrap().len(), 4);
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
    assert_eq!(
        place.run(&["skills", "list", "-d", "work"]).done().output,
        "NAME  SOURCES\nboth  local:/s  git:u\n"
    );
    place.run(&["skills", "rm", "both", "-d", "work"]).done();
    assert_eq!(place.run(&["skills", "list", "-d", "work", "--json"]).done().json(), json!({"entries": {}}));
}

#[test]
fn an_invalid_entry_is_refused_and_the_error_names_the_field() {
    let server = Server::start();
    let place = Place::of(&server);
    place.run(&["mcp", "set", "x", "--entry", "{"]).exits(2).says("not JSON");
    place.run(&["mcp", "set", "x", "--entry", r#"{"type":"local"}"#]).exits(2).says("command");
    place.run(&["mcp", "set", "x"]).exits(2);
    place.run(&["mcp", "set", "x", "--at", "u", "--", "y"]).exits(2);
    place.run(&["skills", "set", "x", "--ref", "v1"]).exits(2);
}

#[test]
fn every_field_of_an_mcp_server_can_be_set_by_flags() {
    let server = Server::start();
    let place = Place::of(&server);
    let local = ["mcp", "set", "files", "--cwd", "/srv", "--disabled", "--timeout-ms", "1500", "--", "npx"];
    place.run(&local).done();
    let files =
        json!({"type": "local", "command": "npx", "cwd": "/srv", "enabled": false, "timeoutMs": 1500});
    assert_eq!(place.run(&["mcp", "get", "files"]).done().json(), files);
    let remote = ["mcp", "set", "web", "--at", "https://host/mcp", "--env-header", "X-Key=KEY"];
    let more = ["--bearer-token-env", "TOKEN", "--oauth", r#"{"clientId":"c"}"#, "--timeout-ms", "0"];
    place.run(&[&remote[..], &more].concat()).done();
    let web = json!({"type": "remote", "url": "https://host/mcp", "envHeaders": {"X-Key": "KEY"},
        "bearerTokenEnvVar": "TOKEN", "oauth": {"clientId": "c"}, "timeoutMs": 0});
    assert_eq!(place.run(&["mcp", "get", "web"]).done().json(), web);
    place.run(&["mcp", "set", "web", "--at", "https://host/mcp", "--oauth", "false"]).done();
    assert_eq!(place.run(&["mcp", "get", "web"]).done().json()["oauth"], false);
}

#[test]
fn a_set_of_skills_has_several_sources_each_with_its_options() {
    let server = Server::start();
    let place = Place::of(&server);
    let first = ["skills", "set", "all", "--github", "o/n", "--ref", "v1", "--skill", "a", "--skill", "b"];
    let second = ["--local", "/srv", "--subpath", "x", "--git", "ssh://host/r", "--ref", "v2"];
    place.run(&[&first[..], &second].concat()).done();
    let sources = json!([
        {"type": "github", "source": "o/n", "ref": "v1", "skills": ["a", "b"]},
        {"type": "local", "source": "/srv", "subpath": "x"},
        {"type": "git", "source": "ssh://host/r", "ref": "v2"},
    ]);
    assert_eq!(place.run(&["skills", "get", "all"]).done().json(), json!({"sources": sources}));
    place.run(&["skills", "set", "one", "--subpath", "x", "--local", "/srv", "--ref", "v1"]).done();
    let one = json!({"sources": [{"type": "local", "source": "/srv", "subpath": "x", "ref": "v1"}]});
    assert_eq!(place.run(&["skills", "get", "one"]).done().json(), one);
    place.run(&["skills", "set", "x", "--ref", "v1", "--local", "a", "--git", "b"]).exits(2).says("before");
    place.run(&["skills", "set", "x", "--local", "a", "--ref", "1", "--ref", "2"]).exits(2).says("twice");
}

#[test]
fn an_entry_is_validated_before_it_is_sent() {
    // Nothing listens at this address: a command that sent a request would exit with code 5.
    let place = Place::new().with("SANDBOX_AGENT_URL", "http://127.0.0.1:1");
    for (arguments, words) in [
        (
            &["mcp", "set", "x", "--entry", r#"{"type":"local","command":[]}"#][..],
            "command must not be empty",
        ),
        (&["mcp", "set", "x", "--at", "ftp://host"], "url must be an http or https URL"),
        (&["mcp", "set", "x", "--at", "https://host", "--header", "A B=1"], "headers"),
        (
            &["mcp", "set", "x", "--at", "https://host", "--oauth", "7"],
            "oauth must be an object or a boolean",
        ),
        (&["mcp", "set", "x", "--env", "A=1", "--env", "A=2", "--", "y"], "--env has A twice"),
        (&["mcp", "set", "", "--", "y"], "name"),
        (&["mcp", "set", "x", "--disabled", "--entry", "{}"], "cannot be used with"),
        (&["skills", "set", "x", "--entry", r#"{"sources":[{"type":"svn"}]}"#], "sources[0].type"),
        (&["skills", "set", "x", "--local", ""], "sources[0].source must not be empty"),
        (&["skills", "set", "x", "--local", "/s", "--skill", ""], "sources[0].skills[0]"),
    ] {
        place.run(arguments).exits(2).says(words);
    }
    place.run(&["mcp", "set", "x", "--", "y"]).exits(5);
}

#[test]
fn an_entry_is_stored_as_it_was_written() {
    let server = Server::start();
    let place = Place::of(&server);
    let entry = r#"{"type":"local","z":12345678901234567890123,"command":"x","a":1e400}"#;
    place.run(&["mcp", "set", "exact", "--entry", entry]).done();
    let stored = place.run(&["api", "v1", "config", "mcp", "get", "--directory", ".", "--mcp-name", "exact"]);
    assert_eq!(stored.done().output.trim_end(), entry);
}
