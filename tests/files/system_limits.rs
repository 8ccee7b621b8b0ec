//! Files that the operating system does not permit the server to access.

use std::os::unix::fs::{PermissionsExt, chown};

use serde_json::json;

use test_harness::files::{Options, Server, Tar, names, query};
use test_harness::server::product;

/// The user `nobody`, for a server that is not root.
const NOBODY: u32 = 65534;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A server that is not root, with a workspace that has inaccessible entries.
fn without_rights() -> Server {
    let folder = Server::folder();
    let workspace = folder.path().join("workspace");
    let mode = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    std::fs::create_dir(workspace.join("locked")).unwrap();
    std::fs::write(workspace.join("locked/file"), "x").unwrap();
    std::fs::write(workspace.join("unreadable"), "x").unwrap();
    std::fs::create_dir(workspace.join("readable")).unwrap();
    std::fs::write(workspace.join("readable/file"), "x").unwrap();
    mode(&workspace.join("unreadable"), 0);
    mode(&workspace.join("locked"), 0);
    mode(&workspace.join("readable/file"), 0o444);
    mode(&workspace.join("readable"), 0o555);
    let mut options = Options::default();
    if is_root() {
        mode(folder.path(), 0o755);
        mode(&workspace, 0o777);
        chown(folder.path().join("data"), Some(NOBODY), Some(NOBODY)).unwrap();
        // The project may be in root's home directory, where this user cannot reach the binary.
        let program = folder.path().join("sandbox-agent");
        if std::fs::hard_link(product(), &program).is_err() {
            std::fs::copy(product(), &program).unwrap();
        }
        options.program = Some(program);
        let identity = NOBODY.to_string();
        options = options.wrapped(["setpriv", "--reuid", &identity, "--regid", &identity, "--clear-groups"]);
    }
    Server::start_in(folder, &options)
}

#[tokio::test]
async fn a_permission_error_is_403_and_names_the_path() {
    let server = without_rights();
    let named = |path: &str| query(&[("path", path)]);
    let denied = server.read("unreadable").await.problem(403, "permission_denied");
    assert_eq!(denied["path"], server.shown("unreadable"));
    server.read("locked/file").await.problem(403, "permission_denied");
    server.put("unreadable", "evil").await.problem(403, "permission_denied");
    server.put("readable/file", "evil").await.problem(403, "permission_denied");
    server.put("readable/new", "evil").await.problem(403, "permission_denied");
    server.get(&format!("/v1/fs/entries{}", named("locked"))).await.problem(403, "permission_denied");
    server.get(&format!("/v1/fs/download-batch{}", named("locked"))).await.problem(403, "permission_denied");
    server.get(&format!("/v1/fs/stat{}", named("locked/file"))).await.problem(403, "permission_denied");
    server.post(&format!("/v1/fs/mkdir{}", named("readable/new"))).await.problem(403, "permission_denied");
    server.delete(&format!("/v1/fs/entry{}", named("readable/file"))).await.problem(403, "permission_denied");
    let moved = server.move_entry(&json!({"from": "readable/file", "to": "moved"})).await;
    moved.problem(403, "permission_denied");
    let archive = Tar::default().file("evil", b"evil").bytes();
    server.unpack("readable", "application/x-tar", archive).await.problem(403, "permission_denied");
    assert_eq!(names(&server.at("readable")), ["file"]);
    assert_eq!(server.read("readable/file").await.text(), "x");
    // The parent is listed, with the inaccessible directory as one entry.
    let list = server.get("/v1/fs/entries?recursive=true").await.json();
    assert_eq!(list.as_array().unwrap().len(), 4, "{list}");
}
