//! JSON-RPC request ids, compared by value.
//!
//! Agents decode an id and encode it again, so `"\u0041"` comes back as `"A"`, `1.0` as `1`, and a number
//! with 23 digits as a rounded double. Yet `12`, `"12"` and `12345678901234567890123` are three different
//! ids, and the last one keeps all its digits.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A request id in a canonical JSON spelling: equal ids have equal text, and the text is valid JSON.
///
/// The id of one request is stored in several places while the request waits, so cloning is cheap: a short id
/// needs no allocation, a long one is shared.
#[derive(Clone)]
pub struct RequestId(Text);

#[derive(Clone)]
enum Text {
    Short { length: u8, bytes: [u8; SHORT] },
    Long(Arc<str>),
}

/// The longest id that is stored inline: long enough for numbers and most strings. A UUID is longer.
const SHORT: usize = 22;

impl RequestId {
    /// The longest id, in bytes of JSON. Ids are held for as long as their requests are open, possibly
    /// thousands of them.
    pub const MAX_LENGTH: usize = 4096;

    /// Reads an id from its JSON text. `None` if it is neither a string, a number nor null, or is longer than
    /// [`Self::MAX_LENGTH`].
    #[must_use]
    pub fn parse(json: &str) -> Option<Self> {
        if json.len() > Self::MAX_LENGTH {
            return None;
        }
        match json.as_bytes().first()? {
            b'"' => Some(Self::canonical(&canonical_string(json)?)),
            b'-' | b'0'..=b'9' => Some(Self::canonical(&canonical_number(json))),
            b'n' => Some(Self::null()),
            _ => None,
        }
    }

    /// The null id.
    #[must_use]
    pub fn null() -> Self {
        Self::canonical("null")
    }

    /// An integer id.
    #[must_use]
    pub fn number(number: u64) -> Self {
        Self::canonical(&number.to_string())
    }

    fn canonical(json: &str) -> Self {
        let mut bytes = [0; SHORT];
        match (u8::try_from(json.len()), bytes.get_mut(..json.len())) {
            (Ok(length), Some(room)) => {
                room.copy_from_slice(json.as_bytes());
                Self(Text::Short { length, bytes })
            }
            _ => Self(Text::Long(json.into())),
        }
    }

    /// True for the id with which agents report parse errors. An answer to a request with this id could not
    /// be told from such a report, so the request gets none.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.as_bytes() == b"null"
    }

    /// The id as JSON.
    #[must_use]
    pub fn as_json(&self) -> &str {
        match &self.0 {
            // The bytes were taken from a `str`, so they are valid UTF-8.
            Text::Short { .. } => str::from_utf8(self.as_bytes()).unwrap_or_default(),
            Text::Long(text) => text,
        }
    }

    /// Reads an id without rounding numbers. The input must be JSON text that serde has not buffered.
    ///
    /// # Errors
    /// Errors of the deserializer, and an error if the value is neither a string, a number nor null.
    pub fn deserialize_exactly<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::parse(raw.get()).ok_or_else(|| D::Error::custom("an id is a string, a number or null"))
    }

    /// The memory that this id takes besides its own size.
    pub(crate) fn held_bytes(&self) -> usize {
        match &self.0 {
            Text::Short { .. } => 0,
            Text::Long(text) => text.len() + 2 * size_of::<usize>(),
        }
    }

    fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Text::Short { length, bytes } => &bytes[..usize::from(*length)],
            Text::Long(text) => text.as_bytes(),
        }
    }

    /// The number that an agent which stores numbers as doubles would send back; `None` for strings and null.
    #[must_use]
    pub fn as_double(&self) -> Option<f64> {
        let text = self.as_json();
        (!text.starts_with(['"', 'n'])).then(|| text.parse().ok())?
    }
}

impl PartialEq for RequestId {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for RequestId {}

impl Hash for RequestId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

/// Serialises the id itself, as JSON.
impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The canonical text is valid JSON.
        let raw: &RawValue = serde_json::from_str(self.as_json()).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Reads a `Value` first, since serde may have buffered the input. Digits beyond a double's precision
        // are lost here: see `deserialize_exactly`.
        let value = serde_json::Value::deserialize(deserializer)?;
        Self::parse(&value.to_string()).ok_or_else(|| D::Error::custom("an id is a string, a number or null"))
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_json())
    }
}

/// The string without unnecessary escapes. A string without a backslash is already canonical.
fn canonical_string(json: &str) -> Option<Cow<'_, str>> {
    if !json.contains('\\') {
        return Some(Cow::Borrowed(json));
    }
    let text: String = serde_json::from_str(json).ok()?;
    serde_json::to_string(&text).ok().map(Cow::Owned)
}

/// The number without its optional parts: `1.0`, `10e-1` and `1` are the same number. Digits are never
/// rounded.
fn canonical_number(json: &str) -> Cow<'_, str> {
    if !json.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
        return Cow::Borrowed(if json == "-0" { "0" } else { json });
    }
    let (sign, magnitude) = json.strip_prefix('-').map_or(("", json), |rest| ("-", rest));
    let (mantissa, exponent) = magnitude.split_once(['e', 'E']).unwrap_or((magnitude, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // An exponent too large to be evaluated stays as it is written.
    let Ok(exponent) = exponent.trim_start_matches('+').parse::<i32>() else { return Cow::Borrowed(json) };
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return Cow::Borrowed("0");
    }
    let dropped = digits.len() - digits.trim_end_matches('0').len();
    let shift = i64::from(exponent) + to_i64(dropped) - to_i64(fraction.len());
    match usize::try_from(shift) {
        Ok(zeros) if zeros <= 400 => Cow::Owned(format!("{sign}{significant}{:0<zeros$}", "")),
        _ => Cow::Owned(format!("{sign}{significant}e{shift}")),
    }
}

fn to_i64(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use super::*;

    fn id(json: &str) -> RequestId {
        RequestId::parse(json).unwrap()
    }

    #[test]
    fn an_id_that_an_agent_encodes_again_is_still_the_same_id() {
        assert_eq!(id(r#""\u0041""#), id(r#""A""#));
        assert_eq!(id("1.0"), id("1"));
        assert_eq!(id("10e-1"), id("1"));
        assert_eq!(id("-0"), id("0"));
        assert_eq!(id("1.50"), id("15e-1"));
        assert_eq!(id("0.000"), id("0"));
        assert_eq!(id("1e3"), id("1000"));
    }

    #[test]
    fn type_and_precision_tell_ids_apart() {
        assert_ne!(id("12"), id(r#""12""#));
        assert_ne!(id("12345678901234567890123"), id("12345678901234567890124"));
        assert_ne!(id("null"), id(r#""null""#));
        assert_eq!(id("12345678901234567890123").as_json(), "12345678901234567890123");
    }

    #[test]
    fn short_and_long_ids_behave_the_same() {
        for length in [1, SHORT - 2, SHORT - 1, SHORT, 300] {
            let json = format!("\"{}\"", "é".repeat(length / 2));
            let (one, other) = (id(&json), id(&json));
            assert_eq!((one.as_json(), &one), (json.as_str(), &other));
            let hasher = std::hash::RandomState::new();
            assert_eq!(hasher.hash_one(&one), hasher.hash_one(&other));
        }
        assert_eq!(size_of::<RequestId>(), 24);
        assert!(RequestId::null().is_null() && !id("\"null\"").is_null());
    }

    #[test]
    fn a_rounded_number_is_found_again_as_a_double() {
        let sent = id("12345678901234567890123");
        let back = id("1.2345678901234568e+22");
        assert_ne!(sent, back);
        assert_eq!(sent.as_double(), back.as_double());
        assert_eq!(id(r#""1""#).as_double(), None);
        assert_eq!(id("null").as_double(), None);
    }

    #[test]
    fn an_id_has_a_maximum_length() {
        let longest = format!("\"{}\"", "x".repeat(RequestId::MAX_LENGTH - 2));
        assert!(RequestId::parse(&longest).is_some());
        assert!(RequestId::parse(&longest.replacen('x', "xx", 1)).is_none());
        assert!(RequestId::parse(&"9".repeat(RequestId::MAX_LENGTH + 1)).is_none());
    }

    #[test]
    fn only_strings_numbers_and_null_are_ids() {
        for bad in ["true", "{}", "[1]", ""] {
            assert!(RequestId::parse(bad).is_none(), "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn canonical_text_is_valid_json_and_keeps_the_value(whole in -1_000_000i64..1_000_000, fraction in 0u32..10_000, exponent in -20i32..20) {
            let json = format!("{whole}.{fraction}e{exponent}");
            let canonical = id(&json);
            let value: f64 = serde_json::from_str(canonical.as_json()).unwrap();
            let original: f64 = serde_json::from_str(&json).unwrap();
            proptest::prop_assert!((value - original).abs() <= original.abs() * 1e-14);
            proptest::prop_assert_eq!(id(canonical.as_json()), canonical);
        }

        #[test]
        fn any_text_is_an_id_equal_to_its_escaped_self(text in ".*") {
            let plain = serde_json::to_string(&text).unwrap();
            let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            proptest::prop_assert_eq!(id(&plain), id(&format!("\"{escaped}\"")));
        }
    }

    #[test]
    fn an_id_is_written_and_read_as_json() {
        let long = "12345678901234567890123";
        for json in ["17", "null", "\"a\"", long] {
            assert_eq!(serde_json::to_string(&id(json)).unwrap(), json);
            assert_eq!(format!("{:?}", id(json)), json);
            let mut reader = serde_json::Deserializer::from_str(json);
            assert_eq!(RequestId::deserialize_exactly(&mut reader).unwrap(), id(json));
        }
        assert_eq!(serde_json::from_str::<RequestId>("\"a\"").unwrap(), id("\"a\""));
        assert!(serde_json::from_str::<RequestId>("true").is_err());
        assert!(RequestId::deserialize_exactly(&mut serde_json::Deserializer::from_str("[1]")).is_err());
        assert_eq!(RequestId::number(17), id("17"));
    }

    #[test]
    fn only_a_long_id_takes_more_memory_than_its_own_size() {
        let (short, long) = ("9".repeat(SHORT), "9".repeat(SHORT + 1));
        assert_eq!(id(&short).held_bytes(), 0);
        assert_eq!(id(&long).held_bytes(), SHORT + 1 + 2 * size_of::<usize>());
    }

    #[test]
    fn a_number_has_one_spelling() {
        let zeros = "0".repeat(400);
        for (json, canonical) in [
            ("-0", "0"),
            ("-1.50", "-15e-1"),
            ("12.5E+1", "125"),
            ("0.00120", "12e-4"),
            ("100.0", "100"),
            ("1e400", &format!("1{zeros}")),
            ("1e401", "1e401"),
            ("10e400", "1e401"),
            ("1e99999999999", "1e99999999999"),
        ] {
            assert_eq!(id(json).as_json(), canonical, "{json}");
        }
    }
}
