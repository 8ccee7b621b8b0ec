//! `/v1/config/mcp` and `/v1/config/skills`: thin routes over the configuration store.
//!
//! Both have the same routes, for two kinds of entries. Storage only: nothing here is passed to an agent.

#[cfg(test)]
pub(super) mod document;
mod problem;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, Uri, header};
use http_server::{Code, Problem, Query, Routes, negotiate};
use sandbox_config::{
    Collection, ConfigStore, Directory, Entry, EntryName, MAX_ENTRY_BYTES, McpEntry, SkillsEntry,
};
use serde::Serialize;
use tokio::sync::Semaphore;

use self::problem::to_problem;
use super::blocking::blocking;
use super::upload::Upload;

/// How many writes run at the same time. Each may wait for a lock, and while it waits it occupies a thread that other
/// requests need.
const WRITES_AT_ONCE: usize = 16;
/// How long a write waits for its turn.
const TURN_LIMIT: Duration = Duration::from_secs(60);

/// The configuration endpoints' state. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Configuration {
    store: ConfigStore,
    workspace: PathBuf,
    /// Room for writes; see [`WRITES_AT_ONCE`].
    writes: Arc<Semaphore>,
}

impl Configuration {
    /// Opens the store under the data directory; relative directories start at the workspace.
    ///
    /// # Errors
    /// The store's directory cannot be created.
    pub(crate) fn open(data_directory: &Path, workspace: &Path) -> Result<Self, sandbox_config::Error> {
        let writes = Arc::new(Semaphore::new(WRITES_AT_ONCE));
        Ok(Self { store: ConfigStore::open(data_directory)?, workspace: workspace.to_owned(), writes })
    }
}

/// A kind of entry.
trait Kind: Entry {
    /// The path of a single entry.
    const PATH: &'static str;
    /// The path that lists all entries of a directory.
    const ENTRIES_PATH: &'static str;
    /// The query parameter with the name of an entry.
    const NAME: &'static str;

    fn collection(store: &ConfigStore) -> Collection<'_, Self>;
}

impl Kind for McpEntry {
    const PATH: &'static str = "/v1/config/mcp";
    const ENTRIES_PATH: &'static str = "/v1/config/mcp/entries";
    const NAME: &'static str = "mcpName";

    fn collection(store: &ConfigStore) -> Collection<'_, Self> {
        store.mcp()
    }
}

impl Kind for SkillsEntry {
    const PATH: &'static str = "/v1/config/skills";
    const ENTRIES_PATH: &'static str = "/v1/config/skills/entries";
    const NAME: &'static str = "skillName";

    fn collection(store: &ConfigStore) -> Collection<'_, Self> {
        store.skills()
    }
}

pub(super) fn routes(configuration: Configuration) -> Routes {
    let routes = Routes::new().merge(routes_of::<McpEntry>()).merge(routes_of::<SkillsEntry>());
    routes.with_state(configuration)
}

fn routes_of<K: Kind>() -> Routes<Configuration> {
    Routes::new()
        .get(K::PATH, read::<K>)
        .put(K::PATH, store::<K>)
        .delete(K::PATH, remove::<K>)
        .get(K::ENTRIES_PATH, list::<K>)
}

async fn read<K: Kind>(
    State(configuration): State<Configuration>,
    request: Request,
) -> Result<Response, Problem> {
    let (directory, name) = entry_key::<K>(&configuration, request.uri())?;
    let missing = Problem::new(
        Code::ConfigNotFound,
        format!("{} has no entry {name}; GET {} lists its entries", directory.as_str(), K::ENTRIES_PATH),
    );
    let found = blocking(move || K::collection(&configuration.store).get(&directory, &name)).await?;
    let entry = found.map_err(|error| to_problem(&error, K::NAME))?.ok_or(missing)?;
    Ok(json(entry.as_json().to_owned().into_bytes()))
}

async fn store<K: Kind>(
    State(configuration): State<Configuration>,
    request: Request,
) -> Result<StatusCode, Problem> {
    let (parts, body) = request.into_parts();
    let upload = Upload::new(body);
    let (directory, name) = entry_key::<K>(&configuration, &parts.uri)?;
    negotiate::require_json(&parts.headers)?;
    let body = upload.read_all(MAX_ENTRY_BYTES).await?;
    let entry = K::parse(&body).map_err(|error| to_problem(&error, K::NAME))?;
    write::<K, _>(configuration, move |collection| collection.put(&directory, &name, &entry)).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn remove<K: Kind>(
    State(configuration): State<Configuration>,
    request: Request,
) -> Result<StatusCode, Problem> {
    let (directory, name) = entry_key::<K>(&configuration, request.uri())?;
    write::<K, _>(configuration, move |collection| collection.delete(&directory, &name)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Writes when it is this write's turn.
async fn write<K: Kind, T: Send + 'static>(
    configuration: Configuration,
    change: impl FnOnce(Collection<'_, K>) -> Result<T, sandbox_config::Error> + Send + 'static,
) -> Result<T, Problem> {
    let turn = Arc::clone(&configuration.writes).acquire_owned();
    let turn = tokio::time::timeout(TURN_LIMIT, turn).await.map_err(|_| problem::too_many_writes())?;
    let changed = blocking(move || {
        let _turn = turn;
        change(K::collection(&configuration.store))
    });
    changed.await?.map_err(|error| to_problem(&error, K::NAME))
}

/// All entries of a directory.
#[derive(Serialize)]
#[serde(bound = "K: Kind")]
struct Entries<K> {
    entries: BTreeMap<EntryName, K>,
}

async fn list<K: Kind>(
    State(configuration): State<Configuration>,
    request: Request,
) -> Result<Response, Problem> {
    let directory = directory::<K>(&configuration, &Query::of(request.uri()))?;
    let entries = blocking(move || K::collection(&configuration.store).entries(&directory))
        .await?
        .map_err(|error| to_problem(&error, K::NAME))?;
    let text = serde_json::to_vec(&Entries { entries }).map_err(|error| {
        tracing::error!(%error, "cannot serialise configuration entries");
        Problem::new(Code::Internal, "internal error; see the server's log")
    })?;
    Ok(json(text))
}

fn entry_key<K: Kind>(configuration: &Configuration, uri: &Uri) -> Result<(Directory, EntryName), Problem> {
    let query = Query::of(uri);
    let directory = directory::<K>(configuration, &query)?;
    let name = EntryName::parse(query.required(K::NAME)?).map_err(|error| to_problem(&error, K::NAME))?;
    Ok((directory, name))
}

fn directory<K: Kind>(configuration: &Configuration, query: &Query<'_>) -> Result<Directory, Problem> {
    Directory::resolve(&configuration.workspace, query.required("directory")?)
        .map_err(|error| to_problem(&error, K::NAME))
}

/// A response with text that is already JSON.
fn json(text: Vec<u8>) -> Response {
    let mut response = text.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // Entries may contain secrets.
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
