//! The client that calls the engine: its authenticated name and its connection.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};

/// The client that makes a call, as far as the door (a transport such as HTTP) knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// The authenticated name. It is passed to the launcher and to the instance, and never written to a log.
    pub subject: Option<Subject>,
    /// The connection, if responses must reach only this connection.
    pub asker: Option<Asker>,
}

/// The name under which a caller was authenticated.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Subject(pub Arc<str>);

/// Identifies a connection that must not receive the responses to other connections. Events carry the number of
/// the connection whose request they answer, and a subscription for one connection leaves out responses to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Asker(NonZeroU32);

impl Asker {
    /// A number that no other connection of this process has.
    #[must_use]
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        // The counter wraps after four billion connections; those that had the first numbers are long closed.
        NonZeroU32::new(NEXT.fetch_add(1, Ordering::Relaxed)).map_or(Self(NonZeroU32::MIN), Self)
    }

    pub(crate) const fn mark(self) -> u32 {
        self.0.get()
    }

    pub(crate) const fn of_mark(mark: u32) -> Option<Self> {
        match NonZeroU32::new(mark) {
            Some(mark) => Some(Self(mark)),
            None => None,
        }
    }
}

impl Default for Asker {
    fn default() -> Self {
        Self::new()
    }
}
