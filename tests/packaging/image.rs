//! Static checks of the Dockerfile: the files it copies exist, and its images agree with each other.

use std::path::Path;
use std::process::Command;

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
    let (before, _) =
        DOCKERFILE.split_once("RUN node scripts/install-locked.mjs").expect("the image installs packages");
    for workspace in manifest["workspaces"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()) {
        let copy = format!("\nCOPY packages/{workspace}/package.json {workspace}/\n");
        assert!(before.contains(&copy), "{workspace} is not");
    }
}

#[test]
fn the_image_is_built_from_locked_versions() {
    assert!(!DOCKERFILE.contains("npm install"), "npm alone changes what the lock file does not fix");
    let cargo = DOCKERFILE.lines().find(|line| line.starts_with("RUN sh scripts/musl.sh build")).unwrap();
    assert!(cargo.contains(" --locked "), "{cargo}");

    // Compares installed packages with a lock file that lists the package `a`, but not its tool for another
    // platform, `a-arm`.
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages/scripts/install-locked.mjs");
    let lock = r#""node_modules/a":{"version":"1.0.0","integrity":"sha512-a","optionalDependencies":{"a-arm":"1.0.0"}}"#;
    let check = |installed: &str| {
        let folder = tempfile::Builder::new().prefix("packaging-locked-").tempdir().unwrap();
        std::fs::create_dir(folder.path().join("node_modules")).unwrap();
        for (name, packages) in [("package-lock.json", lock), ("node_modules/.package-lock.json", installed)]
        {
            std::fs::write(folder.path().join(name), format!(r#"{{"packages":{{{packages}}}}}"#)).unwrap();
        }
        let run =
            Command::new("node").arg(&script).arg("--check").current_dir(folder.path()).output().unwrap();
        (run.status.success(), String::from_utf8(run.stderr).unwrap())
    };
    let tool = r#","node_modules/a-arm":{"version":"1.0.0","integrity":"sha512-c","optional":true}"#;
    assert_eq!(check(lock), (true, String::new()));
    assert_eq!(check(&format!("{lock}{tool}")), (true, String::new()));
    for (installed, complaint) in [
        (lock.replace("1.0.0", "1.0.1"), "a@1.0.1 is installed, and the lock file has 1.0.0"),
        (lock.replace("sha512-a", "sha512-b"), "a@1.0.0 has another checksum"),
        (format!("{lock}{}", tool.replace("1.0.0", "1.0.1")), "a-arm@1.0.1 is not in the lock file"),
        (format!("{lock}{}", tool.replace("a-arm", "b")), "b@1.0.0 is not in the lock file"),
    ] {
        let (is_fine, said) = check(&installed);
        assert!(!is_fine && said.contains(complaint), "{said}");
    }
}
