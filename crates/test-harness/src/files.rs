//! For the suites about files and configuration: a server per test, and a client that reads complete
//! responses.

mod archive;
mod client;
mod server;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use self::archive::{Tar, gzip, zstd};
pub use self::client::{Answer, file, query};
pub use self::server::{Options, Server};

/// The deadline for everything that is awaited.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Polls until `look` returns a result.
pub async fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: did not happen");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The names in a directory, sorted.
pub fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Everything below a directory with its contents, with links as their targets, to compare before and after.
/// Entries that vanish while they are read are omitted.
pub fn snapshot(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        for path in entries.map_while(Result::ok).map(|entry| entry.path()) {
            let Ok(kind) = path.symlink_metadata().map(|metadata| metadata.file_type()) else { continue };
            let content = if kind.is_symlink() {
                std::fs::read_link(&path).map(|target| target.into_os_string().into_encoded_bytes())
            } else if kind.is_dir() {
                waiting.push(path.clone());
                Ok(b"directory".to_vec())
            } else {
                std::fs::read(&path)
            };
            found.extend(content.map(|content| (path, content)));
        }
    }
    found.sort();
    found
}
