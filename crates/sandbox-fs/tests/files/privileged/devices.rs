//! A small second file system in the workspace: full disks, moves between devices, mount points.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, FileType, Mode};
use sandbox_fs::{ArchiveFormat, ArchiveLimits, Atomicity, Error, Overwrite, Recursion};

use crate::archives_in::{Packed, pack};
use crate::support::{Rules, Scratch, StopOnDrop, in_child, leftovers, mount_small, path, snapshot};

/// A scratch tree with a 1 MiB file system at `small`, in a process that may mount.
fn with_small_device(test: &str, body: impl FnOnce(&Scratch)) {
    in_child(test, Rules::PrivateMounts, || {
        let scratch = Scratch::unconfined();
        mount_small(&scratch.directory("small"), "1m");
        body(&scratch);
        let unmounted = Command::new("umount").arg(scratch.at("small")).status().unwrap();
        assert!(unmounted.success(), "something still holds the small device open");
    });
}

#[test]
fn an_upload_that_fills_the_disk_fails_with_no_space_and_keeps_the_old_file() {
    with_small_device(
        "privileged::devices::an_upload_that_fills_the_disk_fails_with_no_space_and_keeps_the_old_file",
        |scratch| {
            scratch.file("small/a", "old");
            let before = scratch.snapshot();
            for name in ["small/a", "small/new", "small/made/new"] {
                let mut writer = scratch.begin(name).unwrap();
                let chunk = vec![b'x'; 256 * 1024];
                let error = (0..20).find_map(|_| writer.write_chunk(&chunk).err()).expect("the disk is full");
                assert!(matches!(error, Error::NoSpace { .. }), "{error:?}");
                drop(writer);
                assert_eq!(scratch.snapshot(), before);
            }
        },
    );
}

#[test]
fn overwriting_in_place_detects_a_full_disk_before_it_changes_a_byte() {
    with_small_device(
        "privileged::devices::overwriting_in_place_detects_a_full_disk_before_it_changes_a_byte",
        |scratch| {
            let file = scratch.file("small/a", "old");
            fs::hard_link(&file, scratch.at("small/b")).unwrap();
            // The spooled upload fits, but not a second copy.
            let error = scratch.put("small/a", &"x".repeat(700 * 1024)).unwrap_err();
            assert!(matches!(error, Error::NoSpace { .. }), "{error:?}");
            assert_eq!(scratch.read("small/b"), "old");
            assert!(leftovers(&scratch.workspace).is_empty());
        },
    );
}

#[test]
fn an_archive_that_fills_the_disk_leaves_nothing() {
    with_small_device("privileged::devices::an_archive_that_fills_the_disk_leaves_nothing", |scratch| {
        scratch.file("small/a", "old");
        let before = scratch.snapshot();
        let archive = pack(&[Packed::file("a", "new"), Packed::file("big", &"x".repeat(2 << 20))]);
        let error = scratch
            .service
            .extract_archive(
                &path("small/to"),
                ArchiveFormat::Tar,
                ArchiveLimits::default(),
                archive.as_slice(),
            )
            .unwrap_err();
        assert!(matches!(error, Error::NoSpace { .. }), "{error:?}");
        assert_eq!(scratch.snapshot(), before);
    });
}

#[test]
fn a_move_between_devices_preserves_all_metadata() {
    with_small_device("privileged::devices::a_move_between_devices_preserves_all_metadata", |scratch| {
        scratch.file("tree/sub/file", "contents");
        scratch.link("tree/link", "sub/file");
        scratch.directory("tree/empty");
        fs::hard_link(scratch.at("tree/sub/file"), scratch.at("tree/twin")).unwrap();
        rustix::fs::mknodat(CWD, scratch.at("tree/fifo"), FileType::Fifo, Mode::from_raw_mode(0o640), 0)
            .unwrap();
        fs::set_permissions(scratch.at("tree/sub/file"), PermissionsExt::from_mode(0o4751)).unwrap();
        fs::set_permissions(scratch.at("tree/sub"), PermissionsExt::from_mode(0o555)).unwrap();
        let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_nanos(1_234_567_890_123_456_789);
        for name in ["tree/sub/file", "tree/sub", "tree"] {
            fs::File::open(scratch.at(name)).unwrap().set_modified(long_ago).unwrap();
        }
        let before = snapshot(&scratch.at("tree"));
        scratch.service.move_entry(&path("tree"), &path("small/tree"), Overwrite::Refuse).unwrap();
        assert!(!scratch.at("tree").exists());
        assert_eq!(snapshot(&scratch.at("small/tree")), before);
        let moved = |name: &str| fs::metadata(scratch.at(name)).unwrap();
        assert_eq!(moved("small/tree/twin").ino(), moved("small/tree/sub/file").ino());
        for name in ["small/tree/sub/file", "small/tree/sub", "small/tree"] {
            assert_eq!(moved(name).modified().unwrap(), long_ago, "{name}");
        }
        // Move one file back.
        scratch.service.move_entry(&path("small/tree/twin"), &path("twin"), Overwrite::Refuse).unwrap();
        assert_eq!(scratch.read("twin"), "contents");
        assert!(!scratch.at("small/tree/twin").exists());
        assert!(leftovers(&scratch.workspace).is_empty());
    });
}

#[test]
fn a_move_between_devices_obeys_the_same_rules() {
    with_small_device("privileged::devices::a_move_between_devices_obeys_the_same_rules", |scratch| {
        scratch.file("file", "1");
        scratch.file("tree/inner", "2");
        scratch.file("small/file", "old");
        scratch.file("small/tree/other", "old");
        let before = scratch.snapshot();
        let mv = |from: &str, to: &str, how| scratch.service.move_entry(&path(from), &path(to), how);
        assert!(matches!(mv("file", "small/file", Overwrite::Refuse), Err(Error::Exists { .. })));
        assert!(matches!(mv("tree", "small/tree", Overwrite::Refuse), Err(Error::Exists { .. })));
        assert!(matches!(mv("file", "small/tree", Overwrite::Replace), Err(Error::WrongKind { .. })));
        assert!(matches!(mv("tree", "small/file", Overwrite::Replace), Err(Error::WrongKind { .. })));
        assert_eq!(scratch.snapshot(), before);
        mv("file", "small/file", Overwrite::Replace).unwrap();
        mv("tree", "small/tree", Overwrite::Replace).unwrap();
        assert_eq!((scratch.read("small/file"), scratch.read("small/tree/inner")), ("1".into(), "2".into()));
        assert!(!scratch.at("small/tree/other").exists());
        assert!(leftovers(&scratch.workspace).is_empty());
    });
}

#[test]
fn files_written_into_a_tree_during_a_move_between_devices_are_not_lost() {
    let test = "privileged::devices::files_written_into_a_tree_during_a_move_between_devices_are_not_lost";
    with_small_device(test, |scratch| {
        let (mut moved, mut kept) = (0, 0);
        for round in 0..40 {
            for number in 0..20 {
                scratch.file(&format!("tree/sub/{number}"), "there before");
            }
            let stop = AtomicBool::new(false);
            let written = std::thread::scope(|scope| {
                let writer = scope.spawn(|| {
                    let mut written = Vec::new();
                    while !stop.load(Ordering::Relaxed) {
                        let name = format!("sub/new-{}", written.len());
                        // This fails once the directory is removed, and then nothing was written.
                        match fs::write(scratch.at("tree").join(&name), "new") {
                            Ok(()) => written.push(name),
                            Err(_) => break,
                        }
                    }
                    written
                });
                let _stop = StopOnDrop(&stop);
                let to = format!("small/{round}");
                match scratch.service.move_entry(&path("tree"), &path(&to), Overwrite::Refuse) {
                    Ok(_) => moved += 1,
                    Err(Error::Changed { .. } | Error::NotFound { .. }) => kept += 1,
                    Err(error) => panic!("{error:?}"),
                }
                stop.store(true, Ordering::Relaxed);
                writer.join().unwrap()
            });
            let before = (0..20).map(|number| format!("sub/{number}"));
            for name in written.into_iter().chain(before) {
                let places = [scratch.at("tree").join(&name), scratch.at(&format!("small/{round}/{name}"))];
                assert!(places.iter().any(|place| place.exists()), "{name} is gone");
            }
            let _ = fs::remove_dir_all(scratch.at("tree"));
            let _ = fs::remove_dir_all(scratch.at(&format!("small/{round}")));
        }
        assert!(
            moved + kept == 40 && kept > 0,
            "no write happened during a move: {moved} moved, {kept} kept"
        );
    });
}

#[test]
fn a_directory_cannot_move_to_another_device_mounted_below_it() {
    with_small_device(
        "privileged::devices::a_directory_cannot_move_to_another_device_mounted_below_it",
        |scratch| {
            scratch.directory("outer/inner");
            scratch.file("outer/file", "kept");
            mount_small(&scratch.at("outer/inner"), "1m");
            let moved = scratch.service.move_entry(&path("outer"), &path("outer/inner/x"), Overwrite::Refuse);
            assert!(matches!(moved, Err(Error::IntoItself { .. })), "{moved:?}");
            assert_eq!(scratch.read("outer/file"), "kept");
            assert!(Command::new("umount").arg(scratch.at("outer/inner")).status().unwrap().success());
        },
    );
}

#[test]
fn a_move_to_a_full_device_leaves_the_source_intact() {
    with_small_device("privileged::devices::a_move_to_a_full_device_leaves_the_source_intact", |scratch| {
        scratch.file("tree/a", "small enough");
        scratch.file("tree/b", &"x".repeat(2 << 20));
        scratch.file("small/tree/old", "old");
        let before = scratch.snapshot();
        for how in [Overwrite::Refuse, Overwrite::Replace] {
            let to = if how == Overwrite::Refuse { "small/new" } else { "small/tree" };
            let error = scratch.service.move_entry(&path("tree"), &path(to), how).unwrap_err();
            assert!(matches!(error, Error::NoSpace { .. }), "{error:?}");
            assert_eq!(scratch.snapshot(), before);
        }
    });
}

#[test]
fn a_sparse_file_moves_to_a_device_smaller_than_its_length() {
    with_small_device(
        "privileged::devices::a_sparse_file_moves_to_a_device_smaller_than_its_length",
        |scratch| {
            let file = scratch.file("sparse", "head");
            let sparse = fs::File::options().write(true).open(&file).unwrap();
            sparse.set_len(64 << 20).unwrap();
            std::os::unix::fs::FileExt::write_all_at(&sparse, b"tail", (64 << 20) - 4).unwrap();
            scratch.service.move_entry(&path("sparse"), &path("small/sparse"), Overwrite::Refuse).unwrap();
            let moved = fs::read(scratch.at("small/sparse")).unwrap();
            assert_eq!(
                (moved.len(), &moved[..4], &moved[moved.len() - 4..]),
                (64 << 20, &b"head"[..], &b"tail"[..])
            );
            assert!(!file.exists());
        },
    );
}

#[test]
fn a_mount_point_is_written_in_place_and_not_removed() {
    with_small_device("privileged::devices::a_mount_point_is_written_in_place_and_not_removed", |scratch| {
        // For a bind mount from the same file system, only the mount table shows the mount point.
        for source in ["small/source", "source"] {
            scratch.file(source, "a long old text");
            let target = scratch.file("bound", "below");
            let bound =
                Command::new("mount").arg("--bind").arg(scratch.at(source)).arg(&target).status().unwrap();
            assert!(bound.success());
            let outcome = scratch.put("bound", "new").unwrap();
            assert_eq!(outcome.atomic, Atomicity::InPlace);
            assert_eq!((scratch.read(source), scratch.read("bound")), ("new".into(), "new".into()));
            assert!(scratch.service.remove(&path("bound"), Recursion::Single).is_err());
            assert!(Command::new("umount").arg(&target).status().unwrap().success());
            assert_eq!(scratch.read("bound"), "below");
        }
        assert!(leftovers(&scratch.workspace).is_empty());
    });
}

#[test]
fn an_archive_is_merged_into_a_directory_on_another_device() {
    with_small_device(
        "privileged::devices::an_archive_is_merged_into_a_directory_on_another_device",
        |scratch| {
            scratch.file("small/file", "old");
            let archive = pack(&[
                Packed::file("small/file", "new"),
                Packed::file("small/tree/inner", "inner"),
                Packed::link("small/link", "file"),
            ]);
            let limits = ArchiveLimits::default();
            scratch
                .service
                .extract_archive(&path("."), ArchiveFormat::Tar, limits, archive.as_slice())
                .unwrap();
            assert_eq!(
                (scratch.read("small/file"), scratch.read("small/tree/inner")),
                ("new".into(), "inner".into())
            );
            assert_eq!(scratch.read("small/link"), "new");
            assert!(leftovers(&scratch.workspace).is_empty());
        },
    );
}
