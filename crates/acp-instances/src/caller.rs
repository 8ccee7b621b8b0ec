//! Who makes a call.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};

/// Who makes a call, as far as the door knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// The authenticated name. It is carried to the launcher and to the instance, and never written to a log.
    pub subject: Option<Subject>,
    /// The connection, where answers are for it alone.
    pub asker: Option<Asker>,
}

/// The name under which a caller was authenticated.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Subject(pub Arc<str>);

/// One connection of a door that keeps answers apart: an answer to its request carries its name, and a subscription for
/// it leaves out the answers to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Asker(NonZeroU32);

impl Asker {
    /// A name that no other connection of this process has.
    #[must_use]
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        // After four billion connections names come again; those that had them are long gone.
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
