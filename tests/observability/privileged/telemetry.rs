//! No telemetry: a server in ordinary use sends no packets, according to the kernel.

use std::process::Command;

use serde_json::{Value, json};

use test_harness::server::product;

#[test]
fn a_server_in_ordinary_use_sends_nothing_to_other_machines() {
    let folder = tempfile::tempdir().unwrap();
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/observability/alone.py");
    let namespace: &[&str] =
        if rustix::process::getuid().is_root() { &["--net"] } else { &["--map-root-user", "--net"] };
    let run = Command::new("unshare")
        .args(namespace)
        .args(["--", "timeout", "100", "python3"])
        .args([script.as_os_str(), product().as_os_str(), folder.path().as_os_str()])
        .output()
        .expect("this test needs unshare (util-linux) and python3");
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{errors}");
    let reported: Value =
        serde_json::from_slice(&run.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"));
    let statuses = reported["statuses"].as_array().unwrap();
    assert!(statuses.iter().all(|status| matches!(status.as_u64(), Some(200..=204))), "{reported}");
    // Agents, messages, streams, files, metrics and the inspector were used since the start, and no packet left.
    assert_eq!(reported["used"], json!({"connections": 0, "datagrams": 0, "unroutable": 0}), "{reported}");
    // As a control, the registry was queried for an agent: that does send packets.
    let sum = |counted: &Value| {
        ["connections", "datagrams", "unroutable"]
            .map(|name| counted[name].as_u64().unwrap())
            .iter()
            .sum::<u64>()
    };
    assert!(sum(&reported["asked"]) > 0, "{reported}");
    assert_eq!(reported["ended"], reported["asked"], "stopping sent packets: {reported}");
}
