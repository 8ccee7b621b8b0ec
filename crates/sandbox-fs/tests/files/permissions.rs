//! Errors for a user without permissions. When run as root, these tests switch to another user first.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use sandbox_fs::{
    ArchiveFormat, ArchiveLimits, Atomicity, Depth, EntriesRequest, Error, Overwrite, Recursion,
};

use crate::archives_in::{Packed, pack};
use crate::support::{Rules, Scratch, in_child, leftovers, path};

fn set_mode(scratch: &Scratch, name: &str, mode: u32) {
    fs::set_permissions(scratch.at(name), PermissionsExt::from_mode(mode)).unwrap();
}

#[test]
fn every_operation_reports_a_permission_error() {
    in_child("permissions::every_operation_reports_a_permission_error", Rules::Unprivileged, || {
        let scratch = Scratch::unconfined();
        scratch.file("shut/file", "x");
        scratch.file("fixed/file", "x");
        scratch.file("fixed/directory/file", "x");
        scratch.file("mine", "mine");
        scratch.file("unreadable", "x");
        scratch.file("read-only", "x");
        set_mode(&scratch, "unreadable", 0o200);
        set_mode(&scratch, "read-only", 0o444);
        set_mode(&scratch, "shut", 0o000);
        set_mode(&scratch, "fixed", 0o555);
        let service = &scratch.service;
        let archive = pack(&[Packed::file("a", "x")]);
        let extract = |name: &str| {
            let limits = ArchiveLimits::default();
            service.extract_archive(&path(name), ArchiveFormat::Tar, limits, archive.as_slice()).map(drop)
        };
        let results = [
            service.open_file(&path("unreadable")).map(drop),
            service.open_file(&path("shut/file")).map(drop),
            service.stat(&path("shut/file")).map(drop),
            service.entries(&path("shut"), &EntriesRequest::default()).map(drop),
            service.open_archive(&path("shut")).map(drop),
            service.make_directory(&path("fixed/new")).map(drop),
            service.remove(&path("fixed/file"), Recursion::Single).map(drop),
            service.remove(&path("fixed"), Recursion::Recursive).map(drop),
            service.move_entry(&path("fixed/file"), &path("stolen"), Overwrite::Refuse).map(drop),
            service.move_entry(&path("mine"), &path("fixed/new"), Overwrite::Refuse).map(drop),
            scratch.put("fixed/new", "x").map(drop),
            scratch.put("fixed/sub/new", "x").map(drop),
            scratch.put("read-only", "x").map(drop),
            scratch.put("shut/file", "x").map(drop),
            extract("fixed"),
            extract("fixed/sub"),
        ];
        for (number, result) in results.into_iter().enumerate() {
            assert!(matches!(result, Err(Error::PermissionDenied { .. })), "operation {number}: {result:?}");
        }
        assert_eq!(scratch.read("mine"), "mine");
        // A directory that cannot be read is listed without its contents.
        let request = EntriesRequest { depth: Depth::Recursive, ..EntriesRequest::default() };
        let listed = service.entries(&path("."), &request).unwrap().entries;
        assert!(listed.iter().any(|entry| entry.path.ends_with("fixed/directory/file")));
        assert!(!listed.iter().any(|entry| entry.path.ends_with("shut/file")));
        set_mode(&scratch, "unreadable", 0o600);
        set_mode(&scratch, "shut", 0o755);
        set_mode(&scratch, "fixed", 0o755);
        assert!(leftovers(&scratch.workspace).is_empty());
    });
}

#[test]
fn a_file_in_a_read_only_directory_is_written_in_place() {
    let test = "permissions::a_file_in_a_read_only_directory_is_written_in_place";
    in_child(test, Rules::Unprivileged, || {
        let scratch = Scratch::unconfined();
        scratch.file("fixed/file", "a long old text");
        set_mode(&scratch, "fixed", 0o555);
        let mut writer = scratch.begin("fixed/file").unwrap();
        writer.write_chunk(b"cut off").unwrap();
        drop(writer);
        assert_eq!(scratch.read("fixed/file"), "a long old text");
        let outcome = scratch.put("fixed/file", "new").unwrap();
        assert_eq!((outcome.atomic, outcome.bytes_written), (Atomicity::InPlace, 3));
        assert_eq!(scratch.read("fixed/file"), "new");
        set_mode(&scratch, "fixed", 0o755);
    });
}

#[test]
fn a_process_without_access_to_its_own_proc_entry_still_works() {
    let test = "permissions::a_process_without_access_to_its_own_proc_entry_still_works";
    in_child(test, Rules::Unprivileged, || {
        rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable).unwrap();
        assert!(
            fs::read("/proc/self/environ").is_err(),
            "the process can still read its proc entry, so this tests nothing"
        );
        let scratch = Scratch::confined();
        scratch.put("a/b", "old").unwrap();
        scratch.put("a/b", "new").unwrap();
        scratch.service.move_entry(&path("a/b"), &path("c"), Overwrite::Refuse).unwrap();
        let archive =
            pack(&[Packed::directory("d", 0o750), Packed::file("d/e", "x"), Packed::link("d/f", "e")]);
        let limits = ArchiveLimits::default();
        scratch.service.extract_archive(&path("a"), ArchiveFormat::Tar, limits, archive.as_slice()).unwrap();
        let watched = scratch.service.watch(&path("a"), &sandbox_fs::WatchOptions::default());
        assert!(watched.is_ok(), "{watched:?}");
        scratch.service.remove(&path("a"), Recursion::Recursive).unwrap();
        assert_eq!(scratch.read("c"), "new");
    });
}
