//! The background tasks of a round. Every task has to end before its round ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// The tasks that have not ended, by number.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    open: Mutex<BTreeMap<u64, String>>,
    changed: Condvar,
}

/// Removes a task when it ends, also by a panic.
struct Ended {
    tasks: Arc<Tasks>,
    number: u64,
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.tasks.open.lock().unwrap().remove(&self.number);
        self.tasks.changed.notify_all();
    }
}

impl Tasks {
    pub(crate) fn start(self: &Arc<Self>, number: u64, name: String, run: impl FnOnce() + Send + 'static) {
        self.open.lock().unwrap().insert(number, name);
        let ended = Ended { tasks: Arc::clone(self), number };
        std::thread::spawn(move || {
            let _ended = ended;
            run();
        });
    }

    pub(crate) fn count(&self) -> usize {
        self.open.lock().unwrap().len()
    }

    /// Waits until all tasks have ended. Returns the names of those that have not.
    pub(crate) fn wait(&self, limit: Duration) -> Vec<String> {
        let deadline = Instant::now() + limit;
        let mut open = self.open.lock().unwrap();
        while !open.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            open = self.changed.wait_timeout(open, left).unwrap().0;
        }
        open.values().cloned().collect()
    }
}

#[test]
fn a_task_that_does_not_end_is_named() {
    let tasks = Arc::new(Tasks::default());
    let (release, released) = std::sync::mpsc::channel::<()>();
    tasks.start(1, "one that ends".to_owned(), || {});
    tasks.start(2, "one that waits".to_owned(), move || {
        let _ = released.recv();
    });
    crate::eventually("the first task has ended", || tasks.count() == 1);
    assert_eq!(tasks.wait(Duration::ZERO), ["one that waits"]);
    drop(release);
    assert!(tasks.wait(Duration::from_secs(20)).is_empty());
}
