//! The ACP registry's document: downloaded, revalidated and cached on disk.
//!
//! A registry that is unreachable, slow or sends invalid data does not cause an error here: the caller gets the
//! cached document or the reason why there is none, and continues with the manifest's fallback.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent_id::AgentId;
use crate::distribution::Distribution;
use crate::error::CatalogError;
use crate::http::{LazyClient, chain};
use crate::layout::{read_json, write_atomically};

/// The time limit for the whole request, body included.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
/// A document younger than this is used without revalidation.
const FRESH_FOR: Duration = Duration::from_secs(15 * 60);
/// After a failure, the registry is not contacted again for this long.
const RETRY_AFTER: Duration = Duration::from_secs(30);
const MAX_DOCUMENT: usize = 32 << 20;

/// One agent of the registry.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RegistryAgent {
    /// The agent's id.
    pub id: AgentId,
    /// The agent's name.
    #[serde(default)]
    pub name: String,
    /// The offered version.
    #[serde(default)]
    pub version: String,
    /// A description in one sentence.
    #[serde(default)]
    pub description: String,
    /// How the agent is distributed.
    pub distribution: Distribution,
}

/// The registry's document, without unreadable entries.
#[derive(Debug, Clone, Default)]
pub struct RegistryDocument {
    agents: Vec<RegistryAgent>,
}

impl RegistryDocument {
    /// Parses a document. An unreadable entry is skipped; the rest is used.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Outer {
            agents: Vec<Value>,
        }
        let outer: Outer =
            serde_json::from_slice(bytes).map_err(|error| format!("not a registry: {error}"))?;
        let agents =
            outer.agents.into_iter().filter_map(|entry| serde_json::from_value(entry).ok()).collect();
        Ok(Self { agents })
    }

    /// All agents.
    #[must_use]
    pub fn agents(&self) -> &[RegistryAgent] {
        &self.agents
    }

    /// The agent with this id.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&RegistryAgent> {
        self.agents.iter().find(|agent| agent.id.as_str() == id)
    }
}

/// The known state of the registry.
#[derive(Debug, Clone)]
pub struct RegistryAnswer {
    /// The newest available document, downloaded or cached.
    pub document: Option<Arc<RegistryDocument>>,
    /// Why the last request to the registry failed, if it did.
    pub problem: Option<String>,
    pub(crate) reach: Reach,
}

/// Where a registry's document comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// A file named by the operator, which may refer to other local files.
    Local,
    /// A server, which must not refer to local files.
    Network,
}

/// Metadata stored next to the cached document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct CacheHeader {
    url: String,
    etag: Option<String>,
    last_modified: Option<String>,
    checked_at_ms: u64,
}

#[derive(Debug, Default)]
struct Memory {
    document: Option<Arc<RegistryDocument>>,
    header: CacheHeader,
    loaded_from_disk: bool,
    checked: Option<Instant>,
    /// When the registry was last contacted, successfully or not.
    asked: Option<Instant>,
    problem: Option<(Instant, String)>,
}

/// A caching client of the registry.
#[derive(Debug)]
pub struct RegistryClient {
    url: String,
    cache: PathBuf,
    http: LazyClient,
    memory: Mutex<Memory>,
    /// Serialises downloads; the other callers find the first one's result.
    fetching: tokio::sync::Mutex<()>,
}

impl RegistryClient {
    pub(crate) fn new(url: &str, cache: PathBuf, http: LazyClient) -> Result<Self, CatalogError> {
        let known = ["http://", "https://", "file://"].iter().any(|scheme| url.starts_with(scheme));
        if !known {
            let detail = format!("registry URL {url:?} must start with http://, https:// or file://");
            return Err(CatalogError::Configuration { detail });
        }
        let memory = Mutex::new(Memory::default());
        Ok(Self { url: url.to_owned(), cache, http, memory, fetching: tokio::sync::Mutex::new(()) })
    }

    /// Returns what is known without a request: from this process's memory, or else from disk.
    pub fn cached(&self) -> RegistryAnswer {
        let mut memory = self.locked();
        if !memory.loaded_from_disk {
            memory.loaded_from_disk = true;
            if let Some((header, document)) = self.load() {
                memory.header = header;
                memory.document = Some(Arc::new(document));
            }
        }
        RegistryAnswer {
            document: memory.document.clone(),
            problem: memory.problem.as_ref().map(|(_, problem)| problem.clone()),
            reach: self.reach(),
        }
    }

    fn reach(&self) -> Reach {
        if self.url.starts_with("file://") { Reach::Local } else { Reach::Network }
    }

    /// Whether [`Self::lookup`] would use the network.
    pub(crate) fn is_stale(&self) -> bool {
        let known = self.cached();
        let memory = self.locked();
        let checked = memory.checked.map(|at| at.elapsed()).or_else(|| age(memory.header.checked_at_ms));
        let fresh = known.document.is_some() && checked.is_some_and(|age| age < FRESH_FOR);
        let refused = memory.problem.as_ref().is_some_and(|(at, _)| at.elapsed() < RETRY_AFTER);
        // A registry that is a file is always read again: that is cheap, and tests and operators edit the file.
        self.reach() == Reach::Local || !(fresh || refused)
    }

    /// The registry's document, downloaded again when the known one is stale.
    pub async fn lookup(&self) -> RegistryAnswer {
        if !self.is_stale() {
            return self.cached();
        }
        let _one_at_a_time = self.fetching.lock().await;
        if self.is_stale() {
            self.ask().await;
        }
        self.cached()
    }

    /// The registry's document, fetched at `since` or later. A registry that failed recently is not contacted again.
    pub(crate) async fn lookup_since(&self, since: Instant) -> RegistryAnswer {
        let _one_at_a_time = self.fetching.lock().await;
        let is_due = {
            let memory = self.locked();
            let refused = memory.problem.as_ref().is_some_and(|(at, _)| at.elapsed() < RETRY_AFTER);
            !refused && memory.asked.is_none_or(|asked| asked < since)
        };
        if is_due {
            self.ask().await;
        }
        self.cached()
    }

    /// Fetches the document. The caller holds `fetching`.
    async fn ask(&self) {
        self.locked().asked = Some(Instant::now());
        let fetched = tokio::time::timeout(FETCH_TIMEOUT, self.fetch()).await;
        let outcome = fetched
            .unwrap_or_else(|_| Err(format!("no complete answer within {} s", FETCH_TIMEOUT.as_secs())));
        match outcome {
            Ok(()) => self.locked().problem = None,
            Err(reason) => {
                tracing::warn!(url = %self.url, %reason, "cannot use the ACP registry");
                self.locked().problem = Some((Instant::now(), reason));
            }
        }
    }

    /// The registry's document, downloaded again even if the known one is fresh.
    pub async fn refresh(&self) -> RegistryAnswer {
        // Load the header from disk first: otherwise a later load would restore the time that is cleared
        // here.
        self.cached();
        self.expire();
        self.lookup().await
    }

    /// Marks the known document as stale, so that the next lookup uses the network.
    fn expire(&self) {
        let mut memory = self.locked();
        memory.checked = None;
        memory.header.checked_at_ms = 0;
        memory.problem = None;
    }

    async fn fetch(&self) -> Result<(), String> {
        if let Some(path) = self.url.strip_prefix("file://") {
            let bytes = tokio::fs::read(path).await.map_err(|error| format!("{path}: {error}"))?;
            return self.keep(&bytes, CacheHeader { url: self.url.clone(), ..CacheHeader::default() });
        }
        let known = self.locked().header.clone();
        let mut request = self.http.get()?.get(&self.url).header("accept", "application/json");
        if self.cached().document.is_some() {
            if let Some(etag) = &known.etag {
                request = request.header("if-none-match", etag);
            }
            if let Some(date) = &known.last_modified {
                request = request.header("if-modified-since", date);
            }
        }
        let response = request.send().await.map_err(|error| chain(&error))?;
        if response.status() == reqwest::StatusCode::NOT_MODIFIED {
            let header = CacheHeader { checked_at_ms: now_ms(), ..known };
            self.write_header(&header);
            let mut memory = self.locked();
            memory.header = header;
            memory.checked = Some(Instant::now());
            return Ok(());
        }
        if !response.status().is_success() {
            return Err(format!("the registry answered {}", response.status()));
        }
        let text_of =
            |name: &str| response.headers().get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
        let header = CacheHeader {
            url: self.url.clone(),
            etag: text_of("etag"),
            last_modified: text_of("last-modified"),
            checked_at_ms: now_ms(),
        };
        let mut body = Vec::new();
        let mut stream = response.bytes_stream();
        while let Some(chunk) = stream.next().await {
            body.extend_from_slice(&chunk.map_err(|error| chain(&error))?);
            if body.len() > MAX_DOCUMENT {
                return Err(format!("the registry's document is larger than {MAX_DOCUMENT} bytes"));
            }
        }
        self.keep(&body, header)
    }

    /// Stores a document in memory and, if possible, on disk.
    fn keep(&self, bytes: &[u8], header: CacheHeader) -> Result<(), String> {
        let document = RegistryDocument::parse(bytes)?;
        if let Err(error) = write_atomically(&self.document_path(), bytes) {
            tracing::warn!(%error, "cannot cache the registry's document");
        } else {
            self.write_header(&header);
        }
        let mut memory = self.locked();
        memory.document = Some(Arc::new(document));
        memory.header = header;
        memory.checked = Some(Instant::now());
        memory.loaded_from_disk = true;
        Ok(())
    }

    fn load(&self) -> Option<(CacheHeader, RegistryDocument)> {
        let header: CacheHeader = read_json(&self.header_path()).ok()?;
        // A document from another registry's address must not be used for this one.
        if header.url != self.url {
            return None;
        }
        let bytes = std::fs::read(self.document_path()).ok()?;
        Some((header, RegistryDocument::parse(&bytes).ok()?))
    }

    fn write_header(&self, header: &CacheHeader) {
        if let Err(error) = crate::layout::write_json(&self.header_path(), header) {
            tracing::debug!(%error, "cannot write the registry cache's header");
        }
    }

    fn document_path(&self) -> PathBuf {
        self.cache.join("registry.json")
    }

    fn header_path(&self) -> PathBuf {
        Path::new(&self.cache).join("registry.header.json")
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Memory> {
        // Values are assigned in one step under the lock, so the state is still usable after a panic.
        self.memory.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn age(checked_at_ms: u64) -> Option<Duration> {
    // A time in the future means that the clock was changed: the age is unknown.
    (checked_at_ms > 0).then(|| now_ms().checked_sub(checked_at_ms).map(Duration::from_millis)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreadable_entry_does_not_prevent_reading_the_others() {
        let document = RegistryDocument::parse(
            br#"{"version":"9","later":1,"agents":[{"id":"../evil","name":"x","distribution":{}},
                {"id":"good","name":"Good","version":"1.0.0","distribution":{"npx":{"package":"p@1"}},"new":true}]}"#,
        )
        .unwrap();
        assert_eq!(document.agents().len(), 1);
        assert!(document.find("good").is_some());
        assert!(RegistryDocument::parse(b"<html>").is_err());
        assert!(RegistryDocument::parse(b"{}").is_err());
    }
}
