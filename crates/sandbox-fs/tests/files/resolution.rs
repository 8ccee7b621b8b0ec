//! Path resolution, compared with a component-by-component walk in the test itself, with and without
//! confinement, with and without `openat2`.

use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sandbox_fs::{Error, FileService, Root, UserPath};

use crate::support::{OPENAT2, Rules, Scratch, deny, in_child, path};

/// The result of resolving a path one component at a time.
#[derive(Debug, PartialEq)]
enum Resolved {
    To(u64),
    Nowhere,
    Outside,
}

/// Resolves `path` below `root` like a kernel that cannot leave it; the last name is not followed.
fn walk(root: &Path, path: &Path) -> Resolved {
    let mut ahead: Vec<PathBuf> =
        path.components().rev().map(|component| PathBuf::from(component.as_os_str())).collect();
    let mut reached: Vec<PathBuf> = Vec::new();
    let mut hops = 0;
    let here = |reached: &[PathBuf]| root.join(reached.iter().collect::<PathBuf>());
    while let Some(component) = ahead.pop() {
        if !here(&reached).symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Resolved::Nowhere;
        }
        match component.components().next() {
            Some(Component::ParentDir) => {
                if reached.pop().is_none() {
                    return Resolved::Outside;
                }
            }
            Some(Component::CurDir) | None => {}
            Some(Component::RootDir | Component::Prefix(_)) => return Resolved::Outside,
            Some(Component::Normal(name)) => {
                reached.push(name.into());
                let target = here(&reached).read_link();
                if let (Ok(target), false) = (target, ahead.is_empty()) {
                    hops += 1;
                    if hops > 40 {
                        return Resolved::Nowhere;
                    }
                    reached.pop();
                    ahead.extend(target.components().rev().map(|part| PathBuf::from(part.as_os_str())));
                }
            }
        }
    }
    here(&reached).symlink_metadata().map_or(Resolved::Nowhere, |metadata| Resolved::To(metadata.ino()))
}

fn resolve(scratch: &Scratch, name: &Path) -> Resolved {
    match scratch.service.stat(&path(name)) {
        // The tag begins with the inode, which is all that this test needs.
        Ok((_, metadata)) => {
            let text = metadata.etag.to_string();
            let inode = text.trim_start_matches('"').split('-').next().unwrap().to_owned();
            Resolved::To(u64::from_str_radix(&inode, 16).unwrap())
        }
        Err(Error::NotFound { .. } | Error::WrongKind { .. }) => Resolved::Nowhere,
        Err(Error::OutsideRoot { .. }) => Resolved::Outside,
        Err(error) => panic!("{name:?}: {error:?}"),
    }
}

fn populate(scratch: &Scratch) {
    scratch.file("a/b/f", "deep");
    scratch.file("f", "top");
    scratch.directory("c");
    scratch.link("to-b", "a/b");
    scratch.link("a/b/up", "..");
    scratch.link("far-up", "a/b/up/../..");
    scratch.link("inner", "c/../a/./b");
    scratch.link("loop", "loop/x");
    scratch.link("out", "../outside");
    scratch.link("absolute", &scratch.outside);
}

fn any_path() -> impl Strategy<Value = PathBuf> {
    let name = prop::sample::select(vec![
        "a", "b", "c", "f", "up", "far-up", "to-b", "inner", "loop", "out", "absolute", "..", ".", "secret",
        "missing",
    ]);
    let last = prop::sample::select(vec!["a", "b", "f", "up", "to-b", "out", "..", "secret", "missing"]);
    (prop::collection::vec(name, 0..6), last)
        .prop_map(|(names, last)| names.into_iter().chain([last]).collect())
}

/// Every path leads to the same entry as the test's own walk, or is refused if that leaves the root.
fn confined_paths_agree_with_a_walk() {
    let scratch = Scratch::confined();
    populate(&scratch);
    TestRunner::new(Config::with_cases(2000))
        .run(&any_path(), |name| {
            prop_assert_eq!(resolve(&scratch, &name), walk(&scratch.workspace, &name), "{:?}", name);
            // An absolute spelling of the same path has the same result.
            prop_assert_eq!(
                resolve(&scratch, &scratch.workspace.join(&name)),
                walk(&scratch.workspace, &name)
            );
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_confined_path_resolves_like_its_components_and_never_outside() {
    confined_paths_agree_with_a_walk();
}

#[test]
fn confined_paths_are_resolved_where_openat2_is_missing() {
    in_child("resolution::confined_paths_are_resolved_where_openat2_is_missing", Rules::Same, || {
        deny(OPENAT2, rustix::io::Errno::NOSYS);
        confined_paths_agree_with_a_walk();
    });
}

#[test]
fn confined_paths_are_resolved_where_openat2_is_denied() {
    in_child("resolution::confined_paths_are_resolved_where_openat2_is_denied", Rules::Same, || {
        deny(OPENAT2, rustix::io::Errno::PERM);
        confined_paths_agree_with_a_walk();
    });
}

#[test]
fn an_unconfined_path_leads_where_the_kernel_resolves_it() {
    let scratch = Scratch::unconfined();
    populate(&scratch);
    TestRunner::new(Config::with_cases(1000))
        .run(&any_path(), |name| {
            let kernel = scratch.workspace.join(&name).symlink_metadata();
            prop_assert_eq!(
                resolve(&scratch, &name),
                kernel.map_or(Resolved::Nowhere, |found| Resolved::To(found.ino()))
            );
            Ok(())
        })
        .unwrap();
}

#[test]
fn any_bytes_without_nul_are_a_valid_path() {
    let scratch = Scratch::confined();
    TestRunner::new(Config::with_cases(500))
        .run(&prop::collection::vec(any::<u8>(), 0..40), |bytes| {
            let name: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(bytes.clone());
            match UserPath::parse(name) {
                Err(Error::BadName { .. }) => prop_assert!(bytes.is_empty() || bytes.contains(&0)),
                Err(error) => panic!("{error:?}"),
                Ok(path) => drop(scratch.service.stat(&path)),
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn relative_paths_start_in_the_workspace_even_deep_below_the_root() {
    let scratch = Scratch::unconfined();
    scratch.file("project/src/file", "here");
    scratch.file("shared", "beside");
    let workspace = scratch.at("project/src");
    let service = FileService::open(&Root::Confined { root: scratch.workspace.clone(), workspace }).unwrap();
    assert_eq!(service.workspace(), scratch.at("project/src"));
    assert_eq!(service.stat(&path("file")).unwrap().0, scratch.at("project/src/file"));
    assert_eq!(service.stat(&path("../../shared")).unwrap().1.size, 6);
    assert_eq!(service.stat(&path(scratch.at("shared"))).unwrap().1.size, 6);
    assert!(matches!(service.stat(&path("../../..")), Err(Error::OutsideRoot { .. })));
    assert!(matches!(service.stat(&path("/etc/passwd")), Err(Error::OutsideRoot { .. })));
    assert!(matches!(service.stat(&path(&scratch.outside)), Err(Error::OutsideRoot { .. })));
}

#[test]
fn a_root_reached_through_a_link_is_known_by_both_names() {
    let scratch = Scratch::unconfined();
    scratch.file("real/file", "here");
    let alias = scratch.link("alias", "real");
    let service =
        FileService::open(&Root::Confined { root: alias.clone(), workspace: alias.clone() }).unwrap();
    assert_eq!(service.stat(&path("file")).unwrap().0, alias.join("file"));
    assert!(service.stat(&path(alias.join("file"))).is_ok());
    assert!(service.stat(&path(scratch.at("real/file"))).is_ok());
}

#[test]
fn a_missing_workspace_or_one_outside_the_root_is_refused() {
    let scratch = Scratch::unconfined();
    let open = |root: &Path, workspace: &Path| {
        FileService::open(&Root::Confined { root: root.into(), workspace: workspace.into() })
    };
    assert!(matches!(open(&scratch.workspace, &scratch.outside), Err(Error::OutsideRoot { .. })));
    assert!(matches!(open(&scratch.workspace, &scratch.at("missing")), Err(Error::NotFound { .. })));
    let file = scratch.file("file", "");
    let unconfined = FileService::open(&Root::Unconfined { workspace: file });
    assert!(matches!(unconfined, Err(Error::WrongKind { .. })));
}
