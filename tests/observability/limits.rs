//! `GET /v1/health` reports the limits in force.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::{Value, json};

use test_harness::Server;
use test_harness::server::product;

fn limits(server: &Server) -> Value {
    server.request("GET", "/v1/health").send().expect(200).json()["limits"].clone()
}

/// The names in the answer that correspond to the flags in the help's section on limits.
fn names_by_the_help() -> BTreeSet<String> {
    let help = Command::new(product()).args(["server", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let section = help.split("\nLimits:\n").nth(1).expect("the help has a section on limits");
    let section = section.lines().take_while(|line| line.is_empty() || line.starts_with(' '));
    section
        .filter_map(|line| line.trim_start().strip_prefix("--")?.split_once(' '))
        .map(|(flag, value)| {
            let mut words = flag.split('-');
            let first = words.next().unwrap().to_owned();
            let name = words.fold(first, |name, word| name + &word[..1].to_uppercase() + &word[1..]);
            if value.starts_with("<TIME>") { name + "Ms" } else { name }
        })
        .collect()
}

#[test]
fn health_reports_exactly_the_limits_that_have_a_flag() {
    let server = Server::start();
    let reported: BTreeSet<String> = limits(&server).as_object().unwrap().keys().cloned().collect();
    assert_eq!(reported, names_by_the_help());
}

#[test]
fn health_reports_the_limits_in_force_and_null_for_none() {
    let defaults = limits(&Server::start());
    assert_eq!(defaults["maxMessageBytes"], 32 << 20);
    assert_eq!(defaults["requestTimeoutMs"], 3_600_000);
    assert_eq!(defaults["instanceIdleTimeoutMs"], Value::Null);
    assert_eq!(defaults["maxUploadBytes"], Value::Null);
    let builder = Server::with()
        .flag("--replay-bytes", "1MiB")
        .flag("--request-timeout", "0")
        .env("SANDBOX_AGENT_INSTANCE_IDLE_TIMEOUT", "250ms")
        .flag("--max-upload-bytes", "3GiB");
    let config = builder.file("limits.toml", "[limits]\nmax_instances = 7\nmax_upload_entries = 0\n");
    let changed = limits(&builder.flag("--config", config.to_str().unwrap()).start());
    assert_eq!(changed["replayBytes"], 1 << 20);
    assert_eq!(changed["requestTimeoutMs"], Value::Null);
    assert_eq!(changed["instanceIdleTimeoutMs"], 250);
    assert_eq!(changed["maxUploadBytes"], json!(3_u64 << 30));
    assert_eq!(changed["maxUploadEntries"], Value::Null);
    assert_eq!(changed["maxInstances"], 7);
}
