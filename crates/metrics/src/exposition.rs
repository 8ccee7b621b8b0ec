//! The Prometheus text format, version 0.0.4.

use std::fmt::Write;

use crate::histogram::{BOUNDS_MICROS, Histogram};

/// The media type of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Builds the text. Metric families appear in the order in which they are written. Each family has its help
/// and type lines, even if it has no series.
#[derive(Debug, Default)]
pub struct Exposition(String);

impl Exposition {
    /// A family of numbers that only grow. Its name ends in `_total`.
    pub fn counter(&mut self, name: &'static str, help: &'static str) -> Family<'_> {
        self.family(name, "counter", help)
    }

    /// A family of numbers that go up and down.
    pub fn gauge(&mut self, name: &'static str, help: &'static str) -> Family<'_> {
        self.family(name, "gauge", help)
    }

    /// A family of times in seconds. Its name ends in `_seconds`.
    pub fn histogram(&mut self, name: &'static str, help: &'static str) -> Family<'_> {
        self.family(name, "histogram", help)
    }

    fn family(&mut self, name: &'static str, kind: &str, help: &str) -> Family<'_> {
        self.0.push_str("# HELP ");
        self.0.push_str(name);
        self.0.push(' ');
        for character in help.chars() {
            match character {
                '\\' => self.0.push_str(r"\\"),
                '\n' => self.0.push_str(r"\n"),
                other => self.0.push(other),
            }
        }
        self.0.push_str("\n# TYPE ");
        self.0.push_str(name);
        self.0.push(' ');
        self.0.push_str(kind);
        self.0.push('\n');
        Family { text: &mut self.0, name }
    }

    /// The finished text.
    #[must_use]
    pub fn finish(self) -> String {
        self.0
    }
}

/// The series of one metric name.
#[derive(Debug)]
pub struct Family<'a> {
    text: &'a mut String,
    name: &'static str,
}

/// The labels that distinguish a series from the others of its family.
type Labels<'a> = [(&'a str, &'a str)];

impl Family<'_> {
    /// Writes a series with a whole number.
    pub fn value(&mut self, labels: &Labels<'_>, value: u64) -> &mut Self {
        self.series("", labels, None);
        self.end(format_args!("{value}"))
    }

    /// Writes a series with a fractional number, such as a time in seconds.
    pub fn fraction(&mut self, labels: &Labels<'_>, value: f64) -> &mut Self {
        self.series("", labels, None);
        self.end(format_args!("{value}"))
    }

    /// Writes the series of one histogram. An empty one is left out: most combinations of labels never occur.
    pub fn histogram(&mut self, labels: &Labels<'_>, histogram: &Histogram) -> &mut Self {
        let counts = histogram.counts();
        let mut sum = 0;
        if counts.iter().all(|count| *count == 0) {
            return self;
        }
        for (count, bound) in counts.iter().zip(BOUNDS_MICROS) {
            sum += count;
            self.series("_bucket", labels, Some(&seconds(bound)));
            self.end(format_args!("{sum}"));
        }
        // Use the same counts as for the buckets, so that the last bucket equals the count even while other
        // threads add to it.
        sum += counts[BOUNDS_MICROS.len()];
        self.series("_bucket", labels, Some("+Inf"));
        self.end(format_args!("{sum}"));
        self.series("_sum", labels, None);
        self.end(format_args!("{}", seconds(histogram.sum_micros())));
        self.series("_count", labels, None);
        self.end(format_args!("{sum}"))
    }

    fn series(&mut self, suffix: &str, labels: &Labels<'_>, bound: Option<&str>) {
        self.text.push_str(self.name);
        self.text.push_str(suffix);
        let all = labels.iter().copied().chain(bound.map(|bound| ("le", bound)));
        let mut separator = '{';
        for (name, value) in all {
            self.text.push(separator);
            self.text.push_str(name);
            self.text.push_str("=\"");
            self.push_escaped(value);
            self.text.push('"');
            separator = ',';
        }
        if separator == ',' {
            self.text.push('}');
        }
        self.text.push(' ');
    }

    fn push_escaped(&mut self, value: &str) {
        for character in value.chars() {
            match character {
                '\\' => self.text.push_str(r"\\"),
                '"' => self.text.push_str("\\\""),
                '\n' => self.text.push_str(r"\n"),
                other => self.text.push(other),
            }
        }
    }

    fn end(&mut self, value: std::fmt::Arguments<'_>) -> &mut Self {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(value);
        self.text.push('\n');
        self
    }
}

/// Microseconds as decimal seconds, without the rounding errors of floating point.
fn seconds(micros: u64) -> String {
    let (whole, rest) = (micros / 1_000_000, micros % 1_000_000);
    if rest == 0 {
        return whole.to_string();
    }
    format!("{whole}.{rest:06}").trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_family_has_help_and_type_and_one_line_per_series() {
        let mut text = Exposition::default();
        text.counter("things_total", "What\nwas \\ done.").value(&[], 3).value(&[("kind", "a\"b\\c\nd")], 4);
        text.gauge("load", "Now.").fraction(&[], 0.5);
        assert_eq!(
            text.finish(),
            "# HELP things_total What\\nwas \\\\ done.\n# TYPE things_total counter\nthings_total 3\n\
             things_total{kind=\"a\\\"b\\\\c\\nd\"} 4\n# HELP load Now.\n# TYPE load gauge\nload 0.5\n"
        );
    }

    #[test]
    fn a_histogram_is_cumulative_and_ends_in_sum_and_count() {
        let (histogram, empty) = (Histogram::default(), Histogram::default());
        for micros in [50, 300, 700_000_000] {
            histogram.observe(Duration::from_micros(micros));
        }
        let mut text = Exposition::default();
        text.histogram("wait_seconds", "Waits.")
            .histogram(&[("a", "1")], &histogram)
            .histogram(&[("a", "2")], &empty);
        let text = text.finish();
        for line in [
            r#"wait_seconds_bucket{a="1",le="0.0001"} 1"#,
            r#"wait_seconds_bucket{a="1",le="0.00025"} 1"#,
            r#"wait_seconds_bucket{a="1",le="0.0005"} 2"#,
            r#"wait_seconds_bucket{a="1",le="600"} 2"#,
            r#"wait_seconds_bucket{a="1",le="+Inf"} 3"#,
            r#"wait_seconds_sum{a="1"} 700.00035"#,
            r#"wait_seconds_count{a="1"} 3"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(!text.contains(r#"a="2""#), "{text}");
    }
}
