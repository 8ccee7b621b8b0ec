//! Watches on systems other than Linux, which take watches only by path. The caller resolves the path inside
//! the root first, and checks it again after the watch is set.

use std::path::Path;

use notify::{Config, ErrorKind, Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::Watched;
use crate::entries::Depth;
use crate::error::{Error, Result};

/// A running watch, which ends when this value is dropped.
#[derive(Debug)]
pub(super) struct SystemWatcher {
    _system: RecommendedWatcher,
}

impl SystemWatcher {
    pub(super) fn start(
        watched: Watched,
        mut handler: impl FnMut(notify::Result<Event>) + Send + 'static,
    ) -> Result<Self> {
        let Watched { top: _, shown, real, depth } = watched;
        let (prefix, asked_for) = (real.clone(), shown.clone());
        let translated = move |event: notify::Result<Event>| {
            handler(event.map(|mut event| {
                for path in &mut event.paths {
                    if let Ok(below) = path.strip_prefix(&prefix) {
                        *path = asked_for.join(below).components().collect();
                    }
                }
                event
            }));
        };
        let failed = |error: notify::Error| explain(error, &shown);
        let config = Config::default().with_follow_symlinks(false);
        let mut system = RecommendedWatcher::new(translated, config).map_err(failed)?;
        let mode = match depth {
            Depth::Children => RecursiveMode::NonRecursive,
            Depth::Recursive => RecursiveMode::Recursive,
        };
        system.watch(&real, mode).map_err(failed)?;
        Ok(Self { _system: system })
    }
}

fn explain(error: notify::Error, shown: &Path) -> Error {
    let path = shown.to_path_buf();
    match error.kind {
        ErrorKind::MaxFilesWatch => Error::WatchLimit { path },
        ErrorKind::PathNotFound => Error::NotFound { path },
        ErrorKind::Io(source) => Error::at(shown, source),
        other => Error::Io { path, source: std::io::Error::other(notify::Error::new(other)) },
    }
}
