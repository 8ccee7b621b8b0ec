//! Wall-clock time as clients read it.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    now_us() / 1000
}

/// Microseconds since 1970. Fits 2^53 until the year 2255.
pub(crate) fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
