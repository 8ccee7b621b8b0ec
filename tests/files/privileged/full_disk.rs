//! A workspace on a full disk.

use std::ffi::OsString;

use serde_json::json;

use test_harness::files::{Options, Server, Tar};

/// Mounts a small file system over the first argument, visible only to the started program.
const ON_A_SMALL_DISK: &str = r#"mount -t tmpfs -o size=4m,mode=777 none "$1" && shift && exec "$@""#;

/// A server whose workspace has room for 4 MiB. Its files are visible only through the server.
fn with_small_disk() -> Server {
    let folder = Server::folder();
    let workspace = folder.path().join("workspace").into_os_string();
    // Without root, a user namespace permits mounting.
    let namespaces = if rustix::process::geteuid().is_root() { "--mount" } else { "--mount --map-root-user" };
    let mut wrapper: Vec<OsString> = vec!["unshare".into()];
    wrapper.extend(namespaces.split(' ').map(OsString::from));
    wrapper.extend(["sh", "-c", ON_A_SMALL_DISK, "sh"].map(OsString::from));
    wrapper.push(workspace);
    Server::start_in(folder, &Options::default().wrapped(wrapper))
}

#[tokio::test]
async fn a_full_disk_is_507_and_existing_files_stay() {
    let server = with_small_disk();
    server.put("file", "old").await.json();
    let full = server.put("file", vec![0; 8 << 20]).await.problem(507, "no_space");
    assert_eq!(full["path"], server.shown("file"));
    server.put("new/deep/file", vec![0; 8 << 20]).await.problem(507, "no_space");
    let archive = Tar::default().file("file", b"new").file("large", &vec![0; 8 << 20]).bytes();
    server.unpack(".", "application/x-tar", archive.clone()).await.problem(507, "no_space");
    server.unpack("unpacked", "application/x-tar", archive).await.problem(507, "no_space");
    assert_eq!(server.read("file").await.text(), "old");
    let left = server.get("/v1/fs/entries?recursive=true").await.json();
    assert_eq!(left.as_array().unwrap().len(), 1, "leftover files: {left}");
    // The space is free again at once.
    assert_eq!(server.put("file", vec![0; 3 << 20]).await.json()["bytesWritten"], 3 << 20);
}

#[tokio::test]
async fn a_move_to_a_full_disk_is_507_and_keeps_the_source() {
    let server = with_small_disk();
    let source = server.data().join("large");
    std::fs::write(&source, vec![7; 8 << 20]).unwrap();
    let moved = server.move_entry(&json!({"from": source, "to": "large"})).await;
    moved.problem(507, "no_space");
    assert_eq!(std::fs::read(&source).unwrap(), vec![7; 8 << 20]);
    assert_eq!(server.get("/v1/fs/entries").await.json(), json!([]));
    // A file that fits is copied, and its source is removed.
    std::fs::write(&source, "small").unwrap();
    assert_eq!(server.move_entry(&json!({"from": source, "to": "small"})).await.status, 200);
    assert_eq!(server.read("small").await.text(), "small");
    assert!(!source.exists());
}
