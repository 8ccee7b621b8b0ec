//! The sandbox that the fuzz targets for files share: a confined root next to files that must stay out of
//! reach.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use sandbox_fs::{FileService, Root};
use tempfile::TempDir;

/// The content of every file outside of the root.
pub const SECRET: &[u8] = b"7b1f-not-for-clients-92c4";

/// A root with a workspace in it, and files outside of the root that must not change.
pub struct Sandbox {
    folder: TempDir,
    pub service: FileService,
}

impl Sandbox {
    /// Creates the folders, with every kind of link out of the root.
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("fuzz-").tempdir().expect("a folder can be made");
        let at = |name: &str| folder.path().join(name);
        for name in ["root/work/folder", "outside/folder"] {
            fs::create_dir_all(at(name)).expect("a folder can be made");
        }
        for name in ["outside/file", "outside/folder/file"] {
            fs::write(at(name), SECRET).expect("a file can be written");
        }
        fs::write(at("root/work/file"), "inside").expect("a file can be written");
        for (target, link) in [
            ("../../outside", "root/work/out"),
            ("../../outside/file", "root/work/out-file"),
            ("..", "root/work/up"),
            ("loop", "root/work/loop"),
            ("folder", "root/work/in"),
        ] {
            symlink(target, at(link)).expect("a link can be made");
        }
        symlink(at("outside"), at("root/work/absolute")).expect("a link can be made");
        let root = Root::Confined { root: at("root"), workspace: at("root/work") };
        let service = FileService::open(&root).expect("the root is there");
        Self { folder, service }
    }

    /// The folder that contains the root and the files outside of it.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The workspace.
    pub fn workspace(&self) -> PathBuf {
        self.folder.path().join("root/work")
    }

    /// Panics unless everything outside of the root is unchanged and the workspace still exists.
    pub fn check(&self) {
        let names = |path: &str| -> Vec<String> {
            let entries = fs::read_dir(self.folder.path().join(path)).expect("the folder is still there");
            let names =
                entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
            let mut names: Vec<_> = names.collect();
            names.sort();
            names
        };
        assert_eq!(names(""), ["outside", "root"]);
        assert_eq!(names("outside"), ["file", "folder"]);
        assert_eq!(names("outside/folder"), ["file"]);
        for file in ["outside/file", "outside/folder/file"] {
            assert_eq!(
                fs::read(self.folder.path().join(file)).expect("a file"),
                SECRET,
                "{file} has changed"
            );
        }
        assert!(self.workspace().is_dir(), "the workspace is gone");
    }
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}
