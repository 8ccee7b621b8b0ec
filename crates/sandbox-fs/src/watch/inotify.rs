//! Linux's inotify, with watches set on open directories instead of on paths.
//!
//! The system takes watches by path, and a link could redirect a path between two uses. So every directory is
//! opened first, component by component below the watched one, without following links, and its watch is set
//! through `/proc/self/fd`. If the process may not read that, it uses the path, does not follow a link in the
//! last component, and checks before and after that the path leads to the opened directory.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use notify::event::{CreateKind, DataChange, Flag, MetadataKind, ModifyKind, RemoveKind, RenameMode};
use notify::{Event, EventKind};
use rustix::event::{EventfdFlags, PollFd, PollFlags};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{AtFlags, CWD};
use rustix::io::Errno;

use super::Watched;
use crate::entries::Depth;
use crate::error::{At, Error, Result};
use crate::sys;

/// How long a directory that was moved away stays watched, in case it was only renamed inside the tree.
const RENAME_WAIT: Duration = Duration::from_millis(100);
const BUFFER_BYTES: usize = 64 << 10;

type Handler = Box<dyn FnMut(notify::Result<Event>) + Send>;

/// A running watch, which ends when this value is dropped.
#[derive(Debug)]
pub(super) struct SystemWatcher {
    stop: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

impl SystemWatcher {
    pub(super) fn start(
        watched: Watched,
        handler: impl FnMut(notify::Result<Event>) + Send + 'static,
    ) -> Result<Self> {
        let shown = watched.shown.clone();
        let failed = |error| explain(error, &shown);
        let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(failed)?;
        let stop = rustix::event::eventfd(0, EventfdFlags::CLOEXEC).map_err(failed)?;
        let stopped = rustix::io::fcntl_dupfd_cloexec(&stop, 0).map_err(failed)?;
        let access = Access::of(&watched.top);
        let handler = Box::new(handler);
        let mut watches = Watches { queue, watched, access, paths: HashMap::new(), leaving: None, handler };
        watches.watch_top()?;
        let name = "file-watch".to_owned();
        let thread =
            std::thread::Builder::new().name(name).spawn(move || watches.run(&stopped)).at(&shown)?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for SystemWatcher {
    fn drop(&mut self) {
        let written = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
        if let (Ok(_), Some(thread)) = (written, self.thread.take()) {
            let _ = thread.join();
        }
    }
}

/// How a directory is passed to the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Handles,
    Paths,
}

impl Access {
    fn of(top: &OwnedFd) -> Self {
        let through = rustix::fs::statat(CWD, handle_path(top), AtFlags::empty());
        let itself = rustix::fs::fstat(top);
        match (through, itself) {
            (Ok(through), Ok(itself))
                if through.st_ino == itself.st_ino && through.st_dev == itself.st_dev =>
            {
                Self::Handles
            }
            _ => Self::Paths,
        }
    }
}

struct Watches {
    queue: OwnedFd,
    watched: Watched,
    access: Access,
    /// The path of each watch's directory, relative to the watched directory.
    paths: HashMap<i32, PathBuf>,
    /// The first half of a rename, until the second half arrives.
    leaving: Option<Leaving>,
    handler: Handler,
}

struct Leaving {
    cookie: u32,
    path: PathBuf,
    is_directory: bool,
    since: Instant,
}

/// A notification, copied from the buffer.
struct Notification {
    watch: i32,
    flags: ReadFlags,
    cookie: u32,
    name: Option<OsString>,
}

impl Watches {
    fn watch_top(&mut self) -> Result<()> {
        let shown = self.watched.shown.clone();
        let top = rustix::io::fcntl_dupfd_cloexec(&self.watched.top, 0).at(&shown)?;
        self.add(&top, PathBuf::new()).map_err(|error| explain(error, &shown))?;
        let is_directory = sys::stat_handle(&top).at(&shown)?.is_directory();
        if is_directory && self.watched.depth == Depth::Recursive {
            self.add_below(Path::new("")).map_err(|error| explain(error, &shown))?;
        }
        Ok(())
    }

    /// Watches every directory below a watched one. Skips directories that are unreadable, removed or replaced in
    /// the meantime, and the staging folders of archives.
    fn add_below(&mut self, top: &Path) -> rustix::io::Result<()> {
        let mut ahead = vec![top.to_path_buf()];
        while let Some(path) = ahead.pop() {
            let Some(directory) = present(sys::open_below(&self.watched.top, &path))? else { continue };
            let Some(names) = present(sys::names(&directory))? else { continue };
            for name in names {
                let Some(name) = present(name)?.filter(|name| !sys::is_temporary(name)) else { continue };
                let Some(inner) = present(sys::open_directory(&directory, &name))? else { continue };
                let path = path.join(name);
                if present(self.add(&inner, path.clone()))?.is_some() {
                    ahead.push(path);
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, directory: &OwnedFd, path: PathBuf) -> rustix::io::Result<()> {
        let flags = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF;
        let watch = match self.access {
            Access::Handles => inotify::add_watch(&self.queue, handle_path(directory), flags)?,
            Access::Paths => {
                let named: PathBuf = self.watched.real.join(&path).components().collect();
                let is_same = || -> rustix::io::Result<bool> {
                    let found = rustix::fs::statat(CWD, &named, AtFlags::SYMLINK_NOFOLLOW)?;
                    let opened = rustix::fs::fstat(directory)?;
                    Ok(found.st_ino == opened.st_ino && found.st_dev == opened.st_dev)
                };
                if !is_same()? {
                    return Err(Errno::STALE);
                }
                let watch = inotify::add_watch(&self.queue, &named, flags | WatchFlags::DONT_FOLLOW)?;
                if !is_same()? {
                    let _ = inotify::remove_watch(&self.queue, watch);
                    return Err(Errno::STALE);
                }
                watch
            }
        };
        self.paths.insert(watch, path);
        Ok(())
    }

    fn run(mut self, stopped: &OwnedFd) {
        let wait = rustix::event::Timespec::try_from(RENAME_WAIT).ok();
        loop {
            if self.leaving.as_ref().is_some_and(|leaving| leaving.since.elapsed() >= RENAME_WAIT) {
                self.settle_leaving();
            }
            let timeout = wait.as_ref().filter(|_| self.leaving.is_some());
            let mut ready = [PollFd::new(&self.queue, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
            let polled = rustix::event::poll(&mut ready, timeout);
            let is_stopped = !ready[1].revents().is_empty();
            match polled {
                Err(Errno::INTR) => {}
                Err(_) => return,
                Ok(_) if is_stopped => return,
                Ok(_) => {
                    for notification in self.read() {
                        self.take(notification);
                    }
                }
            }
        }
    }

    fn read(&self) -> Vec<Notification> {
        let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
        let mut reader = Reader::new(&self.queue, &mut buffer);
        let mut found = Vec::new();
        // Read at most one buffer, so that a flood of changes cannot keep this loop running.
        while let Ok(event) = reader.next() {
            found.push(Notification {
                watch: event.wd(),
                flags: event.events(),
                cookie: event.cookie(),
                name: event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()).to_os_string()),
            });
            if reader.is_buffer_empty() {
                break;
            }
        }
        found
    }

    fn take(&mut self, notification: Notification) {
        let Notification { watch, flags, cookie, name } = notification;
        if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            self.tell(Event::new(EventKind::Other).set_flag(Flag::Rescan));
            return;
        }
        if flags.contains(ReadFlags::IGNORED) {
            self.paths.remove(&watch);
            return;
        }
        let Some(directory) = self.paths.get(&watch) else { return };
        let is_top = directory.as_os_str().is_empty();
        let is_directory = flags.contains(ReadFlags::ISDIR);
        let Some(name) = name else {
            // The event is about the watched directory itself. For a directory below, there is also an event
            // from its parent.
            if is_top {
                self.about_top(flags);
            }
            return;
        };
        let path = directory.join(name);
        if flags.contains(ReadFlags::CREATE) {
            let kind = if is_directory { CreateKind::Folder } else { CreateKind::File };
            self.arrived(&path, is_directory);
            self.tell_of(EventKind::Create(kind), &path);
        } else if flags.contains(ReadFlags::DELETE) {
            let kind = if is_directory { RemoveKind::Folder } else { RemoveKind::File };
            self.tell_of(EventKind::Remove(kind), &path);
        } else if flags.contains(ReadFlags::MOVED_FROM) {
            self.settle_leaving();
            self.tell_renamed(RenameMode::From, cookie, &[&path]);
            self.leaving = Some(Leaving { cookie, path, is_directory, since: Instant::now() });
        } else if flags.contains(ReadFlags::MOVED_TO) {
            self.tell_renamed(RenameMode::To, cookie, &[&path]);
            match self.leaving.take_if(|leaving| leaving.cookie == cookie) {
                Some(leaving) => {
                    self.rename(&leaving.path, &path);
                    self.tell_renamed(RenameMode::Both, cookie, &[&leaving.path, &path]);
                }
                None => self.arrived(&path, is_directory),
            }
        } else if flags.contains(ReadFlags::MODIFY) {
            self.tell_of(EventKind::Modify(ModifyKind::Data(DataChange::Any)), &path);
        } else if flags.contains(ReadFlags::ATTRIB) {
            self.tell_of(EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)), &path);
        }
    }

    fn about_top(&mut self, flags: ReadFlags) {
        let top = Path::new("");
        if flags.contains(ReadFlags::DELETE_SELF) {
            self.tell_of(EventKind::Remove(RemoveKind::Any), top);
        } else if flags.contains(ReadFlags::MOVE_SELF) {
            // The directory may now be outside the root, so the watch ends.
            self.tell_of(EventKind::Modify(ModifyKind::Name(RenameMode::From)), top);
            self.forget_below(top);
        } else if flags.contains(ReadFlags::MODIFY) {
            self.tell_of(EventKind::Modify(ModifyKind::Data(DataChange::Any)), top);
        } else if flags.contains(ReadFlags::ATTRIB) {
            self.tell_of(EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)), top);
        }
    }

    /// Watches a new directory and all directories below it.
    fn arrived(&mut self, path: &Path, is_directory: bool) {
        if !is_directory || self.watched.depth != Depth::Recursive {
            return;
        }
        let Some(name) = path.file_name().filter(|name| !sys::is_temporary(name)) else { return };
        let parent = path.parent().unwrap_or(Path::new(""));
        let opened =
            sys::open_below(&self.watched.top, parent).and_then(|parent| sys::open_directory(parent, name));
        // If the directory was removed or replaced in the meantime, further events follow. Any other failure, such
        // as the limit on watches, means that changes are missed.
        let added = present(opened).and_then(|directory| match directory {
            Some(directory) => match present(self.add(&directory, path.to_path_buf()))? {
                Some(()) => self.add_below(path),
                None => Ok(()),
            },
            None => Ok(()),
        });
        if added.is_err() {
            self.tell(Event::new(EventKind::Other).set_flag(Flag::Rescan));
        }
    }

    fn settle_leaving(&mut self) {
        if let Some(leaving) = self.leaving.take()
            && leaving.is_directory
        {
            self.forget_below(&leaving.path);
        }
    }

    fn forget_below(&mut self, path: &Path) {
        let queue = &self.queue;
        self.paths.retain(|watch, watched| {
            let goes = watched.starts_with(path);
            if goes {
                let _ = inotify::remove_watch(queue, *watch);
            }
            !goes
        });
    }

    fn rename(&mut self, from: &Path, to: &Path) {
        for path in self.paths.values_mut() {
            if let Ok(below) = path.strip_prefix(from) {
                *path = to.join(below);
            }
        }
    }

    fn tell(&mut self, event: Event) {
        (self.handler)(Ok(event));
    }

    fn tell_of(&mut self, kind: EventKind, path: &Path) {
        let event = Event::new(kind).add_path(self.shown(path));
        self.tell(event);
    }

    fn tell_renamed(&mut self, mode: RenameMode, cookie: u32, paths: &[&Path]) {
        let event = Event::new(EventKind::Modify(ModifyKind::Name(mode))).set_tracker(cookie as usize);
        let event = paths.iter().fold(event, |event, path| event.add_path(self.shown(path)));
        self.tell(event);
    }

    fn shown(&self, path: &Path) -> PathBuf {
        self.watched.shown.join(path).components().collect()
    }
}

/// `None` for an entry that was removed, is not a directory, or is not readable.
fn present<T>(result: rustix::io::Result<T>) -> rustix::io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::STALE | Errno::ACCESS | Errno::PERM) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn handle_path(handle: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd()))
}

/// The limits on watches and on inotify instances have the error codes of a full disk and of too many open files.
fn explain(error: Errno, shown: &Path) -> Error {
    match error {
        Errno::NOSPC | Errno::MFILE => Error::WatchLimit { path: shown.to_path_buf() },
        Errno::STALE => Error::Changed { path: shown.to_path_buf() },
        other => Error::at(shown, other),
    }
}
