//! Tests of the engine as a whole: it does not depend on HTTP crates, and its example runs.

use std::path::PathBuf;
use std::process::Command;

#[test]
fn the_engine_depends_on_no_http_crate() {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--package", "acp-instances", "--edges", "normal", "--prefix", "none"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let text = String::from_utf8(tree.stdout).unwrap();
    assert!(text.contains("event-log"), "cargo tree says: {}", String::from_utf8_lossy(&tree.stderr));
    for package in text.lines().filter_map(|line| line.split(' ').next()) {
        let is_http = ["axum", "hyper", "http", "tower"].iter().any(|word| package.starts_with(word));
        assert!(!is_http, "the engine depends on {package}");
    }
}

#[test]
fn the_example_sends_a_request_and_reads_the_log() {
    // Cargo builds examples into the folder `examples`, next to the folder of the tests.
    let test = std::env::current_exe().unwrap();
    let example: PathBuf = test.ancestors().nth(2).unwrap().join("examples/embed");
    let output = Command::new(&example).output().unwrap_or_else(|error| panic!("{example:?}: {error}"));
    let text = String::from_utf8(output.stdout).unwrap();
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}"#;
    assert_eq!(text, format!("answer: {answer}\nlogged: {answer}\n"));
    assert!(output.status.success());
}
