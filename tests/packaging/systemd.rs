//! The systemd unit: systemd accepts it and rates it as well protected.

use std::process::{Command, Output};

use test_harness::server::product;

pub(crate) const UNIT: &str = include_str!("../../packaging/systemd/sandbox-agent.service");

/// The value of a setting in the unit.
fn value(key: &str) -> &'static str {
    UNIT.lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
        .unwrap_or_else(|| panic!("no {key}"))
}

/// Lets systemd analyze the unit, with the path of the built binary.
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
    let printed = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    (status.success(), printed)
}

#[test]
fn systemd_accepts_the_unit_without_warnings() {
    // Other units of the machine may have errors; only warnings about this one count.
    let (taken, printed) = analyze(&["verify", "--man=no"]);
    let about_ours: Vec<_> = printed.lines().filter(|line| line.contains("sandbox-agent")).collect();
    assert!(taken && about_ours.is_empty(), "{printed}");
}

#[test]
fn systemd_rates_the_service_as_well_protected() {
    let (_, printed) = analyze(&["security", "--offline=yes", "--no-pager"]);
    let verdict =
        printed.lines().find(|line| line.contains("Overall exposure level")).expect("there is a verdict");
    let level =
        verdict.split_ascii_whitespace().find_map(|word| word.parse::<f32>().ok()).expect("it is a number");
    assert!(level <= 3.0, "{printed}");
}

#[test]
fn the_unit_does_not_restrict_what_agents_need() {
    let settings = UNIT.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    // Node.js compiles at run time, agents use sandboxes and debuggers, and programs inspect the machine's memory.
    for taken in
        ["MemoryDenyWriteExecute", "RestrictNamespaces", "ProcSubset", "PrivateNetwork", "@debug", "@mount"]
    {
        assert!(!settings.contains(taken), "{taken}");
    }
    assert_eq!(value("KillMode"), "mixed");
    assert_eq!(value("OOMPolicy"), "continue");
    assert_eq!(value("Type"), "notify");
}
