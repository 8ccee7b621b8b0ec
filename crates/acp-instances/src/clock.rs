//! The wall-clock time in the units that clients receive.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> u64 {
    now_us() / 1000
}

/// Microseconds since the Unix epoch. They stay below 2^53, and so exact as a double, until the year 2255.
pub(crate) fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
