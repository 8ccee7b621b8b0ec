//! `/v1/fs/*`: thin routes over the file service.
//!
//! Each endpoint parses its request into the service's types, has the service do the work on a blocking thread, and
//! writes the result down. No path is looked at here beyond being taken from the query string: where it leads is the
//! service's business, and behind it the kernel's.

mod attachment;
mod change;
mod conditions;
mod describe;
mod pack;
mod problem;
mod range;
mod read;
mod unpack;
mod upload;
mod watch;
mod write;

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::routing::{delete, get, post};
use http_edge::{Problem, Query};
use sandbox_fs::{FileService, UserPath};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use self::problem::to_problem;
use crate::settings::FileSettings;

/// How many archives are packed or unpacked at once; each needs a thread for as long as its client takes. More wait
/// for their turn, so that slow clients never take the threads of everybody else.
const ARCHIVES_AT_ONCE: usize = 64;

/// The file endpoints' state. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    service: FileService,
    max_upload_bytes: Option<u64>,
    max_upload_entries: Option<u64>,
    archives: Arc<Semaphore>,
    /// Ends the streams that would not end by themselves.
    stop: CancellationToken,
}

impl Files {
    /// Opens what the settings say.
    ///
    /// # Errors
    /// Root or workspace are no directories, or the workspace is outside the root.
    pub(crate) fn open(settings: &FileSettings, stop: CancellationToken) -> sandbox_fs::Result<Self> {
        Ok(Self {
            service: FileService::open(&settings.root)?,
            max_upload_bytes: settings.max_upload_bytes,
            max_upload_entries: settings.max_upload_entries,
            archives: Arc::new(Semaphore::new(ARCHIVES_AT_ONCE)),
            stop,
        })
    }

    /// Where relative paths start.
    pub(crate) fn workspace(&self) -> &Path {
        self.service.workspace()
    }
}

pub(super) fn routes(files: Files) -> Router {
    Router::new()
        .route("/v1/fs/entries", get(describe::entries))
        .route("/v1/fs/stat", get(describe::stat))
        .route("/v1/fs/file", get(read::read).put(write::write))
        .route("/v1/fs/entry", delete(change::remove))
        .route("/v1/fs/mkdir", post(change::make_directory))
        .route("/v1/fs/move", post(change::move_entry))
        .route("/v1/fs/upload-batch", post(unpack::unpack))
        .route("/v1/fs/download-batch", get(pack::pack))
        .route("/v1/fs/watch", get(watch::watch))
        .with_state(files)
}

/// The `path` that a request must name.
fn required_path(query: &Query<'_>) -> Result<UserPath, Problem> {
    UserPath::parse(query.required("path")?).map_err(to_problem)
}

/// The `path` of a request that means the workspace when it names none.
fn path_or_workspace(query: &Query<'_>) -> Result<UserPath, Problem> {
    match query.one("path")? {
        Some(path) if !path.is_empty() => UserPath::parse(path).map_err(to_problem),
        _ => Ok(UserPath::workspace()),
    }
}

/// A path as answers show it. JSON has no way to say a name that is not UTF-8, so such a name is shown as far as it is.
fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
