//! A file's time with nanosecond precision, printed as RFC 3339 in UTC.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY: i64 = 86_400;

/// Seconds and nanoseconds since 1970, as stored by the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Whole seconds, negative before 1970.
    pub seconds: i64,
    /// The fraction, always added to `seconds`, also before 1970.
    pub nanoseconds: u32,
}

impl Timestamp {
    /// Converts to the standard library's type; `None` if it cannot represent the time.
    #[must_use]
    pub fn to_system_time(self) -> Option<SystemTime> {
        let whole = Duration::from_secs(self.seconds.unsigned_abs());
        let base =
            if self.seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
        base?.checked_add(Duration::from_nanos(u64::from(self.nanoseconds)))
    }
}

/// Year, month and day of a day number, with the usual era arithmetic of the proleptic Gregorian calendar.
fn civil(day: i64) -> (i64, i64, i64) {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day_of_month)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // RFC 3339 has four-digit years only; other years are clamped.
        let seconds = self.seconds.clamp(-62_135_596_800, 253_402_300_799);
        let (year, month, day) = civil(seconds.div_euclid(DAY));
        let of_day = seconds.rem_euclid(DAY);
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        write!(formatter, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        if self.nanoseconds != 0 {
            write!(formatter, ".{:09}", self.nanoseconds)?;
        }
        formatter.write_str("Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(seconds: i64, nanoseconds: u32) -> String {
        Timestamp { seconds, nanoseconds }.to_string()
    }

    #[test]
    fn known_times_are_printed_as_rfc_3339() {
        assert_eq!(text(0, 0), "1970-01-01T00:00:00Z");
        assert_eq!(text(951_782_400, 0), "2000-02-29T00:00:00Z");
        assert_eq!(text(1_700_000_000, 5), "2023-11-14T22:13:20.000000005Z");
        assert_eq!(text(-1, 0), "1969-12-31T23:59:59Z");
        assert_eq!(text(i64::MAX, 0), "9999-12-31T23:59:59Z");
        assert_eq!(text(i64::MIN, 0), "0001-01-01T00:00:00Z");
    }

    #[test]
    fn system_time_agrees_with_the_parts() {
        let before = Timestamp { seconds: -1, nanoseconds: 500_000_000 };
        assert_eq!(before.to_system_time(), UNIX_EPOCH.checked_sub(Duration::from_millis(500)));
    }
}
