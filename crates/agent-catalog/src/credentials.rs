//! Checks whether an agent's credentials are present. Only names are checked: no value is read, kept or
//! shown.

use std::path::PathBuf;

use crate::host::HostEnvironment;
use crate::manifest::Credentials;

/// Whether any of the named variables is set or any of the named files exists.
pub(crate) fn available(credentials: &Credentials, host: &HostEnvironment) -> bool {
    let variable = credentials.env.iter().any(|name| host.get(name).is_some());
    variable || credentials.files.iter().filter_map(|file| expand(file, host)).any(|path| path.is_file())
}

fn expand(file: &str, host: &HostEnvironment) -> Option<PathBuf> {
    match file.strip_prefix("~/") {
        Some(rest) => host.home().map(|home| home.join(rest)),
        None => Some(PathBuf::from(file)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_variable_or_one_file_is_enough_and_an_empty_variable_does_not_count() {
        let home = tempfile::tempdir().unwrap();
        let credentials = Credentials { env: vec!["KEY".into()], files: vec!["~/.agent/auth.json".into()] };
        let host = HostEnvironment::default().with("HOME", home.path());
        assert!(!available(&credentials, &host));
        assert!(!available(&credentials, &host.clone().with("KEY", "")));
        assert!(available(&credentials, &host.clone().with("KEY", "x")));
        std::fs::create_dir(home.path().join(".agent")).unwrap();
        std::fs::write(home.path().join(".agent/auth.json"), "{}").unwrap();
        assert!(available(&credentials, &host));
    }
}
