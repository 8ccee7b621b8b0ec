//! The operations that exist.

use serde_json::{Value, json};

use super::document;
use test_harness::Server;
use test_harness::http::Request;

const METHODS: [&str; 8] = ["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "TRACE"];

/// A path with each parameter replaced by its example, or by a word.
fn filled(path: &str, operation: &Value) -> String {
    let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
    parameters.iter().filter(|parameter| parameter["in"] == "path").fold(
        path.to_owned(),
        |path, parameter| {
            let name = parameter["name"].as_str().unwrap();
            path.replace(&format!("{{{name}}}"), parameter["example"].as_str().unwrap_or("word"))
        },
    )
}

fn is_documented(item: &Value, method: &str) -> bool {
    let any = item["get"]["x-any-method"] == true;
    // In HTTP, a GET route also answers HEAD.
    any || !item[method.to_lowercase()].is_null() || (method == "HEAD" && !item["get"].is_null())
}

/// A request that a stream endpoint refuses, since streams do not end.
fn ask(server: &Server, method: &str, path: &str) -> Request {
    server.request(method, path).header("Accept", "application/x-nothing").header("Connection", "close")
}

#[test]
fn the_server_sends_the_golden_file() {
    let server = Server::start();
    let served = server.request("GET", "/v1/openapi.json").send().expect(200);
    assert_eq!(served.headers.get("content-type"), Some("application/json"));
    assert_eq!(served.json(), document());
    let packed =
        server.request("GET", "/v1/openapi.json").header("Accept-Encoding", "gzip").send().expect(200);
    assert_eq!(packed.headers.get("content-encoding"), Some("gzip"));
    assert!(packed.body.len() < served.body.len() / 4, "{}", packed.body.len());
    let links = server.request("GET", "/").send().expect(200).json();
    assert_eq!(links["links"]["openapi"], "/v1/openapi.json");
}

#[test]
fn the_document_needs_the_token() {
    let server = Server::with().env("SANDBOX_AGENT_TOKEN", "secret").start();
    server.request("GET", "/v1/openapi.json").send().problem(401, "unauthorized");
}

#[test]
fn every_documented_operation_exists_and_every_other_method_is_405() {
    let server = Server::start();
    let document = document();
    let mut asked = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        let operations = item.as_object().unwrap();
        let target = filled(path, operations.values().next().unwrap());
        for method in METHODS {
            // An answer to HEAD has no body, so it is read differently.
            if method == "HEAD" {
                continue;
            }
            let answer = ask(&server, method, &target).send();
            asked += 1;
            if is_documented(item, method) {
                let code = if answer.status >= 400 { answer.json()["type"].clone() } else { json!(null) };
                let missing = json!("urn:sandbox-agent:error:not_found");
                // The inspector has no file with that name, which is a different kind of 404.
                assert!(code != missing || path == "/ui/{path}", "{method} {target}: {}", answer.text());
                assert_ne!(answer.status, 405, "{method} {target}");
                let documented = &item[method.to_lowercase()]["responses"][answer.status.to_string()];
                let any = item["get"]["x-any-method"] == true;
                assert!(
                    any || !documented.is_null(),
                    "{method} {target}: {} is not documented",
                    answer.status
                );
            } else {
                answer.problem(405, "method_not_allowed");
                let allowed = answer.headers.get("allow").unwrap();
                for listed in METHODS {
                    let is_listed = allowed.split(',').any(|name| name.trim() == listed);
                    assert_eq!(
                        is_listed,
                        is_documented(item, listed),
                        "{method} {target}: {allowed}, {listed}"
                    );
                }
            }
        }
    }
    assert!(asked > 150, "{asked}");
}
