//! How an agent is distributed, as described by the ACP registry and as pinned by the manifest.
//!
//! Both use the same types. Unknown keys are ignored, so that a newer registry does not break an older catalog.
//! Package specifications such as `@scope/name@1.2.3` or `name[extra]==1.2.3` are parsed only here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The distributions of an agent. Usually there is at least one, but an empty set is not an error here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distribution {
    /// An npm package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub npx: Option<PackageDistribution>,
    /// A Python package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uvx: Option<PackageDistribution>,
    /// Archives, keyed by platform. The keys are strings because a registry may list platforms that this
    /// product does not know.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub binary: BTreeMap<String, BinaryTarget>,
}

/// A package and how to run it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageDistribution {
    /// The package's name, with an optional version.
    pub package: String,
    /// Arguments after the command.
    #[serde(default)]
    pub args: Vec<String>,
    /// Environment variables to set.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The command to run, for a package that has several commands and none of the package's own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The Python versions that the package supports, such as `>=3.12`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub python: Option<String>,
    /// npm's `before` date for a pinned package: dependencies published later are not used, so that the package
    /// gets the versions it was tested with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

/// One platform's archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BinaryTarget {
    /// The URL of a zip, tar.gz or tar.bz2 archive, or of the program itself.
    pub archive: String,
    /// The program's path inside the archive.
    pub cmd: String,
    /// Arguments after the command.
    #[serde(default)]
    pub args: Vec<String>,
    /// Environment variables to set.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The archive's checksum, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl Distribution {
    /// The packages, npm first.
    pub fn packages(&self) -> impl Iterator<Item = PackageName> {
        let npm = self.npx.iter().map(|offer| PackageName::npm(&offer.package));
        let python = self.uvx.iter().map(|offer| PackageName::python(&offer.package));
        npm.chain(python)
    }
}

/// A package's name and version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageName {
    name: String,
    version: Option<String>,
}

impl PackageName {
    /// Parses `name`, `name@1.2.3`, `@scope/name` or `@scope/name@1.2.3`.
    #[must_use]
    pub fn npm(text: &str) -> Self {
        match text.char_indices().skip(1).find(|(_, c)| *c == '@') {
            Some((at, _)) => Self::new(&text[..at], &text[at + 1..]),
            None => Self::new(text, ""),
        }
    }

    /// Parses `name`, `name==1.2.3`, `name@1.2.3` or `name[extra]==1.2.3`.
    #[must_use]
    pub fn python(text: &str) -> Self {
        match text.split_once("==").or_else(|| text.split_once('@')) {
            Some((name, version)) => Self::new(name.trim(), version.trim()),
            None => Self::new(text.trim(), ""),
        }
    }

    fn new(name: &str, version: &str) -> Self {
        // "latest" is a tag, not a version.
        let version = (!version.is_empty() && version != "latest").then(|| version.to_owned());
        Self { name: name.to_owned(), version }
    }

    /// The name, extras included.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version, when one was given.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// The name without scope or extras, which is usually the name of its command too.
    pub(crate) fn short_name(&self) -> &str {
        let unscoped = self.name.rsplit('/').next().unwrap_or(&self.name);
        unscoped.split('[').next().unwrap_or(unscoped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_text_splits_into_name_and_version() {
        let cases = [
            (PackageName::npm("pi-acp@0.0.34"), "pi-acp", Some("0.0.34"), "pi-acp"),
            (PackageName::npm("@scope/name"), "@scope/name", None, "name"),
            (PackageName::npm("@scope/name@1.0.0-rc.1"), "@scope/name", Some("1.0.0-rc.1"), "name"),
            (PackageName::npm("name@latest"), "name", None, "name"),
            (
                PackageName::python("hermes-agent[acp]==0.19.0"),
                "hermes-agent[acp]",
                Some("0.19.0"),
                "hermes-agent",
            ),
            (PackageName::python("tool@2.0"), "tool", Some("2.0"), "tool"),
        ];
        for (parsed, name, version, short) in cases {
            assert_eq!((parsed.name(), parsed.version(), parsed.short_name()), (name, version, short));
        }
    }

    #[test]
    fn unknown_keys_and_unknown_platforms_are_tolerated() {
        let distribution: Distribution = serde_json::from_str(
            r#"{"docker":{"image":"x"},"binary":{"plan9-mips":{"archive":"a","cmd":"b","signature":"c"},
                "linux-x86_64":{"archive":"a","cmd":"b"}}}"#,
        )
        .unwrap();
        assert_eq!(distribution.binary.len(), 2);
        assert!(distribution.binary.contains_key("linux-x86_64"));
    }
}
