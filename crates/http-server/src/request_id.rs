//! An id for each request, so that a request that a user reports can be found in the log.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue};

/// The header with the id, in requests and responses.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest id that is accepted from a client.
const MAX_CLIENT_ID: usize = 128;

/// The client's own id, if it sent a usable one.
pub(crate) fn of(headers: &HeaderMap) -> Option<HeaderValue> {
    headers
        .get(REQUEST_ID)
        .filter(|value| (1..=MAX_CLIENT_ID).contains(&value.len()))
        .filter(|value| value.as_bytes().iter().all(u8::is_ascii_graphic))
        .cloned()
}

/// A newly generated id that no other request has.
#[derive(Debug)]
pub(crate) struct NewId {
    text: [u8; 25],
    length: usize,
}

impl NewId {
    pub(crate) fn generate() -> Self {
        static PROCESS: LazyLock<u32> =
            LazyLock::new(|| (RandomState::new().hash_one(0) & 0xffff_ffff) as u32);
        static COUNT: AtomicU64 = AtomicU64::new(1);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let digits = (u64::BITS - count.leading_zeros()).div_ceil(4).max(1) as usize;
        let mut text = *b"00000000-0000000000000000";
        write_hexadecimal(&mut text[..8], u64::from(*PROCESS));
        write_hexadecimal(&mut text[9..9 + digits], count);
        Self { text, length: 9 + digits }
    }

    pub(crate) fn as_str(&self) -> &str {
        // Hexadecimal digits and a dash are always text.
        std::str::from_utf8(&self.text[..self.length]).unwrap_or("unknown")
    }
}

impl From<NewId> for HeaderValue {
    fn from(id: NewId) -> Self {
        // Hexadecimal digits and a dash are always a valid header value.
        Self::from_str(id.as_str()).unwrap_or_else(|_| Self::from_static("unknown"))
    }
}

/// Writes a number in hexadecimal. Every request needs an id, and Rust's general formatting machinery is slower.
fn write_hexadecimal(digits: &mut [u8], number: u64) {
    for (place, digit) in digits.iter_mut().rev().enumerate() {
        *digit = b"0123456789abcdef"[(number >> (4 * place) & 0xf) as usize];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clients_id_is_kept_if_it_is_usable() {
        let with = |value: &str| HeaderMap::from_iter([(REQUEST_ID, HeaderValue::from_str(value).unwrap())]);
        assert_eq!(of(&with("abc-1")).unwrap(), "abc-1");
        assert_eq!(of(&with("has space")), None);
        assert_eq!(of(&HeaderMap::new()), None);
        assert_ne!(NewId::generate().as_str(), NewId::generate().as_str());
    }

    #[test]
    fn a_new_id_is_hexadecimal() {
        let mut text = *b"....";
        write_hexadecimal(&mut text[1..], 0x12f_e90);
        assert_eq!(&text, b".e90");
        let id = HeaderValue::from(NewId::generate());
        let (process, count) = id.to_str().unwrap().split_once('-').unwrap();
        assert_eq!(process.len(), 8);
        assert!(u32::from_str_radix(process, 16).is_ok() && u64::from_str_radix(count, 16).unwrap() > 0);
    }
}
