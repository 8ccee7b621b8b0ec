//! Static checks of the Dockerfile: the files it copies exist, and its images agree with each other.

use std::path::Path;

const DOCKERFILE: &str = include_str!("../../packaging/docker/Dockerfile");

#[test]
fn both_images_have_the_same_settings_and_build_from_existing_files() {
    let stage = |name: &str| -> Vec<&str> {
        let stages: Vec<_> = DOCKERFILE.split("\nFROM ").collect();
        let stage =
            stages.iter().find(|stage| stage.lines().next().unwrap().ends_with(&format!(" AS {name}")));
        let settings = ["ENV ", "WORKDIR ", "USER ", "EXPOSE ", "HEALTHCHECK ", "ENTRYPOINT ", "CMD "];
        stage.unwrap().lines().filter(|line| settings.iter().any(|name| line.starts_with(name))).collect()
    };
    assert_eq!(stage("node"), stage("bare"));
    assert_eq!(stage("node").len(), 7);
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let copied = DOCKERFILE.lines().filter_map(|line| line.strip_prefix("COPY "));
    let from_context = copied.filter(|line| !line.starts_with("--from"));
    for line in from_context {
        let words: Vec<_> = line.split(' ').collect();
        for source in &words[..words.len() - 1] {
            assert!(top.join(source).exists(), "{source} is copied but does not exist");
        }
    }
}

#[test]
fn every_npm_workspace_is_copied_before_packages_are_installed() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let manifest = std::fs::read_to_string(top.join("packages/package.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let (before, _) = DOCKERFILE.split_once("RUN npm install").expect("the image installs packages");
    for workspace in manifest["workspaces"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()) {
        let copy = format!("\nCOPY packages/{workspace}/package.json {workspace}/\n");
        assert!(before.contains(&copy), "{workspace} is not");
    }
}
