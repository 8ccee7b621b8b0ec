//! The parts of pip's configuration that are passed on to uv: index, extra indexes, links, certificates.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::host::HostEnvironment;

/// pip's configuration on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PipConfig {
    /// The user's own file. pip finds this file only through the home directory, unlike the others.
    pub(crate) user_file: Option<PathBuf>,
    pub(crate) index_url: Option<String>,
    /// Additional indexes, separated by spaces.
    pub(crate) extra_index_urls: Option<String>,
    /// Directories and pages with links to packages, separated by spaces.
    pub(crate) find_links: Option<String>,
    pub(crate) certificates: Option<String>,
    /// Hosts whose certificates are not checked, separated by spaces.
    pub(crate) trusted_hosts: Option<String>,
    pub(crate) proxy: Option<String>,
}

impl PipConfig {
    /// Reads the files in pip's order, then the `PIP_*` variables.
    pub(crate) fn of_host(host: &HostEnvironment) -> Self {
        let user_file = user_files(host).into_iter().find(|path| path.exists());
        let mut settings = BTreeMap::new();
        let environment_file = host.get("PIP_CONFIG_FILE").map(PathBuf::from);
        let files = [Some(PathBuf::from("/etc/pip.conf")), user_file.clone(), environment_file];
        for file in files.into_iter().flatten() {
            read_into(&mut settings, &file);
        }
        let setting = |variable: &str, key: &str| {
            let from_variable = host.text(variable).map(str::to_owned);
            from_variable.or_else(|| settings.get(key).cloned()).filter(|value| !value.is_empty())
        };
        Self {
            index_url: setting("PIP_INDEX_URL", "index-url"),
            extra_index_urls: setting("PIP_EXTRA_INDEX_URL", "extra-index-url"),
            find_links: setting("PIP_FIND_LINKS", "find-links"),
            certificates: setting("PIP_CERT", "cert"),
            trusted_hosts: setting("PIP_TRUSTED_HOST", "trusted-host"),
            proxy: setting("PIP_PROXY", "proxy"),
            user_file,
        }
    }
}

fn user_files(host: &HostEnvironment) -> Vec<PathBuf> {
    let home = host.home();
    let config_home = host
        .get("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| home.as_ref().map(|home| home.join(".config")));
    let modern = config_home.map(|config| config.join("pip/pip.conf"));
    let legacy = home.map(|home| home.join(".pip/pip.conf"));
    modern.into_iter().chain(legacy).collect()
}

fn read_into(settings: &mut BTreeMap<String, String>, file: &Path) {
    if let Ok(text) = std::fs::read_to_string(file) {
        settings.extend(parse(&text));
    }
}

/// Parses the `[global]` and `[install]` sections. Continuation lines are joined with spaces.
fn parse(text: &str) -> BTreeMap<String, String> {
    let mut settings: BTreeMap<String, String> = BTreeMap::new();
    let mut relevant = false;
    let mut last_key: Option<String> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(section) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            relevant = matches!(section.trim(), "global" | "install");
            last_key = None;
        } else if !relevant {
            continue;
        } else if line.starts_with(char::is_whitespace) && last_key.is_some() {
            let value = last_key.as_ref().and_then(|key| settings.get_mut(key));
            if let Some(value) = value {
                value.push(' ');
                value.push_str(trimmed);
            }
        } else if let Some((key, value)) = trimmed.split_once(['=', ':']) {
            let key = key.trim().replace('_', "-");
            settings.insert(key.clone(), value.trim().to_owned());
            last_key = Some(key);
        }
    }
    for value in settings.values_mut() {
        *value = value.trim().to_owned();
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_other_commands_are_left_out_and_long_values_joined() {
        let settings = parse(
            "[global]\nindex_url = http://one.invalid/simple\n# comment\nextra-index-url =\n  http://a.invalid\n  \
             http://b.invalid\n[list]\nformat = json\n[install]\nfind-links: /wheels\n",
        );
        assert_eq!(settings["index-url"], "http://one.invalid/simple");
        assert_eq!(settings["extra-index-url"], "http://a.invalid http://b.invalid");
        assert_eq!(settings["find-links"], "/wheels");
        assert!(!settings.contains_key("format"));
    }

    #[test]
    fn a_variable_beats_a_file() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join(".config/pip")).unwrap();
        std::fs::write(home.path().join(".config/pip/pip.conf"), "[global]\nindex-url=http://file.invalid\n")
            .unwrap();
        let host = HostEnvironment::default().with("HOME", home.path());
        assert_eq!(PipConfig::of_host(&host).index_url.as_deref(), Some("http://file.invalid"));
        let host = host.with("PIP_INDEX_URL", "http://variable.invalid");
        assert_eq!(PipConfig::of_host(&host).index_url.as_deref(), Some("http://variable.invalid"));
    }
}
