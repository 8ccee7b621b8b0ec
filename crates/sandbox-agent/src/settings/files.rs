//! Which files the server serves, and the limits of uploads.

use std::path::{Path, PathBuf};

use sandbox_fs::Root;

use super::SettingsError;
use super::arguments::ServerArguments;
use super::file::ConfigFile;
use super::units::ByteSize;

/// The default limit on the entries of an uploaded archive: large enough for real projects (a big `node_modules` has a
/// few hundred thousand files), small enough that an archive of empty files does not use up all inodes.
const DEFAULT_MAX_UPLOAD_ENTRIES: u64 = 500_000;

/// The settings of the file endpoints.
#[derive(Debug)]
pub(crate) struct FileSettings {
    /// Which files may be accessed, and where relative paths start.
    pub(crate) root: Root,
    /// Maximum size of one upload, unpacked if it is an archive.
    pub(crate) max_upload_bytes: Option<u64>,
    /// Maximum number of entries in one uploaded archive.
    pub(crate) max_upload_entries: Option<u64>,
}

impl FileSettings {
    pub(super) fn resolve(arguments: &ServerArguments, file: &ConfigFile) -> Result<Self, SettingsError> {
        let workspace = arguments.files.workspace.clone().or(file.workspace.clone());
        let fs_root = arguments.files.fs_root.clone().or(file.fs_root.clone());
        let started_in = match &workspace {
            Some(_) => PathBuf::new(),
            None => std::env::current_dir().map_err(SettingsError::NoWorkspace)?,
        };
        let (given, from_file) = (&arguments.limits, &file.limits);
        let bytes = given.max_upload_bytes.or(from_file.max_upload_bytes).map_or(0, ByteSize::get);
        let entries = given.max_upload_entries.or(from_file.max_upload_entries);
        // Zero means no limit.
        let optional = |limit: u64| (limit > 0).then_some(limit);
        Ok(Self {
            root: root(workspace, fs_root, &started_in),
            max_upload_bytes: optional(bytes as u64),
            max_upload_entries: optional(entries.unwrap_or(DEFAULT_MAX_UPLOAD_ENTRIES)),
        })
    }
}

/// With a root but no workspace, relative paths start in the directory that the server was started in, or in the root
/// if that directory is outside of it.
fn root(workspace: Option<PathBuf>, fs_root: Option<PathBuf>, started_in: &Path) -> Root {
    let Some(root) = fs_root else {
        return Root::Unconfined { workspace: workspace.unwrap_or_else(|| started_in.to_owned()) };
    };
    let workspace = workspace.unwrap_or_else(|| {
        let inside = root.canonicalize().is_ok_and(|root| started_in.starts_with(root));
        if inside { started_in.to_owned() } else { root.clone() }
    });
    Root::Confined { root, workspace }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_start_in_the_current_directory_if_it_is_inside_the_root() {
        let started_in = std::env::temp_dir().canonicalize().unwrap();
        let workspace = |given: Option<&str>, fs_root: Option<&Path>| match root(
            given.map(PathBuf::from),
            fs_root.map(Path::to_owned),
            &started_in,
        ) {
            Root::Unconfined { workspace } | Root::Confined { workspace, .. } => workspace,
        };
        assert_eq!(workspace(None, None), started_in);
        assert_eq!(workspace(Some("/srv"), None), Path::new("/srv"));
        assert_eq!(workspace(None, Some(Path::new("/"))), started_in);
        assert_eq!(workspace(None, Some(Path::new("/proc"))), Path::new("/proc"));
        assert_eq!(workspace(Some("/proc/1"), Some(Path::new("/proc"))), Path::new("/proc/1"));
    }
}
