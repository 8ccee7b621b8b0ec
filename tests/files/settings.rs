//! The precedence of the file endpoints' settings: flag, environment, config file.

use std::os::unix::fs::symlink;

use test_harness::files::{Options, Server, Tar};

#[tokio::test]
async fn a_config_file_sets_the_root_and_the_limits() {
    let folder = Server::folder();
    let root = folder.path().join("workspace");
    std::fs::create_dir(root.join("inner")).unwrap();
    symlink("/etc", root.join("out")).unwrap();
    let file = folder.path().join("config.toml");
    let text = format!(
        "fs_root = {root:?}\nworkspace = {:?}\n[limits]\nmax_upload_bytes = \"1KiB\"\nmax_upload_entries = 2\n",
        root.join("inner")
    );
    std::fs::write(&file, text).unwrap();
    let server = Server::start_in(folder, &Options::flags(["--config".into(), file.into_os_string()]));
    let written = server.put("file", "x").await.json();
    assert_eq!(written["path"], server.shown("inner/file"));
    server.read("../out/passwd").await.problem(403, "permission_denied");
    server.put("file", vec![0; 1025]).await.problem(413, "payload_too_large");
    let archive = Tar::default().file("a", b"").file("b", b"").file("c", b"").bytes();
    server.unpack(".", "application/x-tar", archive).await.problem(413, "too_many_entries");
}

#[tokio::test]
async fn the_environment_wins_over_the_file_and_a_flag_over_both() {
    let folder = Server::folder();
    let workspace = folder.path().join("workspace");
    let file = folder.path().join("config.toml");
    let text = format!("workspace = {workspace:?}\n[limits]\nmax_upload_bytes = 1\nmax_upload_entries = 1\n");
    std::fs::write(&file, text).unwrap();
    let flags = ["--config".into(), file.into_os_string(), "--max-upload-entries".into(), "0".into()];
    let environment = ["env", "SANDBOX_AGENT_MAX_UPLOAD_BYTES=1000", "SANDBOX_AGENT_MAX_UPLOAD_ENTRIES=2"]
        .map(String::from);
    let server = Server::start_in(folder, &Options::flags(flags).wrapped(environment));
    assert_eq!(server.put("file", vec![0; 1000]).await.status, 200);
    server.put("file", vec![0; 1001]).await.problem(413, "payload_too_large");
    // Zero means no limit.
    let archive = Tar::default().file("a", b"").file("b", b"").file("c", b"").bytes();
    assert_eq!(server.unpack("many", "application/x-tar", archive).await.json()["count"], 3);
}
