//! `GET /v1/fs/entries` and `GET /v1/fs/stat`: metadata of files and directories.

use std::num::NonZeroUsize;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Uri, header};
use http_server::{Code, Problem, Query, query};
use sandbox_fs::{ContinuationToken, Depth, EntriesRequest, Entry, Metadata, Page};
use serde::{Serialize, Serializer};

#[cfg(test)]
use super::document::Describing;
use super::problem::to_problem;
use super::{Files, path_or_workspace, path_text, required_path};
use crate::routes::blocking::blocking;

/// One entry of a listing.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct FileEntry {
    /// The last component of the path.
    name: String,
    /// The absolute path.
    path: String,
    /// The type of the entry.
    entry_type: EntryType,
    /// The size in bytes.
    size: u64,
    /// When the content last changed.
    #[cfg_attr(test, schema(format = DateTime))]
    modified: String,
}

/// The type of an entry.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
enum EntryType {
    File,
    Directory,
    Symlink,
    Other,
}

impl From<sandbox_fs::EntryType> for EntryType {
    fn from(kind: sandbox_fs::EntryType) -> Self {
        match kind {
            sandbox_fs::EntryType::File => Self::File,
            sandbox_fs::EntryType::Directory => Self::Directory,
            sandbox_fs::EntryType::Symlink => Self::Symlink,
            sandbox_fs::EntryType::Other => Self::Other,
        }
    }
}

/// The metadata of one entry.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct FileStat {
    /// The absolute path.
    path: String,
    /// The type of the entry. A symbolic link is not followed.
    entry_type: EntryType,
    /// The size in bytes.
    size: u64,
    /// When the content last changed.
    #[cfg_attr(test, schema(format = DateTime))]
    modified: String,
    /// The permission bits in octal.
    #[cfg_attr(test, schema(pattern = "^[0-7]{4,}$"))]
    mode: String,
}

/// Lists a directory
///
/// Sorted by name. With `limit` the response is one page, and its `Link` header has the URL of the next page, if any.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/fs/entries",
    operation_id = "listEntries",
    tag = "files",
    params(
        ("path" = Option<String>, Query, example = "src", pattern = "^[^\\u0000]*$", description = "Absolute, or relative to the workspace. Default: the workspace."),
        ("recursive" = Option<bool>, Query, description = "Include all subdirectories."),
        ("limit" = Option<usize>, Query, minimum = 1, description = "The maximum number of entries in one page."),
        ("after" = Option<String>, Query, pattern = "^([0-9a-f]{2})+$", description = "The end of the previous page, from its `Link` header."),
    ),
    responses(
        (status = 200, description = "The entries.", content_type = "application/json", body = Vec<FileEntry>, headers(
            ("Link" = String, description = "The next page, as `<url>; rel=\"next\"`."),
        )),
        Describing
    )
))]
pub(super) async fn entries(State(files): State<Files>, request: Request) -> Result<Response, Problem> {
    let parameters = Query::of(request.uri());
    let path = path_or_workspace(request.uri())?;
    let listing = listing(&parameters)?;
    let service = files.service.clone();
    // Serialising a long listing takes a while too, so that also runs on the blocking thread.
    let (next, lines) = blocking(move || {
        service.entries(&path, &listing).map_err(to_problem).and_then(|Page { entries, next }| {
            let mut text = Vec::new();
            // Serialise entry by entry, so that a long listing is in memory once, not three times.
            let written = serde_json::Serializer::new(&mut text).collect_seq(entries.iter().map(file_entry));
            written.map_err(|error| cannot_encode(&error))?;
            Ok((next, text))
        })
    })
    .await??;
    let mut response = lines.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(token) = next {
        response.headers_mut().insert(header::LINK, link_to_next(request.uri(), &token)?);
    }
    Ok(response)
}

/// Describes one entry
///
/// A symbolic link is not followed.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/fs/stat",
    operation_id = "statEntry",
    tag = "files",
    params(("path" = String, Query, example = "notes.txt", min_length = 1, pattern = "^[^\\u0000]+$", description = "Absolute, or relative to the workspace.")),
    responses((status = 200, description = "The entry.", body = FileStat), Describing)
))]
pub(super) async fn stat(State(files): State<Files>, request: Request) -> Result<Response, Problem> {
    let path = required_path(request.uri())?;
    let service = files.service.clone();
    let (path, metadata) = blocking(move || service.stat(&path)).await?.map_err(to_problem)?;
    let Metadata { entry_type, size, modified, .. } = &metadata;
    let stat = FileStat {
        path: path_text(&path),
        entry_type: (*entry_type).into(),
        size: *size,
        modified: modified.to_string(),
        mode: metadata.mode_text(),
    };
    Ok(Json(stat).into_response())
}

/// Parses which entries to list. Default: all entries of the directory itself.
fn listing(parameters: &Query<'_>) -> Result<EntriesRequest, Problem> {
    let depth = if parameters.switch("recursive")? { Depth::Recursive } else { Depth::Children };
    let limit = match parameters.number("limit")? {
        None => None,
        Some(number) => {
            let limit = usize::try_from(number).ok().and_then(NonZeroUsize::new);
            Some(limit.ok_or_else(|| query::invalid("limit", "`limit` must be at least 1"))?)
        }
    };
    let after = parameters.one("after")?.map(ContinuationToken::parse).transpose().map_err(to_problem)?;
    Ok(EntriesRequest { depth, limit, after })
}

fn file_entry(entry: &Entry) -> FileEntry {
    FileEntry {
        name: entry.name.to_string_lossy().into_owned(),
        path: path_text(&entry.path),
        entry_type: entry.metadata.entry_type.into(),
        size: entry.metadata.size,
        modified: entry.metadata.modified.to_string(),
    }
}

/// The URL of the next page: that of this page, unchanged except for `after`.
fn link_to_next(uri: &Uri, token: &ContinuationToken) -> Result<HeaderValue, Problem> {
    let mut link = String::from("</v1/fs/entries?");
    for pair in uri.query().unwrap_or_default().split('&') {
        if !pair.is_empty() && !pair.starts_with("after=") {
            link.push_str(pair);
            link.push('&');
        }
    }
    HeaderValue::try_from(format!("{link}after={token}>; rel=\"next\""))
        .map_err(|error| cannot_encode(&error))
}

fn cannot_encode(error: &dyn std::error::Error) -> Problem {
    tracing::error!(%error, "cannot serialise a listing");
    Problem::new(Code::Internal, "internal error; see the server's log")
}
