//! Listings: sorted, paged, and optionally recursive.
//!
//! The order is that of a walk: names are sorted by their bytes, and a directory comes before its contents. A page
//! needs memory for its own entries only, however many the directory has. Links are listed, not followed.

use std::collections::{BinaryHeap, VecDeque};
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::error::{At, Error, Result};
use crate::metadata::Metadata;
use crate::path::UserPath;
use crate::service::FileService;
use crate::sys;
use crate::token::ContinuationToken;
use crate::walk::Descent;

/// Whether an operation covers a directory's own entries or the whole tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Depth {
    /// The directory's own entries.
    #[default]
    Children,
    /// Everything below it.
    Recursive,
}

/// What to list.
#[derive(Debug, Clone, Default)]
pub struct EntriesRequest {
    /// The directory's own entries, or the whole tree.
    pub depth: Depth,
    /// The maximum number of entries in one page; unlimited by default.
    pub limit: Option<NonZeroUsize>,
    /// Where the previous page ended.
    pub after: Option<ContinuationToken>,
}

/// One entry of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The last component of the entry's path.
    pub name: OsString,
    /// The listed directory's path joined with this entry's relative path.
    pub path: PathBuf,
    /// The metadata of the entry; for a link, those of the link itself.
    pub metadata: Metadata,
}

/// One page of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The entries in order.
    pub entries: Vec<Entry>,
    /// Present if more entries follow.
    pub next: Option<ContinuationToken>,
}

impl FileService {
    /// Lists a directory. A final link is followed. Sub-directories that cannot be read are listed without their
    /// contents; entries that vanish in the meantime are omitted.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::WrongKind`] if it is not a directory, [`Error::PermissionDenied`].
    pub fn entries(&self, path: &UserPath, request: &EntriesRequest) -> Result<Page> {
        let located = self.tree().locate(path)?;
        let directory = self.tree().open_directory(&located.inner).at(&located.shown)?;
        let resume = request.after.iter().flat_map(ContinuationToken::names).collect();
        Lister {
            shown: &located.shown,
            descent: Descent::new(directory),
            relative: PathBuf::new(),
            resume,
            depth: request.depth,
            limit: request.limit.map_or(usize::MAX, NonZeroUsize::get),
            entries: Vec::new(),
        }
        .list()
    }
}

/// The remaining names of one directory.
struct Level {
    names: VecDeque<OsString>,
    /// The last of `names`, if the directory has more names than were kept.
    cut_after: Option<OsString>,
}

struct Lister<'a> {
    shown: &'a Path,
    descent: Descent,
    /// The current directory of `descent`, relative to the listed one.
    relative: PathBuf,
    /// The remaining path components that lead to the previous page's last entry, outermost first.
    resume: VecDeque<OsString>,
    depth: Depth,
    limit: usize,
    entries: Vec<Entry>,
}

impl Lister<'_> {
    fn list(mut self) -> Result<Page> {
        let mut levels = vec![self.read_level(None).at(self.shown)?];
        while let Some(level) = levels.last_mut() {
            let Some(name) = level.names.pop_front() else {
                if let Some(cut_after) = level.cut_after.take() {
                    // Entries vanished from a truncated list, so the rest of the directory is needed.
                    *level = self.read_level(Some(Bound::After(cut_after))).at(self.shown)?;
                    continue;
                }
                levels.pop();
                if !levels.is_empty() && self.descent.leave().is_err() {
                    return Err(Error::Changed { path: self.shown.join(&self.relative) });
                }
                self.relative.pop();
                continue;
            };
            // Entries on the path to the end of the previous page are entered, but not listed again.
            let passed = self.resume.front() == Some(&name);
            if passed {
                self.resume.pop_front();
            } else {
                self.resume.clear();
            }
            let stat = match sys::stat_name(self.descent.current(), &name) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(Error::at(&self.shown.join(&self.relative).join(name), error)),
            };
            let path = self.relative.join(&name);
            if !passed {
                if self.entries.len() == self.limit {
                    return Ok(self.finish_with_more());
                }
                let (name, path) = (name.clone(), self.shown.join(&path));
                self.entries.push(Entry { name, path, metadata: Metadata::of(&stat) });
            }
            if self.depth == Depth::Recursive && stat.is_directory() && self.descent.enter(&name).is_ok() {
                self.relative = path;
                if let Ok(level) = self.read_level(None) {
                    levels.push(level);
                } else {
                    // The directory cannot be read: it is listed without its contents.
                    levels.push(Level { names: VecDeque::new(), cut_after: None });
                }
            }
        }
        Ok(Page { entries: self.entries, next: None })
    }

    fn finish_with_more(self) -> Page {
        let last = self.entries.last().and_then(|entry| entry.path.strip_prefix(self.shown).ok());
        let next = last.map(ContinuationToken::after);
        Page { entries: self.entries, next }
    }

    /// Reads the current directory, starting where the previous page ended if that is in this directory.
    fn read_level(&self, bound: Option<Bound>) -> rustix::io::Result<Level> {
        let bound = bound.or_else(|| self.resume.front().cloned().map(Bound::From));
        // Two more than the page holds: one to learn whether a page follows, one that is entered, not listed.
        let keep = (self.limit - self.entries.len()).saturating_add(2);
        smallest_names(self.descent.current(), bound.as_ref(), keep)
    }
}

/// The first name to read in a directory.
enum Bound {
    From(OsString),
    After(OsString),
}

/// The first `keep` names of a directory in sorted order, using no more memory than that.
fn smallest_names(
    directory: BorrowedFd<'_>,
    bound: Option<&Bound>,
    keep: usize,
) -> rustix::io::Result<Level> {
    let mut kept = BinaryHeap::new();
    let mut cut = false;
    for name in sys::names(directory.as_fd())? {
        let name = name?;
        let wanted = match bound {
            None => true,
            Some(Bound::From(first)) => name >= *first,
            Some(Bound::After(last)) => name > *last,
        };
        // Unfinished uploads are not listed.
        if !wanted || sys::is_temporary(&name) {
            continue;
        }
        kept.push(name);
        if kept.len() > keep {
            kept.pop();
            cut = true;
        }
    }
    let names: VecDeque<OsString> = kept.into_sorted_vec().into();
    let cut_after = if cut { names.back().cloned() } else { None };
    Ok(Level { names, cut_after })
}
