//! Random operations on a random tree, checked against a model after each one: no content disappears unless an
//! operation removes it, and a refused operation changes nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use sandbox_fs::{Overwrite, Recursion};

use crate::support::{Scratch, path};

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    File(String),
    Directory,
    Link,
}

#[derive(Debug, Clone)]
enum Operation {
    Move(PathBuf, PathBuf, Overwrite),
    Put(PathBuf),
    MakeDirectory(PathBuf),
    MakeLink(PathBuf),
    Remove(PathBuf, Recursion),
}

/// The expected tree.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Model(BTreeMap<PathBuf, Node>);

impl Model {
    fn is_directory(&self, path: &Path) -> bool {
        path.as_os_str().is_empty() || self.0.get(path) == Some(&Node::Directory)
    }

    fn has_place(&self, path: &Path) -> bool {
        path.parent().is_some_and(|parent| self.is_directory(parent))
    }

    fn take(&mut self, top: &Path) -> BTreeMap<PathBuf, Node> {
        let (taken, left) =
            std::mem::take(&mut self.0).into_iter().partition(|(path, _)| path.starts_with(top));
        self.0 = left;
        taken
    }

    /// Applies a move to the model; returns whether it succeeds.
    fn move_entry(&mut self, from: &Path, to: &Path, overwrite: Overwrite) -> bool {
        let Some(source) = self.0.get(from).cloned() else { return false };
        if !self.has_place(to) {
            return false;
        }
        if from == to {
            return true;
        }
        if to.starts_with(from) {
            return false;
        }
        if let Some(target) = self.0.get(to) {
            let kinds = (source == Node::Directory, *target == Node::Directory);
            if overwrite == Overwrite::Refuse || from.starts_with(to) || kinds.0 != kinds.1 {
                return false;
            }
        }
        self.take(to);
        for (path, node) in self.take(from) {
            // Joining an empty path would add a trailing slash.
            let rest = path.strip_prefix(from).unwrap();
            let new = if rest.as_os_str().is_empty() { to.to_path_buf() } else { to.join(rest) };
            self.0.insert(new, node);
        }
        true
    }

    /// Creates the missing parents of a path, unless a non-directory is among them.
    fn make_parents(&mut self, path: &Path) -> bool {
        let above: Vec<&Path> =
            path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).collect();
        if above.iter().any(|above| self.0.get(*above).is_some_and(|node| *node != Node::Directory)) {
            return false;
        }
        for above in above {
            self.0.insert(above.to_path_buf(), Node::Directory);
        }
        true
    }

    fn apply(&mut self, operation: &Operation, contents: &str) -> bool {
        match operation {
            Operation::Move(from, to, overwrite) => self.move_entry(from, to, *overwrite),
            Operation::Put(path) => {
                if matches!(self.0.get(path), Some(Node::Directory | Node::Link))
                    || !self.clone().make_parents(path)
                {
                    return false;
                }
                self.make_parents(path);
                self.0.insert(path.clone(), Node::File(contents.to_owned()));
                true
            }
            Operation::MakeDirectory(path) => {
                let blocked = self.0.get(path).is_some_and(|node| *node != Node::Directory);
                if blocked || !self.clone().make_parents(path) {
                    return false;
                }
                self.make_parents(path);
                self.0.insert(path.clone(), Node::Directory);
                true
            }
            Operation::MakeLink(path) => {
                let free = self.has_place(path) && !self.0.contains_key(path);
                if free {
                    self.0.insert(path.clone(), Node::Link);
                }
                free
            }
            Operation::Remove(path, recursion) => {
                let full = self.0.keys().any(|other| other != path && other.starts_with(path));
                if !self.0.contains_key(path) || (full && *recursion == Recursion::Single) {
                    return false;
                }
                self.take(path);
                true
            }
        }
    }
}

fn perform(scratch: &Scratch, operation: &Operation, contents: &str) -> bool {
    let service = &scratch.service;
    match operation {
        Operation::Move(from, to, overwrite) => {
            service.move_entry(&path(from), &path(to), *overwrite).is_ok()
        }
        Operation::Put(name) => scratch.put(name.to_str().unwrap(), contents).is_ok(),
        Operation::MakeDirectory(name) => service.make_directory(&path(name)).is_ok(),
        // A dangling link, so that nothing can be written through it.
        Operation::MakeLink(name) => {
            std::os::unix::fs::symlink("no/where", scratch.at(name.to_str().unwrap())).is_ok()
        }
        Operation::Remove(name, recursion) => service.remove(&path(name), *recursion).is_ok(),
    }
}

fn found(scratch: &Scratch) -> Model {
    let nodes = scratch.snapshot().into_iter().map(|(path, described)| {
        let node = match described.split_once('"') {
            Some((_, contents)) => Node::File(contents.trim_end_matches('"').to_owned()),
            None if described.starts_with("directory") => Node::Directory,
            None => Node::Link,
        };
        (path, node)
    });
    Model(nodes.collect())
}

fn any_path() -> impl Strategy<Value = PathBuf> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 1..4)
        .prop_map(|names| names.into_iter().collect())
}

fn any_operation() -> impl Strategy<Value = Operation> {
    let overwrite = prop::sample::select(vec![Overwrite::Refuse, Overwrite::Replace]);
    let recursion = prop::sample::select(vec![Recursion::Single, Recursion::Recursive]);
    prop_oneof![
        6 => (any_path(), any_path(), overwrite).prop_map(|(from, to, how)| Operation::Move(from, to, how)),
        4 => any_path().prop_map(Operation::Put),
        2 => any_path().prop_map(Operation::MakeDirectory),
        1 => any_path().prop_map(Operation::MakeLink),
        1 => (any_path(), recursion).prop_map(|(path, how)| Operation::Remove(path, how)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]
    #[test]
    fn no_content_ever_disappears(
        confined in any::<bool>(),
        operations in prop::collection::vec(any_operation(), 1..40),
    ) {
        let scratch = if confined { Scratch::confined() } else { Scratch::unconfined() };
        let mut model = Model::default();
        for (number, operation) in operations.iter().enumerate() {
            let contents = format!("contents {number}");
            let expected = model.apply(operation, &contents);
            let happened = perform(&scratch, operation, &contents);
            prop_assert_eq!(happened, expected, "{:?}", operation);
            prop_assert_eq!(&found(&scratch), &model, "after {:?}", operation);
        }
    }
}
