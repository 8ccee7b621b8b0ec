//! One small real agent, installed by the first POST with this machine's npm configuration.

use std::io::BufReader;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use crate::support::{Machine, NO_SERVER, hello, show};
use test_harness::Response;

/// How long npm may take.
const TIMEOUT: Duration = Duration::from_secs(180);

#[test]
fn a_real_agent_is_installed_by_the_first_post_and_answers_it() {
    let mut machine = Machine::new(NO_SERVER);
    // The machine decides where packages come from; sharing its cache only saves time.
    if let Some(home) = std::env::var_os("HOME").map(PathBuf::from) {
        for (name, path) in [("NPM_CONFIG_USERCONFIG", ".npmrc"), ("NPM_CONFIG_CACHE", ".npm")] {
            if std::env::var_os(name).is_none() && home.join(path).exists() {
                machine = machine.with(name, home.join(path).to_str().expect("a path in UTF-8"));
            }
        }
    }
    let server = machine.start();
    let connection = hello(&server, "a", "pi").write();
    connection.set_read_timeout(Some(TIMEOUT)).unwrap();
    let answer = Response::read(&mut BufReader::new(connection)).expect(200).json();
    assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
    assert!(answer["result"]["agentCapabilities"].is_object(), "{answer}");
    let pi = show(&server, "pi");
    assert_eq!(
        (&pi["installed"], &pi["source"], &pi["verified"]),
        (&json!(true), &json!("fallback"), &json!("ok"))
    );
    assert!(machine.data().join("agents/pi/current").exists());
    server.delete("a").send().expect(204);
}
