//! `--fs-root`: nothing outside the tree is read, written or revealed, whatever links exist.

use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use tempfile::TempDir;

use test_harness::files::{Options, Server, Tar, query, snapshot};

/// A confined server, and an outside directory that it must not touch.
struct Confined {
    server: Server,
    outside: TempDir,
}

impl Confined {
    fn start() -> Self {
        let folder = Server::folder();
        let root = folder.path().join("workspace");
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "classified").unwrap();
        symlink(outside.path(), root.join("absolute")).unwrap();
        symlink("../..", root.join("up")).unwrap();
        symlink(outside.path().join("secret"), root.join("file")).unwrap();
        symlink(outside.path().join("not-there-yet"), root.join("dangling")).unwrap();
        std::fs::create_dir(root.join("inner")).unwrap();
        std::fs::write(root.join("inner/allowed"), "allowed").unwrap();
        symlink("inner/allowed", root.join("inside")).unwrap();
        let options = Options::flags(["--fs-root".into(), root.into_os_string()]);
        Self { server: Server::start_in(folder, &options), outside }
    }

    fn outside(&self, name: &str) -> String {
        self.outside.path().join(name).to_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn paths_inside_work_even_through_links_that_stay_inside() {
    let Confined { server, .. } = Confined::start();
    assert_eq!(server.read("inside").await.text(), "allowed");
    assert_eq!(server.read(&server.shown("inner/allowed")).await.text(), "allowed");
    assert_eq!(server.read("inner/../inside").await.text(), "allowed");
    server.put("inside", "changed").await.json();
    assert_eq!(server.read("inner/allowed").await.text(), "changed");
}

#[tokio::test]
async fn no_endpoint_leaves_the_root() {
    let confined = Confined::start();
    let server = &confined.server;
    let before = snapshot(confined.outside.path());
    let secret = confined.outside("secret");
    for path in ["absolute/secret", "file", &secret, "../../../../../../etc/passwd", "up/x", "dangling"] {
        let named = query(&[("path", path)]);
        server.read(path).await.problem(403, "permission_denied");
        server.put(path, "evil").await.problem(403, "permission_denied");
        // These endpoints act on the entry itself, and `file` and `dangling` are links inside the root.
        if path.contains('/') {
            server.get(&format!("/v1/fs/stat{named}")).await.problem(403, "permission_denied");
            server.delete(&format!("/v1/fs/entry{named}")).await.problem(403, "permission_denied");
            server.post(&format!("/v1/fs/mkdir{named}/new")).await.problem(403, "permission_denied");
            let out = server.move_entry(&json!({"from": "inner/allowed", "to": path})).await;
            out.problem(403, "permission_denied");
            let within = server.move_entry(&json!({"from": path, "to": "stolen"})).await;
            within.problem(403, "permission_denied");
        }
    }
    for directory in ["absolute", "up", "..", "/", &confined.outside("")] {
        let named = query(&[("path", directory)]);
        server.get(&format!("/v1/fs/entries{named}")).await.problem(403, "permission_denied");
        server.get(&format!("/v1/fs/download-batch{named}")).await.problem(403, "permission_denied");
        server.get(&format!("/v1/fs/watch{named}")).await.problem(403, "permission_denied");
        let archive = Tar::default().file("evil", b"evil").bytes();
        server.unpack(directory, "application/x-tar", archive).await.problem(403, "permission_denied");
    }
    assert_eq!(snapshot(confined.outside.path()), before);
    assert_eq!(server.read("inside").await.text(), "allowed");
    assert!(!server.at("stolen").exists());
}

#[tokio::test]
async fn listings_and_archives_contain_links_and_not_their_targets() {
    let Confined { server, .. } = Confined::start();
    let list = server.get("/v1/fs/entries?recursive=true").await;
    assert!(!list.text().contains("secret"), "{}", list.text());
    let archive = server.get("/v1/fs/download-batch").await;
    let holds = |text: &str| archive.body.windows(text.len()).any(|bytes| bytes == text.as_bytes());
    assert!(holds("allowed") && !holds("classified"));
    let removed = server
        .delete(&format!("/v1/fs/entry{}", query(&[("path", "absolute"), ("recursive", "true")])))
        .await;
    assert_eq!(removed.status, 200, "a link must be removed, not followed");
}

#[tokio::test]
async fn a_directory_repeatedly_swapped_for_a_link_never_leads_outside() {
    let confined = Confined::start();
    let server = &confined.server;
    let before = snapshot(confined.outside.path());
    let (door, link) = (server.at("door"), server.at("link"));
    std::fs::create_dir(&door).unwrap();
    std::fs::write(door.join("secret"), "harmless").unwrap();
    symlink(confined.outside.path(), &link).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let swapping = std::thread::spawn({
        let over = Arc::clone(&over);
        move || {
            // The swap is atomic, so that the name always exists.
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, &door, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        }
    });
    let (mut allowed, mut refused) = (0, 0);
    for number in 0..300 {
        let read = server.read("door/secret").await;
        assert_ne!(read.body, b"classified");
        let written = server.put("door/secret", "harmless").await;
        for answer in [&read, &written] {
            match answer.status {
                200 => allowed += 1,
                403 | 409 => refused += 1,
                other => panic!("{number}: {other}: {}", answer.text()),
            }
        }
        if number % 10 == 0 {
            let archive = Tar::default().file("unpacked", b"x").bytes();
            server.unpack("door", "application/x-tar", archive).await;
        }
    }
    over.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    assert!(allowed > 0 && refused > 0, "both cases must occur: {allowed} allowed and {refused} refused");
    assert_eq!(snapshot(confined.outside.path()), before);
}

#[tokio::test]
async fn a_workspace_outside_the_root_is_refused_at_startup() {
    let folder = Server::folder();
    let output = std::process::Command::new(test_harness::server::product())
        .args(["server", "--port", "0", "--workspace", "/", "--fs-root"])
        .arg(folder.path().join("workspace"))
        .arg("--data-dir")
        .arg(folder.path().join("data"))
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert!(!output.status.success());
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(printed.contains("--workspace") && printed.contains("--fs-root"), "{printed}");
}
