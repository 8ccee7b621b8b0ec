//! Archives that try to leave their target, or to use too many resources.

use std::os::unix::fs::symlink;

use serde_json::Value;

use test_harness::files::{Options, Server, Tar, gzip, names, snapshot, zstd};

/// A server with files outside the target that must not change.
fn guarded() -> Server {
    let server = Server::start();
    std::fs::write(server.at("secret"), "untouched").unwrap();
    std::fs::create_dir(server.at("target")).unwrap();
    std::fs::write(server.at("target/existing"), "existing").unwrap();
    server
}

async fn rejected(server: &Server, archive: Tar) -> Value {
    let archive = archive.bytes();
    let everything = server.workspace().parent().unwrap().join("workspace");
    let before = snapshot(&everything);
    let mut last = Value::Null;
    for (media_type, body) in [
        ("application/x-tar", archive.clone()),
        ("application/gzip", gzip(&archive)),
        ("application/zstd", zstd(&archive)),
    ] {
        last = server.unpack("target", media_type, body).await.problem(400, "archive_rejected");
        assert_eq!(snapshot(&everything), before, "{media_type}");
    }
    last
}

#[tokio::test]
async fn a_name_that_leads_outside_is_rejected_by_name() {
    let server = guarded();
    let absolute = server.shown("secret");
    for name in ["../secret", "inner/../../secret", "..", &absolute, "/tmp/sandbox-agent-attack"] {
        let archive = Tar::default().file("good", b"good").file(name, b"evil");
        let problem = rejected(&server, archive).await;
        assert_eq!(problem["entry"], name);
    }
    assert!(!std::path::Path::new("/tmp/sandbox-agent-attack").exists());
}

#[tokio::test]
async fn a_link_that_leads_outside_is_rejected_by_name() {
    let server = guarded();
    let absolute = server.shown("secret");
    for target in ["../secret", "/etc/passwd", "inner/../../secret", &absolute] {
        let problem = rejected(&server, Tar::default().symlink("link", target)).await;
        assert_eq!(problem["entry"], "link", "{target}");
        let problem = rejected(&server, Tar::default().hard_link("hard", target)).await;
        assert_eq!(problem["entry"], "hard", "{target}");
    }
}

#[tokio::test]
async fn a_link_followed_by_a_write_through_it_is_rejected() {
    let server = guarded();
    let out = Tar::default().symlink("door", "..").file("door/secret", b"evil");
    rejected(&server, out).await;
    let chain = Tar::default().symlink("a", "b").symlink("b", "..").file("a/secret", b"evil");
    rejected(&server, chain).await;
    let hard = Tar::default().symlink("door", "../secret").hard_link("hard", "door");
    rejected(&server, hard).await;
}

#[tokio::test]
async fn existing_links_are_not_followed() {
    let server = guarded();
    std::fs::create_dir(server.at("outside")).unwrap();
    symlink("../outside", server.at("target/door")).unwrap();
    symlink("../secret", server.at("target/window")).unwrap();
    let archive = Tar::default().file("door/new", b"evil").bytes();
    let refused = server.unpack("target", "application/x-tar", archive).await;
    assert!([400, 200].contains(&refused.status), "{}", refused.text());
    assert_eq!(names(&server.at("outside")), [""; 0], "something was written outside");
    let archive = Tar::default().file("window", b"evil").bytes();
    server.unpack("target", "application/x-tar", archive).await;
    assert_eq!(std::fs::read(server.at("secret")).unwrap(), b"untouched");
}

#[tokio::test]
async fn devices_and_fifos_are_rejected() {
    let server = guarded();
    for kind in [b'3', b'4', b'6'] {
        let problem = rejected(&server, Tar::default().file("a", b"a").entry("node", kind, "", b"")).await;
        assert_eq!(problem["entry"], "node");
    }
}

#[tokio::test]
async fn a_decompression_bomb_is_stopped_by_the_byte_limit() {
    let server = Server::start_with(&Options::flags(["--max-upload-bytes", "1MiB"]));
    let bomb = Tar::default().file("fits", &[0; 1000]).file("bomb", &vec![0; 64 << 20]).bytes();
    let (small, smaller) = (gzip(&bomb), zstd(&bomb));
    assert!(small.len() < 1 << 20 && smaller.len() < 1 << 20, "the archives must be small");
    for (media_type, body) in
        [("application/gzip", small), ("application/zstd", smaller), ("application/x-tar", bomb)]
    {
        let problem = server.unpack("target", media_type, body).await.problem(413, "payload_too_large");
        assert_eq!(problem["limit"], 1 << 20);
        assert_eq!(names(&server.workspace()), [""; 0], "{media_type}");
    }
}

#[tokio::test]
async fn a_million_empty_entries_are_stopped_by_the_entry_limit() {
    let server = Server::start_with(&Options::flags(["--max-upload-entries", "1000"]));
    let thousand = (0..1000).fold(Tar::default(), |tar, number| tar.file(&format!("f{number}"), b"")).bytes();
    let headers = &thousand[..1000 * 512];
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    for _ in 0..1000 {
        std::io::Write::write_all(&mut encoder, headers).unwrap();
    }
    let swarm = encoder.finish().unwrap();
    let problem = server.unpack("target", "application/zstd", swarm).await.problem(413, "too_many_entries");
    assert_eq!(problem["limit"], 1000);
    assert_eq!(names(&server.workspace()), [""; 0]);
    // The maximum number of entries is accepted.
    assert_eq!(server.unpack("target", "application/x-tar", thousand).await.json()["count"], 1000);
}
