//! Sizes and times as people write them: `64MiB`, `90s`, `1h`, or a plain number of bytes or seconds.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{self, Deserialize, Deserializer, Visitor};

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByteSize(usize);

/// A duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeSpan(Duration);

impl ByteSize {
    pub(crate) const fn get(self) -> usize {
        self.0
    }
}

impl TimeSpan {
    pub(crate) const fn get(self) -> Duration {
        self.0
    }
}

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = split(text);
        let factor: usize = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kib" => 1 << 10,
            "m" | "mib" => 1 << 20,
            "g" | "gib" => 1 << 30,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            _ => return Err(format!("`{text}` is not a size; write 1048576, 512KiB, 64MiB or 1GiB")),
        };
        let number: usize = number
            .parse()
            .map_err(|_| format!("`{text}` is not a size; write 1048576, 512KiB, 64MiB or 1GiB"))?;
        number.checked_mul(factor).map(Self).ok_or_else(|| format!("`{text}` is too large"))
    }
}

impl FromStr for TimeSpan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = split(text);
        let seconds = match unit {
            "" | "s" => 1.0,
            "ms" => 0.001,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return Err(format!("`{text}` is not a time; write 30, 500ms, 90s, 5m, 1h, or 0")),
        };
        let number: f64 = number
            .parse()
            .map_err(|_| format!("`{text}` is not a time; write 30, 500ms, 90s, 5m, 1h, or 0"))?;
        Duration::try_from_secs_f64(number * seconds).map(Self).map_err(|error| format!("`{text}`: {error}"))
    }
}

fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

/// Deserialises a size or a time, which a config file can contain as a number or as a string.
struct TextOrNumber<T>(std::marker::PhantomData<T>);

impl<T: FromStr<Err = String>> Visitor<'_> for TextOrNumber<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number, or text such as \"64MiB\" or \"90s\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        number.to_string().parse().map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        number.to_string().parse().map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrNumber(std::marker::PhantomData))
    }
}

impl<'de> Deserialize<'de> for TimeSpan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrNumber(std::marker::PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_bytes_or_have_a_unit() {
        let size = |text: &str| text.parse::<ByteSize>().map(ByteSize::get);
        assert_eq!(size("1024"), Ok(1024));
        assert_eq!(size("64MiB"), Ok(64 << 20));
        assert_eq!(size("1 g"), Ok(1 << 30));
        assert_eq!(size("2kB"), Ok(2000));
        for bad in ["", "MiB", "-1", "1.5MiB", "12 parsecs", "99999999999999999999"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_are_in_seconds_or_have_a_unit() {
        let time = |text: &str| text.parse::<TimeSpan>().map(TimeSpan::get);
        assert_eq!(time("0"), Ok(Duration::ZERO));
        assert_eq!(time("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(time("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(time("1h"), Ok(Duration::from_secs(3600)));
        for bad in ["", "h", "-1", "1y", "1..2"] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }
}
