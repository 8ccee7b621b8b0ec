//! A confined service with hostile links, static and changing, with and without `openat2`.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;
use sandbox_fs::{
    ArchiveFormat, ArchiveLimits, EntriesRequest, Error, Overwrite, Recursion, Result, WatchOptions,
};

use crate::archives_in::{Packed, pack};
use crate::support::{OPENAT2, Rules, Scratch, StopOnDrop, deny, in_child, path};

fn extract(scratch: &Scratch, name: &str, archive: &[u8]) -> Result<()> {
    scratch
        .service
        .extract_archive(&path(name), ArchiveFormat::Tar, ArchiveLimits::default(), archive)
        .map(drop)
}

/// Tries every operation through every kind of link to the outside.
fn no_link_leads_any_operation_outside() {
    let scratch = Scratch::confined();
    scratch.file("mine", "mine");
    scratch.link("relative", "../outside");
    scratch.link("absolute", &scratch.outside);
    scratch.link("relative-file", "../outside/secret");
    scratch.link("absolute-file", scratch.outside.join("secret"));
    scratch.link("chain", "relative");
    scratch.link("new-outside", "../outside/made");
    let archive = pack(&[Packed::file("made", "x")]);
    let service = &scratch.service;
    let refused = |what: &str, result: Result<()>| {
        assert!(matches!(result, Err(Error::OutsideRoot { .. })), "{what}: {result:?}");
    };
    for link in ["relative", "absolute", "chain", ".."] {
        let (inside, made) = (format!("{link}/secret"), format!("{link}/made"));
        refused(link, service.entries(&path(link), &EntriesRequest::default()).map(drop));
        refused(link, service.open_archive(&path(link)).map(drop));
        refused(link, service.watch(&path(link), &WatchOptions::default()).map(drop));
        refused(link, extract(&scratch, link, &archive));
        refused(link, extract(&scratch, &format!("{link}/sub"), &archive));
        refused(link, service.open_file(&path(&inside)).map(drop));
        refused(link, service.stat(&path(&inside)).map(drop));
        refused(link, service.remove(&path(&inside), Recursion::Recursive).map(drop));
        refused(link, service.make_directory(&path(&made)).map(drop));
        refused(link, scratch.put(&made, "x").map(drop));
        refused(link, scratch.put(&inside, "x").map(drop));
        refused(link, service.move_entry(&path("mine"), &path(&made), Overwrite::Replace).map(drop));
        refused(link, service.move_entry(&path(&inside), &path("stolen"), Overwrite::Replace).map(drop));
    }
    for link in ["relative-file", "absolute-file", "new-outside"] {
        refused(link, service.open_file(&path(link)).map(drop));
        refused(link, scratch.put(link, "x").map(drop));
    }
    // The links themselves are inside, and can be examined, moved and removed.
    assert_eq!(service.stat(&path("relative")).unwrap().1.entry_type.as_str(), "symlink");
    service.move_entry(&path("relative-file"), &path("moved"), Overwrite::Refuse).unwrap();
    service.remove(&path("moved"), Recursion::Single).unwrap();
    service.remove(&path("absolute"), Recursion::Recursive).unwrap();
    assert_eq!(scratch.read("mine"), "mine");
    scratch.assert_outside_untouched();
}

/// Like the test above, while a second thread repeatedly swaps a directory for a link and back.
fn no_swapped_link_leads_any_operation_outside() {
    let scratch = Scratch::confined();
    scratch.file("here/secret", "safe");
    scratch.link("there", "../outside");
    let archive = pack(&[Packed::file("made", "x"), Packed::file("sub/made", "x")]);
    let stop = AtomicBool::new(false);
    let until = Instant::now() + Duration::from_millis(2000);
    let (mut inside, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (here, there) = (scratch.at("here"), scratch.at("there"));
            while !stop.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(CWD, &here, CWD, &there, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let _stop = StopOnDrop(&stop);
        let service = &scratch.service;
        let mut record = |result: Result<()>| match result {
            Ok(()) => inside += 1,
            Err(Error::OutsideRoot { .. }) => refused += 1,
            Err(
                Error::NotFound { .. }
                | Error::Changed { .. }
                | Error::Exists { .. }
                | Error::WrongKind { .. }
                | Error::ArchiveRejected { .. }
                | Error::NotEmpty { .. },
            ) => {}
            Err(error) => panic!("{error:?}"),
        };
        while Instant::now() < until {
            if let Ok(reader) = service.open_file(&path("here/secret")) {
                let mut text = String::new();
                reader.whole().read_to_string(&mut text).unwrap();
                assert_eq!(text, "safe");
                record(Ok(()));
            }
            let listed = service.entries(&path("here"), &EntriesRequest::default());
            record(listed.map(drop));
            record(scratch.put("here/secret", "safe").map(drop));
            record(extract(&scratch, "here", &archive));
            record(service.remove(&path("here/made"), Recursion::Single).map(drop));
            scratch.file("from", "moved");
            record(service.move_entry(&path("from"), &path("here/made"), Overwrite::Replace).map(drop));
            record(service.move_entry(&path("here/made"), &path("back"), Overwrite::Replace).map(drop));
            record(service.remove(&path("here/sub"), Recursion::Recursive).map(drop));
        }
    });
    assert!(
        inside > 10 && refused > 10,
        "the race did not happen often enough: {inside} inside, {refused} refused"
    );
    scratch.assert_outside_untouched();
}

fn without_openat2(test: &str, errno: Errno, body: fn()) {
    in_child(test, Rules::Same, || {
        deny(OPENAT2, errno);
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let denied = rustix::fs::openat2(CWD, "/", flags, Mode::empty(), ResolveFlags::empty());
        assert_eq!(denied.unwrap_err(), errno);
        body();
    });
}

#[test]
fn links_that_lead_outside_are_refused() {
    no_link_leads_any_operation_outside();
}

#[test]
fn links_that_lead_outside_are_refused_where_openat2_is_missing() {
    let test = "confinement::links_that_lead_outside_are_refused_where_openat2_is_missing";
    without_openat2(test, Errno::NOSYS, no_link_leads_any_operation_outside);
}

#[test]
fn links_that_lead_outside_are_refused_where_openat2_is_denied() {
    let test = "confinement::links_that_lead_outside_are_refused_where_openat2_is_denied";
    without_openat2(test, Errno::PERM, no_link_leads_any_operation_outside);
}

#[test]
fn links_swapped_in_by_a_second_thread_are_refused() {
    no_swapped_link_leads_any_operation_outside();
}

#[test]
fn links_swapped_in_by_a_second_thread_are_refused_where_openat2_is_denied() {
    let test = "confinement::links_swapped_in_by_a_second_thread_are_refused_where_openat2_is_denied";
    without_openat2(test, Errno::PERM, no_swapped_link_leads_any_operation_outside);
}
