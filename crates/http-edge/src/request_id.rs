//! A name for each request, so that a client's complaint can be found in the log.

use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue};

/// The header it travels in, both ways.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest id taken over from a client.
const MAX_CLIENT_ID: usize = 128;

/// The client's own id when it sent a sensible one, else a new one.
pub(crate) fn of(headers: &HeaderMap) -> HeaderValue {
    headers
        .get(REQUEST_ID)
        .filter(|value| (1..=MAX_CLIENT_ID).contains(&value.len()))
        .filter(|value| value.as_bytes().iter().all(u8::is_ascii_graphic))
        .cloned()
        .unwrap_or_else(fresh)
}

fn fresh() -> HeaderValue {
    static PROCESS: LazyLock<u32> = LazyLock::new(|| (RandomState::new().hash_one(0) & 0xffff_ffff) as u32);
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let mut text = [0; 32];
    let mut rest = &mut text[..];
    // On the stack, since every request needs one. Eight digits, a dash and at most sixteen more fit.
    let _ = write!(rest, "{:08x}-{:x}", *PROCESS, COUNT.fetch_add(1, Ordering::Relaxed));
    let unused = rest.len();
    // Hexadecimal digits and a dash are always a valid header value.
    HeaderValue::from_bytes(&text[..text.len() - unused])
        .unwrap_or_else(|_| HeaderValue::from_static("unknown"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clients_id_is_kept_and_nonsense_is_replaced() {
        let with = |value: &str| HeaderMap::from_iter([(REQUEST_ID, HeaderValue::from_str(value).unwrap())]);
        assert_eq!(of(&with("abc-1")), "abc-1");
        assert_ne!(of(&with("has space")), "has space");
        assert_ne!(of(&HeaderMap::new()), of(&HeaderMap::new()));
    }
}
