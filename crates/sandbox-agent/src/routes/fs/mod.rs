//! `/v1/fs/*`: thin routes over the file service.
//!
//! Each endpoint parses its request into the service's types, calls the service on a blocking thread, and serialises
//! the result. Paths are only decoded from the query string here: resolving and checking them is left to the service
//! and the kernel.

mod attachment;
mod change;
mod conditions;
mod describe;
#[cfg(test)]
pub(super) mod document;
mod metrics;
mod pack;
mod problem;
mod range;
mod read;
mod slots;
mod unpack;
mod watch;
mod write;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::sync::Arc;

use event_log::MemoryAccount;
use http::Uri;
use http_server::{Problem, Query, Routes};
use sandbox_fs::{FileService, Options, UserPath};
use tokio_util::sync::CancellationToken;

use self::metrics::FileMetrics;
use self::problem::to_problem;
use self::slots::Slots;
use crate::settings::FileSettings;

/// The file endpoints' state. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    service: FileService,
    max_upload_bytes: Option<u64>,
    max_upload_entries: Option<u64>,
    archives: Slots,
    memory: Arc<MemoryAccount>,
    metrics: Arc<FileMetrics>,
    /// Cancelled at shutdown to end the streams, which have no end of their own.
    stop: CancellationToken,
}

impl Files {
    /// Opens the root and the workspace of the settings. What transfers hold is charged to `memory`.
    ///
    /// # Errors
    /// The root or the workspace is not a directory, or the workspace is outside the root.
    pub(crate) fn open(
        settings: &FileSettings,
        data_directory: &Path,
        memory: &Arc<MemoryAccount>,
        stop: CancellationToken,
    ) -> sandbox_fs::Result<Self> {
        let options =
            Options { temporaries_directory: Some(data_directory.join("uploads")), ..Options::default() };
        let service = FileService::open_with(&settings.root, options)?;
        // Remove the temporary files and folders of a server that was killed.
        service.remove_leftovers();
        Ok(Self {
            service,
            max_upload_bytes: settings.max_upload_bytes,
            max_upload_entries: settings.max_upload_entries,
            archives: Slots::new(memory),
            memory: Arc::clone(memory),
            metrics: Arc::default(),
            stop,
        })
    }

    /// Where relative paths start.
    pub(crate) fn workspace(&self) -> &Path {
        self.service.workspace()
    }

    /// Writes the counters of the file endpoints.
    pub(crate) fn expose(&self, text: &mut ::metrics::Exposition) {
        self.metrics.expose(text);
    }
}

pub(super) fn routes(files: Files) -> Routes {
    Routes::new()
        .get("/v1/fs/entries", describe::entries)
        .get("/v1/fs/stat", describe::stat)
        .get("/v1/fs/file", read::read)
        .head("/v1/fs/file", read::head)
        .put("/v1/fs/file", write::write)
        .delete("/v1/fs/entry", change::remove)
        .post("/v1/fs/mkdir", change::make_directory)
        .post("/v1/fs/move", change::move_entry)
        .post("/v1/fs/upload-batch", unpack::unpack)
        .get("/v1/fs/download-batch", pack::pack)
        .get("/v1/fs/watch", watch::watch)
        .with_state(files)
}

/// The `path` parameter of a request that needs one.
fn required_path(uri: &Uri) -> Result<UserPath, Problem> {
    Query::of(uri).required("path")?;
    path_or_workspace(uri)
}

/// The `path` parameter of a request; default: the workspace.
fn path_or_workspace(uri: &Uri) -> Result<UserPath, Problem> {
    let query = Query::of(uri);
    match query.one("path")?.filter(|path| !path.is_empty()) {
        None => Ok(UserPath::workspace()),
        // Decoding has replaced bytes that are not UTF-8, so the text may name a different file.
        Some(path) if path.contains(char::REPLACEMENT_CHARACTER) => {
            UserPath::parse(OsString::from_vec(raw_path(uri))).map_err(to_problem)
        }
        Some(path) => UserPath::parse(path).map_err(to_problem),
    }
}

/// The raw bytes of `path`: file names need not be UTF-8.
fn raw_path(uri: &Uri) -> Vec<u8> {
    let pairs = uri.query().unwrap_or_default().split('&');
    let value = pairs.filter_map(|pair| pair.strip_prefix("path=")).next().unwrap_or_default();
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hexadecimal = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = hexadecimal.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let (byte, left) = match (first, escaped) {
            (b'%', Some(byte)) => (byte, &after[2..]),
            (b'+', _) => (b' ', after),
            (byte, _) => (*byte, after),
        };
        bytes.push(byte);
        rest = left;
    }
    bytes
}

/// A path as text for responses. JSON cannot represent a name that is not UTF-8, so its invalid bytes are replaced.
fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_keeps_bytes_that_are_not_utf8() {
        let path = |query: &str| {
            let uri: Uri = format!("/v1/fs/file?{query}").parse().unwrap();
            required_path(&uri).map(|path| path.as_path().as_os_str().as_encoded_bytes().to_vec())
        };
        assert_eq!(path("x=1&path=a+b%2Fc&y=2"), Ok(b"a b/c".to_vec()));
        assert_eq!(path("x=1&path=%ff+%C3%BC%2&y=2"), Ok(b"\xff \xc3\xbc%2".to_vec()));
        assert_eq!(path("path=%EF%BF%BD"), Ok("\u{fffd}".as_bytes().to_vec()));
        assert!(path("path=").is_err());
        assert!(path("path=%ff&path=b").is_err());
    }
}
