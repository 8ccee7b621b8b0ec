//! Documents that are shipped with the binary: the licences of all its components, and the component list.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Runs a script of the repository; returns its success, its output and its errors.
fn python(arguments: &[&str]) -> (bool, String, String) {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new("python3");
    command.current_dir(top).args(arguments).env("CARGO", env!("CARGO")).env_remove("SOURCE_DATE_EPOCH");
    let Output { status, stdout, stderr } = command.output().expect("there is a python3");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.success(), text(stdout), text(stderr))
}

#[track_caller]
fn paper(arguments: &[&str]) -> String {
    let (done, paper, complaints) = python(arguments);
    assert!(done, "{arguments:?}: {complaints}");
    paper
}

/// The target that the tests run on, so that no other one has to be installed.
fn target() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}

/// The dependencies in a component list.
fn needs(list: &Value) -> BTreeMap<&str, Vec<&str>> {
    let entries = list["dependencies"].as_array().unwrap().iter();
    let text = |value: &'_ Value| -> &'static str { value.as_str().unwrap().to_owned().leak() };
    entries
        .map(|one| (text(&one["ref"]), one["dependsOn"].as_array().unwrap().iter().map(text).collect()))
        .collect()
}

#[test]
fn every_component_is_listed_with_its_licence_and_is_a_dependency_of_another() {
    for arguments in [["binary", target().as_str()], ["npm", "sandbox-agent"], ["npm", "acp-http-client"]] {
        let arguments = [&["packaging/sbom.py"][..], &arguments].concat();
        let text = paper(&arguments);
        assert_eq!(text, paper(&arguments), "the same sources must give the same list");
        let list: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(list["bomFormat"], "CycloneDX");
        let product = list["metadata"]["component"]["bom-ref"].as_str().unwrap();
        let mut listed = BTreeSet::from([product]);
        for component in list["components"].as_array().unwrap() {
            listed.insert(component["bom-ref"].as_str().unwrap());
            assert!(!component["licenses"][0].is_null(), "{component}");
        }
        let needs = needs(&list);
        let mut reached = BTreeSet::new();
        let mut open = vec![product];
        while let Some(one) = open.pop() {
            if reached.insert(one) {
                open.extend(&needs[one]);
            }
        }
        assert_eq!(reached, listed);
    }
}

#[test]
fn the_list_has_the_crates_the_inspectors_packages_and_the_standard_library() {
    let list = paper(&["packaging/sbom.py", "binary", &target()]);
    for part in [
        "pkg:cargo/tokio@",
        "pkg:cargo/http-server@",
        "pkg:npm/react@",
        "pkg:npm/inspector@",
        "pkg:cargo/std@",
    ] {
        assert!(list.contains(part), "{part}");
    }
    // Build and test dependencies are not in the binary.
    for part in ["pkg:cargo/proptest@", "pkg:cargo/syn@", "pkg:npm/vite@"] {
        assert!(!list.contains(part), "{part}");
    }
}

#[test]
fn every_licence_is_allowed_and_its_text_is_included() {
    let texts = paper(&["packaging/licences.py", &target()]);
    for holder in ["\ntokio ", "\nring ", "\nreact ", "\nstd "] {
        assert!(texts.contains(holder), "{holder}");
    }
    assert!(texts.contains("Permission is hereby granted, free of charge"));
}

#[test]
fn a_licence_that_is_not_allowed_is_refused() {
    let script = "import sys; sys.path.insert(0, 'packaging'); from licences import is_allowed; \
                 print([is_allowed(one, {'MIT', 'ISC', 'Apache-2.0 WITH LLVM-exception'}) for one in sys.argv[1:]])";
    let checked = |licences: &[&str]| paper(&[&["-c", script][..], licences].concat());
    let fine = [
        "MIT",
        "GPL-3.0 OR MIT",
        "MIT AND ISC",
        "(GPL-3.0 OR MIT) AND ISC",
        "Apache-2.0 WITH LLVM-exception",
    ];
    assert_eq!(checked(&fine), "[True, True, True, True, True]\n");
    let refused = ["GPL-3.0", "", "MIT AND GPL-3.0", "(GPL-3.0 OR Apache-2.0) AND MIT", "Apache-2.0"];
    assert_eq!(checked(&refused), "[False, False, False, False, False]\n");
}
