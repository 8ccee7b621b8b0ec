//! Node.js versions and npm's version ranges, as far as `engines` needs them.

use semver::{Comparator, Version, VersionReq};

/// A range such as `>=22`, `^20.17.0 || >=22.9.0` or `18 - 22`.
#[derive(Debug, Clone)]
pub(crate) struct NodeRange {
    text: String,
    alternatives: Vec<VersionReq>,
}

impl NodeRange {
    /// Parses a range. An unparsable range accepts every version, so that it does not prevent an install.
    pub(crate) fn parse(text: &str) -> Self {
        let alternatives: Option<Vec<VersionReq>> = text.split("||").map(parse_alternative).collect();
        Self {
            text: text.trim().to_owned(),
            alternatives: alternatives.unwrap_or_else(|| vec![VersionReq::STAR]),
        }
    }

    pub(crate) fn accepts(&self, version: &Version) -> bool {
        self.alternatives.iter().any(|alternative| alternative.matches(version))
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

fn parse_alternative(text: &str) -> Option<VersionReq> {
    let text = text.trim();
    if text.is_empty() || text == "*" || text == "x" {
        return Some(VersionReq::STAR);
    }
    if let Some((from, to)) = text.split_once(" - ") {
        return VersionReq::parse(&format!(">={}, <={}", from.trim(), to.trim())).ok();
    }
    // npm's range `>= 20 <23` is written `>=20, <23` in the semver crate. A full version without an operator
    // means exactly that version to npm, but a caret range to the crate.
    let mut comparators: Vec<Comparator> = Vec::new();
    let mut operator = String::new();
    for word in text.split_whitespace() {
        let bare = word.trim_start_matches(['<', '>', '=', '^', '~']);
        operator.push_str(&word[..word.len() - bare.len()]);
        if bare.is_empty() {
            continue;
        }
        let bare = bare.trim_start_matches('v');
        let operator_text = std::mem::take(&mut operator);
        let precise = bare.split('.').count() == 3 && !bare.contains(['x', 'X', '*']);
        let operator_text = match (operator_text.as_str(), precise) {
            ("", true) => "=",
            ("", false) => "~",
            (given, _) => given,
        };
        let wildcard = bare.contains(['x', 'X', '*']);
        let comparator = if wildcard { bare.to_owned() } else { format!("{operator_text}{bare}") };
        comparators.extend(VersionReq::parse(&comparator).ok()?.comparators);
    }
    Some(VersionReq { comparators })
}

/// The version of Node.js to install: the preferred LTS line, else the newest LTS line (even numbers), else the
/// newest version.
pub(crate) fn choose(versions: &[String], ranges: &[NodeRange]) -> Option<Version> {
    let accepted =
        |version: &Version| version.pre.is_empty() && ranges.iter().all(|range| range.accepts(version));
    let mut candidates: Vec<Version> =
        versions.iter().filter_map(|text| Version::parse(text).ok()).filter(accepted).collect();
    candidates.sort();
    let newest_where =
        |wanted: &dyn Fn(&Version) -> bool| candidates.iter().rev().find(|v| wanted(v)).cloned();
    newest_where(&|version| version.major == 24)
        .or_else(|| newest_where(&|version| version.major % 2 == 0))
        .or_else(|| candidates.last().cloned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(range: &str, version: &str) -> bool {
        NodeRange::parse(range).accepts(&Version::parse(version).unwrap())
    }

    #[test]
    fn npm_ranges_mean_what_npm_means() {
        for (range, version, expected) in [
            (">=22", "22.0.0", true),
            (">=22", "20.20.2", false),
            (">=22.19.0", "22.18.9", false),
            ("^20.17.0 || >=22.9.0", "20.20.2", true),
            ("^20.17.0 || >=22.9.0", "21.0.0", false),
            (">= 18 <23", "22.1.0", true),
            (">= 18 <23", "23.0.0", false),
            ("20", "20.3.1", true),
            ("20", "21.0.0", false),
            ("20.x", "20.3.1", true),
            ("18 - 20", "20.9.9", true),
            ("*", "1.0.0", true),
            ("", "1.0.0", true),
            ("20.1.0", "20.1.1", false),
            ("gibberish", "20.1.1", true),
        ] {
            assert_eq!(accepts(range, version), expected, "{range} and {version}");
        }
    }

    #[test]
    fn the_chosen_version_satisfies_every_range_and_is_an_lts_line() {
        let versions: Vec<String> =
            ["20.1.0", "22.5.0", "23.1.0", "24.1.0", "24.9.0", "25.0.0", "26.0.0", "27.0.0-rc.1"]
                .map(Into::into)
                .into();
        let choose = |ranges: &[&str]| {
            let ranges: Vec<_> = ranges.iter().map(|range| NodeRange::parse(range)).collect();
            super::choose(&versions, &ranges).map(|version| version.to_string())
        };
        assert_eq!(choose(&[">=22"]).as_deref(), Some("24.9.0"));
        assert_eq!(choose(&["22"]).as_deref(), Some("22.5.0"));
        assert_eq!(choose(&[">=25"]).as_deref(), Some("26.0.0"));
        assert_eq!(choose(&["23"]).as_deref(), Some("23.1.0"));
        assert_eq!(choose(&[">=30"]), None);
    }
}
