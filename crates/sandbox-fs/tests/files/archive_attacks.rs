//! Hostile archives are refused with the entry's name, and leave nothing behind.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use sandbox_fs::{ArchiveFormat, ArchiveLimits, Error, RejectReason};

use crate::archives_in::{Packed, extract, pack};
use crate::support::{Scratch, path};

/// Unpacks into a target with a few entries, and expects a refusal that names `culprit` and changes nothing.
fn assert_refused(entries: &[Packed], culprit: &str) -> RejectReason {
    let mut reasons = Vec::new();
    for scratch in [Scratch::unconfined(), Scratch::confined()] {
        scratch.file("to/there", "there");
        scratch.file("to/full/inner", "there");
        scratch.link("to/was-link", "full");
        scratch.link("to/to-outside", "../../outside");
        let before = scratch.snapshot();
        for target in ["to", "made/on/the/way"] {
            let result = extract(&scratch, target, &pack(entries));
            // Some archives only conflict with existing entries of the target.
            if target != "to" && result.is_ok() {
                scratch.service.remove(&path("made"), sandbox_fs::Recursion::Recursive).unwrap();
                continue;
            }
            match result {
                Err(Error::ArchiveRejected { entry, reason }) => {
                    assert_eq!(entry.as_deref(), Some(Path::new(culprit)), "{reason:?}");
                    reasons.push(reason);
                }
                other => panic!("{target}: {other:?}"),
            }
            assert_eq!(scratch.snapshot(), before);
        }
        scratch.assert_outside_untouched();
    }
    reasons.dedup();
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    reasons.remove(0)
}

#[test]
fn names_that_climb_out_are_refused() {
    for name in ["../x", "a/../../x", "..", "a/.."] {
        let reason = assert_refused(&[Packed::file("fine", "x"), Packed::file(name, "x")], name);
        assert_eq!(reason, RejectReason::ParentComponent);
    }
}

#[test]
fn absolute_and_empty_names_are_refused() {
    assert_eq!(assert_refused(&[Packed::file("/etc/x", "x")], "/etc/x"), RejectReason::AbsoluteName);
    assert_eq!(assert_refused(&[Packed::file("", "x")], ""), RejectReason::BadName);
    assert_eq!(assert_refused(&[Packed::file("./", "x")], "./"), RejectReason::BadName);
    let long = Packed::new(b'x', "pax", "", &pax(&[("path", &"y".repeat(300))]));
    assert_eq!(assert_refused(&[long, Packed::file("a", "x")], &"y".repeat(300)), RejectReason::BadName);
}

#[test]
fn links_that_lead_outside_are_refused_even_through_other_links() {
    for target in ["..", "../outside", "/etc", "a/../../x", "../../outside/secret"] {
        let reason = assert_refused(&[Packed::link("link", target)], "link");
        assert_eq!(reason, RejectReason::LinkOutside { target: target.into() });
    }
    let chain = [Packed::link("a/b/up", ".."), Packed::link("out", "a/b/up/../..")];
    assert!(matches!(assert_refused(&chain, "out"), RejectReason::LinkOutside { .. }));
    // A hard link to a symbolic link gives it a second location, from which its target means something else.
    let moved = [Packed::link("a/b/link", "../../x"), Packed::hard_link("moved", "a/b/link")];
    assert!(matches!(assert_refused(&moved, "moved"), RejectReason::LinkOutside { .. }));
    // A path that goes up from an existing link leaves the target as well.
    let foreign = [Packed::link("sly", "to-outside/../x")];
    assert!(matches!(assert_refused(&foreign, "sly"), RejectReason::LinkOutside { .. }));
}

#[test]
fn two_archives_together_cannot_create_a_link_out_of_the_target() {
    let pairs = [
        // The link `out` stays inside, until the second archive turns the directory `a/b` into a link.
        [vec![Packed::link("out", "a/b/../..")], vec![Packed::link("a/b", "..")]],
        [
            vec![Packed::directory("a/b", 0o755), Packed::link("out", "a/b/../..")],
            vec![Packed::link("a/b", "..")],
        ],
        // The link `out` stays inside, until the second archive turns the link `l` into a directory.
        [
            vec![
                Packed::file("a/b/c/file", ""),
                Packed::link("l", "a/b/c"),
                Packed::link("out", "l/../../.."),
            ],
            vec![Packed::directory("l", 0o755)],
        ],
    ];
    for [first, second] in pairs {
        let scratch = Scratch::unconfined();
        let target = scratch.directory("to");
        let results = [extract(&scratch, "to", &pack(&first)), extract(&scratch, "to", &pack(&second))];
        let leads_to = target.join("out").canonicalize();
        let stays = leads_to.as_ref().is_ok_and(|path| path.starts_with(&target));
        assert!(leads_to.is_err() || stays, "{leads_to:?} after {results:?}");
        assert!(matches!(results[0], Err(Error::ArchiveRejected { .. })), "{results:?}");
    }
}

#[test]
fn a_link_may_go_up_from_a_directory_that_no_archive_can_replace() {
    let scratch = Scratch::unconfined();
    let archive = [Packed::file("lib/file", "x"), Packed::link("again", "lib/../lib/file")];
    extract(&scratch, "to", &pack(&archive)).unwrap();
    assert_eq!(scratch.read("to/again"), "x");
    let replacing = extract(&scratch, "to", &pack(&[Packed::link("lib", ".")]));
    assert!(matches!(replacing, Err(Error::ArchiveRejected { .. })), "{replacing:?}");
}

#[test]
fn names_through_a_link_that_leaves_are_refused() {
    for target in ["..", "../outside", "/tmp", "/"] {
        let entries = [Packed::link("link", target), Packed::file("link/x", "x")];
        assert_eq!(assert_refused(&entries, "link/x"), RejectReason::ThroughLink, "{target}");
        let entries = [Packed::link("link", target), Packed::directory("link/x", 0o777)];
        assert_eq!(assert_refused(&entries, "link/x"), RejectReason::ThroughLink, "{target}");
        let entries = [Packed::file("a", ""), Packed::link("link", target), Packed::hard_link("link/x", "a")];
        assert_eq!(assert_refused(&entries, "link/x"), RejectReason::ThroughLink, "{target}");
    }
}

#[test]
fn names_through_an_existing_link_are_refused() {
    let entries = [Packed::file("to-outside/x", "x")];
    assert_eq!(assert_refused(&entries, "to-outside"), RejectReason::ThroughLink);
    let entries = [Packed::file("was-link/x", "x")];
    assert_eq!(assert_refused(&entries, "was-link"), RejectReason::ThroughLink);
}

#[test]
fn hard_links_out_of_the_tree_are_refused() {
    for target in
        ["../outside/secret", "/etc/passwd", "missing", "full", "to-outside/secret", "to-outside", ""]
    {
        let entries = [Packed::hard_link("twin", target)];
        let reason = assert_refused(&entries, "twin");
        assert_eq!(reason, RejectReason::HardLinkOutside { target: target.into() });
    }
    let entries = [Packed::link("link", "../outside"), Packed::hard_link("twin", "link/secret")];
    assert!(matches!(assert_refused(&entries, "twin"), RejectReason::HardLinkOutside { .. }));
}

#[test]
fn devices_fifos_sparse_files_and_unknown_types_are_refused() {
    let of = |kind: u8| assert_refused(&[Packed::new(kind, "node", "", b"")], "node");
    assert_eq!((of(b'3'), of(b'4')), (RejectReason::Device, RejectReason::Device));
    assert_eq!((of(b'6'), of(b'S')), (RejectReason::Fifo, RejectReason::Sparse));
    assert_eq!((of(b'D'), of(b'?')), (RejectReason::UnknownType('D'), RejectReason::UnknownType('?')));
    let sparse = Packed::new(b'x', "pax", "", &pax(&[("GNU.sparse.major", "1")]));
    assert_eq!(assert_refused(&[sparse, Packed::file("node", "")], "node"), RejectReason::Sparse);
}

#[test]
fn entries_that_cannot_be_replaced_are_a_conflict() {
    let conflict = RejectReason::Conflict { found: "a directory" };
    assert_eq!(assert_refused(&[Packed::file("new", ""), Packed::file("full", "x")], "full"), conflict);
    assert_eq!(assert_refused(&[Packed::link("full", "there")], "full"), conflict);
    assert_eq!(assert_refused(&[Packed::file("a/b", ""), Packed::file("a", "")], "a"), conflict);
    assert_eq!(assert_refused(&[Packed::file("there/x", "")], "there"), RejectReason::ThroughFile);
    assert_eq!(
        assert_refused(&[Packed::file("a", ""), Packed::file("a/b", "")], "a/b"),
        RejectReason::ThroughFile
    );
}

/// The reason why bytes that are not a complete archive are refused.
fn refused_bytes(bytes: &[u8]) -> RejectReason {
    let scratch = Scratch::unconfined();
    scratch.file("to/there", "there");
    let before = scratch.snapshot();
    let error = extract(&scratch, "to", bytes).unwrap_err();
    assert_eq!(scratch.snapshot(), before);
    match error {
        Error::ArchiveRejected { reason, .. } => reason,
        error => panic!("{error:?}"),
    }
}

#[test]
fn archives_truncated_anywhere_are_refused() {
    let archive = pack(&[Packed::file("a", &"x".repeat(700)), Packed::file("b", "y")]);
    // A complete archive has at least one block of zeros after the entries.
    let whole = archive.len() - 1024 + 512;
    // Truncate around every block boundary, and at a few places in between.
    let near = |end: &usize| (end + 1) % 512 <= 2 || end.is_multiple_of(97);
    for end in (0..whole).filter(near) {
        let expected =
            if (1..512).contains(&end) { RejectReason::NotAnArchive } else { RejectReason::Truncated };
        assert_eq!(refused_bytes(&archive[..end]), expected, "cut at {end}");
    }
    assert!(extract(&Scratch::unconfined(), "to", &archive[..whole]).is_ok());
}

#[test]
fn garbage_and_damaged_archives_have_different_reasons() {
    assert_eq!(refused_bytes(&[b'x'; 5000]), RejectReason::NotAnArchive);
    assert_eq!(refused_bytes(b"short"), RejectReason::NotAnArchive);
    let mut archive = pack(&[Packed::file("a", ""), Packed::file("b", "")]);
    archive[512] ^= 1;
    assert_eq!(refused_bytes(&archive), RejectReason::BadHeader);
    let broken = Packed::new(b'x', "pax", "", b"99 path=x\n");
    assert_eq!(refused_bytes(&pack(&[broken, Packed::file("a", "")])), RejectReason::BadHeader);
}

#[test]
fn extended_headers_are_limited_in_size_and_number() {
    let huge = Packed::new(b'L', "././@LongLink", "", &vec![b'x'; 2 << 20]);
    assert_eq!(refused_bytes(&pack(&[huge, Packed::file("a", "")])), RejectReason::ExtensionTooLarge);
    let many: Vec<_> = (0..1000).map(|_| Packed::new(b'g', "global", "", b"")).collect();
    assert_eq!(refused_bytes(&pack(&many)), RejectReason::ExtensionTooLarge);
    let deep = Packed::new(b'L', "././@LongLink", "", "d/".repeat(4000).as_bytes());
    assert_eq!(refused_bytes(&pack(&[deep, Packed::file("a", "")])), RejectReason::BadName);
}

/// A reader that generates an archive by repeating a block.
struct Repeated {
    block: Vec<u8>,
    position: usize,
    left: u64,
    served: u64,
}

impl Repeated {
    fn new(block: Vec<u8>, times: u64) -> Self {
        Self { block, position: 0, left: times, served: 0 }
    }
}

impl Read for &mut Repeated {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 {
            return Ok(0);
        }
        let rest = &self.block[self.position..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.position += count;
        if self.position == self.block.len() {
            self.position = 0;
            self.left -= 1;
            self.served += 1;
        }
        Ok(count)
    }
}

#[test]
fn a_million_empty_entries_are_refused_at_the_limit() {
    let scratch = Scratch::unconfined();
    scratch.file("to/there", "there");
    let before = scratch.snapshot();
    let mut block = Vec::new();
    Packed::file("same", "").append_to(&mut block);
    let mut source = Repeated::new(block, 1_000_000);
    let limits = ArchiveLimits { max_bytes: None, max_entries: Some(10_000) };
    let result = scratch.service.extract_archive(&path("to"), ArchiveFormat::Tar, limits, &mut source);
    assert!(matches!(result, Err(Error::TooManyEntries { limit: 10_000 })), "{result:?}");
    assert!(source.served < 12_000, "reading continued past the limit: {}", source.served);
    assert_eq!(scratch.snapshot(), before);
}

#[test]
fn implied_directories_count_against_the_limit() {
    let scratch = Scratch::unconfined();
    let entries: Vec<_> =
        (0..10).map(|number| Packed::file(&format!("{number}/d/d/d/d/d/d/d/d/f"), "")).collect();
    let limits = ArchiveLimits { max_bytes: None, max_entries: Some(50) };
    let archive = pack(&entries);
    let result = scratch.service.extract_archive(&path("."), ArchiveFormat::Tar, limits, archive.as_slice());
    assert!(matches!(result, Err(Error::TooManyEntries { .. })), "{result:?}");
    assert_eq!(scratch.snapshot(), BTreeMap::new());
}

#[test]
fn a_decompression_bomb_is_refused_by_its_declared_size() {
    let scratch = Scratch::unconfined();
    let limits = ArchiveLimits { max_bytes: Some(1 << 20), max_entries: None };
    // A gigabyte of zeros is a megabyte of gzip.
    let mut header = Packed::file("zeros", "").header();
    header.set_size(1 << 30);
    header.set_cksum();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, header.as_bytes()).unwrap();
    std::io::copy(&mut std::io::repeat(0).take(8 << 20), &mut gzip).unwrap();
    let bomb = gzip.finish().unwrap();
    let result = scratch.service.extract_archive(&path("."), ArchiveFormat::TarGzip, limits, bomb.as_slice());
    assert!(matches!(result, Err(Error::TooLarge { limit: 1_048_576 })), "{result:?}");
    // The sizes of many small files are added up.
    let mut block = Vec::new();
    Packed::file("a", &"x".repeat(1000)).append_to(&mut block);
    let mut source = Repeated::new(block, 10_000);
    let result = scratch.service.extract_archive(&path("."), ArchiveFormat::Tar, limits, &mut source);
    assert!(matches!(result, Err(Error::TooLarge { .. })), "{result:?}");
    assert!(source.served < 1500, "reading continued past the limit: {}", source.served);
    assert_eq!(scratch.snapshot(), BTreeMap::new());
}

/// Encodes pax records, each with its length prefix.
fn pax(records: &[(&str, &str)]) -> Vec<u8> {
    let mut data = Vec::new();
    for (key, value) in records {
        let rest = key.len() + value.len() + 3;
        let mut length = rest;
        while length != rest + length.to_string().len() {
            length = rest + length.to_string().len();
        }
        data.extend(format!("{length} {key}={value}\n").into_bytes());
    }
    data
}
