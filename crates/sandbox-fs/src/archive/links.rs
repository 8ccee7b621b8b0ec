//! Checks whether symbolic links stay inside the target. No I/O: the caller passes the links.
//!
//! A link is checked at its final location and together with all other links of the archive, because a chain of
//! links that are harmless one by one can lead outside: `up -> ..` below two directories, then `out ->
//! a/b/up/../..`.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// The kernel's limit on followed links: a longer chain leads nowhere, so it does not lead outside.
const LINK_HOPS: usize = 40;

/// Whether the link at `link` with this `target` stays inside.
///
/// `links` are all links of the archive by their path. `is_foreign_link` returns whether a name that existed
/// before is a link. The target of such a link is unknown, so going up from it counts as leaving.
pub(super) fn stays_inside(
    link: &Path,
    target: &Path,
    links: &HashMap<PathBuf, PathBuf>,
    mut is_foreign_link: impl FnMut(&Path) -> bool,
) -> bool {
    let mut reached = link.parent().map(Path::to_path_buf).unwrap_or_default();
    // The remaining components, the next one last.
    let mut ahead: Vec<Step> = Vec::new();
    if !push_steps(&mut ahead, target) {
        return false;
    }
    let mut hops = 0;
    while let Some(step) = ahead.pop() {
        match step {
            Step::Up => {
                if !reached.pop() {
                    return false;
                }
            }
            Step::Down(name) => {
                reached.push(name);
                if let Some(next) = links.get(&reached) {
                    hops += 1;
                    if hops > LINK_HOPS {
                        return true;
                    }
                    reached.pop();
                    if !push_steps(&mut ahead, next) {
                        return false;
                    }
                } else if ahead.iter().any(|step| matches!(step, Step::Up)) && is_foreign_link(&reached) {
                    return false;
                }
            }
        }
    }
    true
}

enum Step {
    Up,
    Down(OsString),
}

/// False for an absolute target.
fn push_steps(ahead: &mut Vec<Step>, target: &Path) -> bool {
    for component in target.components().rev() {
        match component {
            Component::Normal(name) => ahead.push(Step::Down(name.to_os_string())),
            Component::ParentDir => ahead.push(Step::Up),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(all: &[(&str, &str)], link: &str) -> bool {
        let links: HashMap<PathBuf, PathBuf> =
            all.iter().map(|(name, target)| (PathBuf::from(name), PathBuf::from(target))).collect();
        stays_inside(Path::new(link), &links[Path::new(link)], &links, |_| false)
    }

    #[test]
    fn links_inside_the_tree_stay_inside() {
        assert!(inside(&[("a", "b")], "a"));
        assert!(inside(&[("d/e/a", "../../b")], "d/e/a"));
        assert!(inside(&[("a", "missing/./x")], "a"));
        assert!(inside(&[("a", "d/../b")], "a"));
        assert!(inside(&[("a", "b"), ("b", "a")], "a"), "a loop leads nowhere");
    }

    #[test]
    fn links_out_of_the_tree_leave_it() {
        assert!(!inside(&[("a", "..")], "a"));
        assert!(!inside(&[("a", "/etc/passwd")], "a"));
        assert!(!inside(&[("d/a", "../../x")], "d/a"));
        assert!(!inside(&[("a", "d/../../x")], "a"));
    }

    #[test]
    fn a_chain_of_harmless_looking_links_does_not_climb_out() {
        let chain = [("a/b/up", ".."), ("out", "a/b/up/../..")];
        assert!(inside(&chain, "a/b/up"));
        assert!(!inside(&chain, "out"));
    }

    #[test]
    fn going_up_from_an_existing_link_counts_as_leaving() {
        let links = HashMap::new();
        let foreign = |path: &Path| path == Path::new("there");
        assert!(!stays_inside(Path::new("a"), Path::new("there/../x"), &links, foreign));
        assert!(stays_inside(Path::new("a"), Path::new("there/x"), &links, foreign));
    }
}
