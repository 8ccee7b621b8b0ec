//! `fs upload` and `fs download`: whole directories.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::support::{Cutter, Place};
use test_harness::Server;

/// Creates a directory with files, links and executables.
fn populate(folder: &Path) {
    std::fs::create_dir_all(folder.join("inner/empty")).unwrap();
    std::fs::write(folder.join("inner/text"), "text").unwrap();
    std::fs::write(folder.join("program"), "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(folder.join("program"), PermissionsExt::from_mode(0o755)).unwrap();
    symlink("inner/text", folder.join("link")).unwrap();
}

fn check(folder: &Path) {
    assert!(folder.join("inner/empty").is_dir());
    assert_eq!(std::fs::read_to_string(folder.join("link")).unwrap(), "text");
    assert!(folder.join("link").is_symlink());
    assert_eq!(std::fs::metadata(folder.join("program")).unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn an_uploaded_directory_downloads_unchanged() {
    let server = Server::start();
    let place = Place::of(&server);
    populate(&place.path("source"));
    for compress in [&[][..], &["--compress"]] {
        place.run(&["fs", "rm", "-r", "target"]);
        let sent = place.run(&[&["fs", "upload", "source", "target"], compress].concat()).done();
        assert_eq!(sent.output, "uploaded 5 entries\n");
        check(&server.folder().join("target"));
        let back = format!("back{}", compress.len());
        let fetched = place.run(&[&["fs", "download", "target", &back, "--json"], compress].concat()).done();
        assert_eq!(fetched.json()["count"], 5);
        check(&place.path(&back));
    }
}

#[test]
fn an_interrupted_download_leaves_nothing() {
    let server = Server::start();
    let place = Place::of(&server);
    let folder = server.folder().join("source");
    std::fs::create_dir(&folder).unwrap();
    for index in 0..50 {
        std::fs::write(folder.join(format!("f{index}")), vec![b'x'; 10_000]).unwrap();
    }
    let cutter = Cutter::before(server.port, 200_000);
    let cut = place.run(&["fs", "download", "source", "target", "--url", &cutter.url]);
    assert_eq!(cut.code, Some(1), "{}", cut.errors);
    assert!(cut.errors.contains(" broke: "), "{}", cut.errors);
    assert!(
        !place.path("target").exists(),
        "{:?}",
        std::fs::read_dir(place.path("target")).map(Iterator::count)
    );
    place.run(&["fs", "get", "source/f1", "f1"]).done();
}

#[test]
fn a_refused_archive_is_reported_with_the_reason() {
    let server = Server::with().flag("--max-upload-entries", "3").start();
    let place = Place::of(&server);
    populate(&place.path("source"));
    place.run(&["fs", "upload", "source", "target"]).exits(1).says("413");
    assert!(!server.folder().join("target").exists());
}
