//! A strict parser of the text format: any deviation from the format's specification fails the test.

use std::collections::{BTreeMap, BTreeSet};

/// The labels of one series.
pub(crate) type Labels = BTreeMap<String, String>;

/// A metric name and its series.
#[derive(Debug, Clone)]
pub(crate) struct Family {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) help: String,
    pub(crate) samples: Vec<Sample>,
}

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) labels: Labels,
    pub(crate) value: f64,
}

/// The result of one scrape.
#[derive(Debug)]
pub(crate) struct Scrape(Vec<Family>);

impl Scrape {
    #[track_caller]
    pub(crate) fn parse(text: &str) -> Self {
        assert!(text.ends_with('\n') && !text.contains('\r'), "a line does not end in a line feed");
        let mut families: Vec<Family> = Vec::new();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let help = line.strip_prefix("# HELP ").unwrap_or_else(|| panic!("help was expected: {line}"));
            let (name, help) = help.split_once(' ').unwrap_or_else(|| panic!("no help: {line}"));
            assert!(is_name(name, ":") && !help.is_empty(), "{line}");
            let kind = lines.next().and_then(|next| next.strip_prefix(&format!("# TYPE {name} ")));
            let kind = kind.unwrap_or_else(|| panic!("a type was expected after: {line}"));
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{name} is a {kind}");
            assert!(!families.iter().any(|known| known.name == name), "{name} is duplicated");
            let mut samples = Vec::new();
            while let Some(line) = lines.next_if(|next| !next.starts_with('#')) {
                samples.push(Sample::parse(line));
            }
            let family = Family { name: name.into(), kind: kind.into(), help: help.into(), samples };
            family.check();
            families.push(family);
        }
        Self(families)
    }

    pub(crate) fn families(&self) -> &[Family] {
        &self.0
    }

    pub(crate) fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.0.iter().flat_map(|family| &family.samples)
    }

    /// A series' value; 0 if the family exists but the series does not.
    #[track_caller]
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let known = self.0.iter().any(|family| name.starts_with(&family.name));
        assert!(known, "there is no family {name}");
        let labels: Labels = labels.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let found = self.samples().find(|sample| sample.name == name && sample.labels == labels);
        found.map_or(0.0, |sample| sample.value)
    }
}

impl Sample {
    #[track_caller]
    fn parse(line: &str) -> Self {
        let end = line.find(['{', ' ']).unwrap_or_else(|| panic!("not a sample: {line}"));
        let (name, rest) = line.split_at(end);
        assert!(is_name(name, ":"), "{line}");
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(rest) => parse_labels(rest, line),
            None => (Labels::new(), rest),
        };
        let value =
            rest.strip_prefix(' ').unwrap_or_else(|| panic!("expected one space before the value: {line}"));
        let number = value.parse().unwrap_or_else(|_| panic!("not a number: {line}"));
        assert!(f64::is_finite(number) && value.trim() == value, "{line}");
        Self { name: name.into(), labels, value: number }
    }
}

fn parse_labels<'a>(mut rest: &'a str, line: &str) -> (Labels, &'a str) {
    let mut labels = Labels::new();
    loop {
        let (name, behind) = rest.split_once("=\"").unwrap_or_else(|| panic!("not a label: {line}"));
        assert!(is_name(name, ""), "{line}");
        let mut value = String::new();
        let mut characters = behind.char_indices();
        let end = loop {
            match characters.next() {
                Some((index, '"')) => break index,
                Some((_, '\\')) => value.push(match characters.next() {
                    Some((_, 'n')) => '\n',
                    Some((_, escaped @ ('\\' | '"'))) => escaped,
                    _ => panic!("not an escape: {line}"),
                }),
                Some((_, character)) => value.push(character),
                None => panic!("a label does not end: {line}"),
            }
        };
        assert!(labels.insert(name.to_owned(), value).is_none(), "a duplicate label: {line}");
        rest = &behind[end + 1..];
        match rest.split_at_checked(1) {
            Some((",", behind)) => rest = behind,
            Some(("}", behind)) => return (labels, behind),
            _ => panic!("labels do not end: {line}"),
        }
    }
}

fn is_name(text: &str, besides: &str) -> bool {
    let allowed =
        |character: char| character.is_ascii_alphabetic() || character == '_' || besides.contains(character);
    text.starts_with(allowed)
        && text.chars().all(|character| allowed(character) || character.is_ascii_digit())
}

impl Family {
    #[track_caller]
    fn check(&self) {
        let mut seen = BTreeSet::new();
        for sample in &self.samples {
            assert!(seen.insert((&sample.name, &sample.labels)), "twice: {sample:?}");
            assert!(self.kind == "gauge" || sample.value >= 0.0, "{sample:?}");
            if self.kind != "histogram" {
                assert_eq!(sample.name, self.name);
            }
        }
        assert_eq!(self.kind == "counter", self.name.ends_with("_total"), "{}", self.name);
        if self.kind == "histogram" {
            self.check_histogram();
        }
    }

    #[track_caller]
    fn check_histogram(&self) {
        let mut series: BTreeMap<Labels, Vec<&Sample>> = BTreeMap::new();
        for sample in &self.samples {
            let mut labels = sample.labels.clone();
            labels.remove("le");
            series.entry(labels).or_default().push(sample);
        }
        for (labels, samples) in series {
            let [buckets @ .., sum, count] = samples.as_slice() else { panic!("{labels:?} is incomplete") };
            assert_eq!(sum.name, format!("{}_sum", self.name));
            assert_eq!(count.name, format!("{}_count", self.name));
            let bucket_name = format!("{}_bucket", self.name);
            assert!(buckets.iter().all(|bucket| bucket.name == bucket_name), "{labels:?}");
            let bounds: Vec<f64> = buckets.iter().map(|bucket| bound(&bucket.labels["le"])).collect();
            assert!(bounds.is_sorted_by(|one, other| one < other), "{bounds:?}");
            assert_eq!(bounds.last(), Some(&f64::INFINITY));
            assert!(buckets.is_sorted_by(|one, other| one.value <= other.value), "{labels:?}");
            assert_eq!(buckets.last().unwrap().value, count.value, "{labels:?}");
        }
    }
}

fn bound(text: &str) -> f64 {
    if text == "+Inf" {
        f64::INFINITY
    } else {
        text.parse().unwrap_or_else(|_| panic!("{text} is not a bound"))
    }
}

#[test]
fn the_parser_refuses_invalid_text() {
    let good = "# HELP a_total x\n# TYPE a_total counter\na_total{l=\"v\\n\\\"\"} 1\n";
    assert_eq!(Scrape::parse(good).value("a_total", &[("l", "v\n\"")]), 1.0);
    for bad in [
        "a_total 1\n",
        "# HELP a_total x\n# TYPE a_total counter\na_total 1",
        "# HELP a_total x\n# TYPE a_total counter\na_total -1\n",
        "# HELP a_total x\n# TYPE a_total counter\na_total 1\na_total 1\n",
        "# HELP a_total x\n# TYPE a_total counter\nb_total 1\n",
        "# HELP a_total x\n# TYPE a_total counter\na_total{l=v} 1\n",
        "# HELP a_total x\n# TYPE a_total counter\na_total{l=\"v\" 1\n",
        "# HELP a x\n# TYPE a counter\na 1\n",
        "# TYPE a gauge\na 1\n",
        "# HELP a x\n# TYPE a histogram\na_bucket{le=\"1\"} 1\na_sum 1\na_count 1\n",
        "# HELP a x\n# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\n",
    ] {
        assert!(std::panic::catch_unwind(|| Scrape::parse(bad)).is_err(), "{bad}");
    }
}
