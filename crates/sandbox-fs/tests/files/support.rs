//! Shared test support: a scratch tree with a service, and child processes that run under other restrictions.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use sandbox_fs::{AtomicWriter, FileService, Root, UserPath, WriteOptions, WriteOutcome};
use tempfile::TempDir;

/// A temporary directory with `workspace` (served) and `outside` (must not be touched).
pub(crate) struct Scratch {
    pub(crate) service: FileService,
    pub(crate) workspace: PathBuf,
    pub(crate) outside: PathBuf,
    _directory: TempDir,
}

impl Scratch {
    pub(crate) fn unconfined() -> Self {
        Self::with(|workspace| Root::Unconfined { workspace: workspace.into() })
    }

    pub(crate) fn confined() -> Self {
        Self::with(|workspace| Root::Confined { root: workspace.into(), workspace: workspace.into() })
    }

    fn with(root: impl FnOnce(&Path) -> Root) -> Self {
        let directory = TempDir::new().unwrap();
        let top = directory.path().canonicalize().unwrap();
        let (workspace, outside) = (top.join("workspace"), top.join("outside"));
        fs::create_dir(&workspace).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "secret").unwrap();
        let service = FileService::open(&root(&workspace)).unwrap();
        Self { service, workspace, outside, _directory: directory }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.workspace.join(name)
    }

    pub(crate) fn file(&self, name: &str, contents: &str) -> PathBuf {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, contents).unwrap();
        path
    }

    pub(crate) fn directory(&self, name: &str) -> PathBuf {
        let path = self.at(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    pub(crate) fn link(&self, name: &str, target: impl AsRef<Path>) -> PathBuf {
        let path = self.at(name);
        std::os::unix::fs::symlink(target, &path).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }

    pub(crate) fn begin(&self, name: &str) -> sandbox_fs::Result<AtomicWriter> {
        self.service.begin_write(&path(name), &WriteOptions::default())
    }

    pub(crate) fn put(&self, name: &str, contents: &str) -> sandbox_fs::Result<WriteOutcome> {
        self.put_with(name, contents, &WriteOptions::default())
    }

    pub(crate) fn put_with(
        &self,
        name: &str,
        contents: &str,
        options: &WriteOptions,
    ) -> sandbox_fs::Result<WriteOutcome> {
        let mut writer = self.service.begin_write(&path(name), options)?;
        writer.write_chunk(contents.as_bytes())?;
        writer.commit()
    }

    /// Everything in the workspace, to check that a failed operation changed nothing.
    pub(crate) fn snapshot(&self) -> BTreeMap<PathBuf, String> {
        snapshot(&self.workspace)
    }

    /// Checks that the outside file is unchanged and that nothing was created next to it.
    pub(crate) fn assert_outside_untouched(&self) {
        let names: Vec<_> =
            fs::read_dir(&self.outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["secret"], "something was created outside");
        assert_eq!(fs::read_to_string(self.outside.join("secret")).unwrap(), "secret");
    }
}

pub(crate) fn path(name: impl AsRef<Path>) -> UserPath {
    UserPath::parse(name.as_ref().as_os_str()).unwrap()
}

/// Kind, mode and contents of everything below a directory.
pub(crate) fn snapshot(top: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut ahead = vec![top.to_path_buf()];
    while let Some(directory) = ahead.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let mode = metadata.mode() & 0o7777;
            let described = if metadata.is_dir() {
                ahead.push(path.clone());
                format!("directory {mode:o}")
            } else if metadata.is_symlink() {
                format!("link {}", path.read_link().unwrap().display())
            } else if metadata.is_file() {
                format!("file {mode:o} {:?}", String::from_utf8_lossy(&fs::read(&path).unwrap()))
            } else {
                format!("other {mode:o}")
            };
            found.insert(path.strip_prefix(top).unwrap().to_path_buf(), described);
        }
    }
    found
}

/// Stops a helper thread when the test ends, even if it fails.
pub(crate) struct StopOnDrop<'a>(pub(crate) &'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Temporary names that the service must not leave behind.
pub(crate) fn leftovers(top: &Path) -> Vec<PathBuf> {
    let ours =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.as_bytes().starts_with(b".sandbox-agent-"));
    snapshot(top).into_keys().filter(ours).collect()
}

/// The restrictions of a test's child process.
#[derive(Clone, Copy)]
pub(crate) enum Rules {
    /// The same as the test's.
    Same,
    /// A mount namespace of its own, where it may mount.
    PrivateMounts,
    /// An unprivileged user.
    Unprivileged,
}

const CHILD: &str = "SANDBOX_FS_TEST_CHILD";
const RAN: &str = "the child has finished";

/// Runs `body` in a child process: this test binary again, with only the named test.
///
/// The test fails on a system that does not permit this; it is never skipped.
pub(crate) fn in_child(test: &str, rules: Rules, body: impl FnOnce()) {
    if std::env::var_os(CHILD).is_some_and(|name| name == test) {
        body();
        println!("{RAN}");
        return;
    }
    let root = rustix::process::geteuid().is_root();
    let prefix: &[&str] = match (rules, root) {
        (Rules::Same, _) | (Rules::Unprivileged, false) => &[],
        (Rules::PrivateMounts, true) => &["unshare", "--mount", "--propagation", "private", "--"],
        (Rules::PrivateMounts, false) => &["unshare", "--map-root-user", "--mount", "--"],
        (Rules::Unprivileged, true) => {
            &["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]
        }
    };
    // Use a copy, because the other user may not have access to the build directory.
    let place = TempDir::new().unwrap();
    let binary = place.path().join("files");
    fs::copy(std::env::current_exe().unwrap(), &binary).unwrap();
    fs::set_permissions(place.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut words = prefix.iter().map(Into::into).chain([binary.into_os_string()]);
    let output = Command::new(words.next().unwrap())
        .args(words)
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, test)
        .current_dir("/")
        .output()
        .expect("this test needs unshare and setpriv (util-linux)");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains(RAN), "the child of {test} failed:\n{text}\n{errors}");
}

/// Mounts a small file system on a directory. Only for children with [`Rules::PrivateMounts`].
pub(crate) fn mount_small(directory: &Path, size: &str) {
    let status = Command::new("mount")
        .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
        .arg(directory)
        .status()
        .expect("this test needs mount (util-linux)");
    assert!(status.success(), "this test must be allowed to mount a tmpfs");
}

/// Denies a system call to this process from now on. Only for children.
pub(crate) fn deny(call: i64, errno: rustix::io::Errno) {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
    let answer = SeccompAction::Errno(errno.raw_os_error().unsigned_abs());
    let architecture = std::env::consts::ARCH.try_into().unwrap();
    let filter =
        SeccompFilter::new([(call, vec![])].into(), SeccompAction::Allow, answer, architecture).unwrap();
    seccompiler::apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
}

/// The number of `openat2`, the same on every architecture.
pub(crate) const OPENAT2: i64 = 437;
/// The number of `renameat2`.
#[cfg(target_arch = "x86_64")]
pub(crate) const RENAMEAT2: i64 = 316;
/// The number of `renameat2`.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) const RENAMEAT2: i64 = 276;
