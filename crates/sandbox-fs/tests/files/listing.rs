//! Listings: order, pages, recursion.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use proptest::prelude::*;
use sandbox_fs::{ContinuationToken, Depth, EntriesRequest, Error};

use crate::support::{Scratch, path};

fn pages(scratch: &Scratch, depth: Depth, limit: Option<usize>) -> Vec<Vec<PathBuf>> {
    let mut request = EntriesRequest { depth, limit: limit.and_then(NonZeroUsize::new), after: None };
    let mut pages = Vec::new();
    loop {
        let page = scratch.service.entries(&path("."), &request).unwrap();
        let relative = |entry: &sandbox_fs::Entry| {
            assert_eq!(entry.path.file_name(), Some(entry.name.as_os_str()));
            entry.path.strip_prefix(&scratch.workspace).unwrap().to_path_buf()
        };
        pages.push(page.entries.iter().map(relative).collect());
        let Some(next) = page.next else { return pages };
        request.after = Some(ContinuationToken::parse(&next.to_string()).unwrap());
    }
}

#[test]
fn a_listing_is_sorted_and_shows_kinds_without_following_links() {
    let scratch = Scratch::unconfined();
    scratch.file("b", "12");
    scratch.directory("a");
    scratch.link("c", "/");
    let _socket = std::os::unix::net::UnixListener::bind(scratch.at("d")).unwrap();
    let page = scratch.service.entries(&path("."), &EntriesRequest::default()).unwrap();
    let kinds: Vec<_> = page.entries.iter().map(|entry| entry.metadata.entry_type.as_str()).collect();
    assert_eq!(kinds, ["directory", "file", "symlink", "other"]);
    assert_eq!(page.entries[1].metadata.size, 2);
    assert_eq!(page.next, None);
    let modified = page.entries[1].metadata.modified.to_string();
    assert!(modified.starts_with("20") && modified.ends_with('Z'), "{modified}");
}

#[test]
fn a_directory_comes_before_its_contents_and_links_are_not_entered() {
    let scratch = Scratch::unconfined();
    for name in ["a/x", "a/b/y", "a.txt", "a-c"] {
        scratch.file(name, "");
    }
    scratch.link("z", ".");
    let all = pages(&scratch, Depth::Recursive, None).concat();
    let names: Vec<_> = all.iter().map(|path| path.to_str().unwrap()).collect();
    assert_eq!(names, ["a", "a/b", "a/b/y", "a/x", "a-c", "a.txt", "z"]);
}

#[test]
fn a_link_to_a_directory_is_followed_and_a_non_directory_is_refused() {
    let scratch = Scratch::unconfined();
    scratch.file("real/x", "");
    scratch.link("link", "real");
    let list = |name: &str| scratch.service.entries(&path(name), &EntriesRequest::default());
    assert_eq!(list("link").unwrap().entries[0].path, scratch.at("link/x"));
    assert!(matches!(list("real/x"), Err(Error::WrongKind { .. })));
    assert!(matches!(list("missing"), Err(Error::NotFound { .. })));
}

#[test]
fn a_page_continues_after_the_previous_one_even_if_its_last_entry_is_removed() {
    let scratch = Scratch::unconfined();
    for name in ["a", "b/1", "b/2", "c"] {
        scratch.file(name, "");
    }
    let limit = NonZeroUsize::new(3);
    let first = EntriesRequest { depth: Depth::Recursive, limit, after: None };
    let page = scratch.service.entries(&path("."), &first).unwrap();
    assert_eq!(page.entries[2].path, scratch.at("b/1"));
    std::fs::remove_dir_all(scratch.at("b")).unwrap();
    scratch.file("b0", "");
    let second = EntriesRequest { depth: Depth::Recursive, limit, after: page.next };
    let page = scratch.service.entries(&path("."), &second).unwrap();
    let names: Vec<_> = page.entries.iter().map(|entry| entry.name.to_str().unwrap()).collect();
    assert_eq!(names, ["b0", "c"]);
}

#[test]
fn a_tree_deeper_than_the_open_file_limit_of_a_walk_is_listed_and_removed() {
    let scratch = Scratch::unconfined();
    let deep = ["d"; 200].join("/");
    scratch.file(&format!("{deep}/file"), "");
    let all = pages(&scratch, Depth::Recursive, Some(7)).concat();
    assert_eq!(all.len(), 201);
    assert_eq!(all.last().unwrap(), &PathBuf::from(format!("{deep}/file")));
    scratch.service.remove(&path("d"), sandbox_fs::Recursion::Recursive).unwrap();
    assert!(scratch.snapshot().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]
    #[test]
    fn pages_of_any_size_make_up_the_whole_listing(
        names in prop::collection::btree_set("[ab.]{1,2}(/[ab-]{1,2}){0,3}", 0..24),
        limit in 1_usize..6,
    ) {
        let scratch = Scratch::unconfined();
        for name in &names {
            // Some names are parents of others, and `.` and `..` are not names: those are skipped.
            let usable = name.split('/').all(|part| part != "." && part != "..");
            if usable {
                let _ = std::fs::create_dir_all(scratch.at(name).parent().unwrap());
                let _ = std::fs::write(scratch.at(name), "");
            }
        }
        for depth in [Depth::Children, Depth::Recursive] {
            let whole = pages(&scratch, depth, None).concat();
            let mut sorted = whole.clone();
            sorted.sort();
            prop_assert_eq!(&whole, &sorted);
            let cut = pages(&scratch, depth, Some(limit));
            prop_assert!(cut.iter().all(|page| page.len() <= limit));
            prop_assert!(cut.iter().rev().skip(1).all(|page| page.len() == limit));
            prop_assert_eq!(cut.concat(), whole);
        }
        let recursive = pages(&scratch, Depth::Recursive, None).concat();
        prop_assert_eq!(recursive.len(), scratch.snapshot().len());
    }
}
