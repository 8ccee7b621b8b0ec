//! The unit: systemd takes it, and finds little to say about how exposed it is.

use std::process::{Command, Output};

use test_harness::server::product;

pub(crate) const UNIT: &str = include_str!("../../packaging/systemd/sandbox-agent.service");

/// A line's value in the unit.
fn value(key: &str) -> &'static str {
    UNIT.lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
        .unwrap_or_else(|| panic!("no {key}"))
}

/// Has systemd look at the unit, with the binary where it is built.
fn analyze(arguments: &[&str]) -> (bool, String) {
    let folder = tempfile::Builder::new().prefix("packaging-systemd-").tempdir().unwrap();
    let unit = folder.path().join("sandbox-agent.service");
    std::fs::write(&unit, UNIT.replace("/usr/local/bin/sandbox-agent", &product().display().to_string()))
        .unwrap();
    let Output { status, stdout, stderr } = Command::new("systemd-analyze")
        .args(arguments)
        .arg(&unit)
        .env("SYSTEMD_PAGER", "")
        .output()
        .expect("systemd-analyze is there: run sh scripts/test-tools.sh");
    let said = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    (status.success(), said)
}

#[test]
fn systemd_has_nothing_to_say_against_the_unit() {
    // Other units of the machine may be wrong; only what is said of ours counts.
    let (taken, said) = analyze(&["verify", "--man=no"]);
    let about_ours: Vec<_> = said.lines().filter(|line| line.contains("sandbox-agent")).collect();
    assert!(taken && about_ours.is_empty(), "{said}");
}

#[test]
fn systemd_calls_the_service_well_protected() {
    let (_, said) = analyze(&["security", "--offline=yes", "--no-pager"]);
    let verdict =
        said.lines().find(|line| line.contains("Overall exposure level")).expect("there is a verdict");
    let level =
        verdict.split_ascii_whitespace().find_map(|word| word.parse::<f32>().ok()).expect("it is a number");
    assert!(level <= 3.0, "{said}");
}

#[test]
fn what_agents_need_is_left_to_them() {
    let settings = UNIT.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    // Node.js compiles at run time; agents make sandboxes and debug; programs look at the machine's memory.
    for taken in
        ["MemoryDenyWriteExecute", "RestrictNamespaces", "ProcSubset", "PrivateNetwork", "@debug", "@mount"]
    {
        assert!(!settings.contains(taken), "{taken}");
    }
    assert_eq!(value("KillMode"), "mixed");
    assert_eq!(value("OOMPolicy"), "continue");
    assert_eq!(value("Type"), "notify");
}
