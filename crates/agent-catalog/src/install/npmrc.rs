//! Reads npm's configuration when npm itself is missing and has to be downloaded.

use std::path::{Path, PathBuf};

use crate::host::HostEnvironment;
use crate::install::scratch::user_npmrc;

/// The settings needed to download a tarball.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NpmSettings {
    /// The registry's address, without a trailing slash.
    pub(crate) registry: Option<String>,
    /// A file of additional certificates to trust.
    pub(crate) certificates: Option<PathBuf>,
    /// `//host/path/:_authToken` pairs.
    tokens: Vec<(String, String)>,
}

impl NpmSettings {
    /// Reads the system's files, then the user's, then variables; later settings take precedence.
    pub(crate) fn of_host(host: &HostEnvironment, registry_override: Option<&str>) -> Self {
        let mut settings = Self::default();
        for file in ["/etc/npmrc", "/usr/etc/npmrc", "/usr/local/etc/npmrc"] {
            settings.read(Path::new(file), host);
        }
        if let Some(file) = user_npmrc(host) {
            settings.read(&file, host);
        }
        for (variable, key) in [("NPM_CONFIG_REGISTRY", "registry"), ("NPM_CONFIG_CAFILE", "cafile")] {
            for name in [variable.to_owned(), variable.to_lowercase()] {
                if let Some(value) = host.text(&name) {
                    settings.set(key, value);
                }
            }
        }
        if let Some(registry) = registry_override {
            settings.set("registry", registry);
        }
        settings
    }

    /// The token for an address, if its registry has one.
    pub(crate) fn token_for(&self, url: &str) -> Option<&str> {
        let without_scheme = url.split_once(':').map_or(url, |(_, rest)| rest);
        let matching = self.tokens.iter().filter(|(prefix, _)| without_scheme.starts_with(prefix.as_str()));
        matching.max_by_key(|(prefix, _)| prefix.len()).map(|(_, token)| token.as_str())
    }

    fn read(&mut self, file: &Path, host: &HostEnvironment) {
        let Ok(text) = std::fs::read_to_string(file) else { return };
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
            if let Some((key, value)) = line.split_once('=') {
                self.set(key.trim(), &expand(value.trim().trim_matches('"'), host));
            }
        }
    }

    fn set(&mut self, key: &str, value: &str) {
        match key {
            "registry" => self.registry = Some(value.trim_end_matches('/').to_owned()),
            "cafile" => self.certificates = Some(PathBuf::from(value)),
            _ => {
                if let Some(prefix) = key.strip_suffix(":_authToken") {
                    self.tokens.push((prefix.to_owned(), value.to_owned()));
                }
            }
        }
    }
}

/// Replaces `${NAME}` by the variable's value, as npm does.
fn expand(text: &str, host: &HostEnvironment) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        result.push_str(before);
        let Some((name, tail)) = after.split_once('}') else {
            result.push_str("${");
            rest = after;
            continue;
        };
        result.push_str(host.text(name).unwrap_or_default());
        rest = tail;
    }
    result.push_str(rest);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_file_is_read_and_an_override_wins() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(
            home.path().join(".npmrc"),
            "; comment\nregistry = http://npm.invalid/path/\n//npm.invalid/path/:_authToken=${SECRET}\n",
        )
        .unwrap();
        let host = HostEnvironment::default().with("HOME", home.path()).with("SECRET", "t0ken");
        let settings = NpmSettings::of_host(&host, None);
        assert_eq!(settings.registry.as_deref(), Some("http://npm.invalid/path"));
        assert_eq!(settings.token_for("http://npm.invalid/path/node"), Some("t0ken"));
        assert_eq!(settings.token_for("http://elsewhere.invalid/node"), None);
        let settings = NpmSettings::of_host(&host, Some("http://other.invalid"));
        assert_eq!(settings.registry.as_deref(), Some("http://other.invalid"));
    }
}
