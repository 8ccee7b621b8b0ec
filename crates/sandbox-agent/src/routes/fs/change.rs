//! `DELETE /v1/fs/entry`, `POST /v1/fs/mkdir` and `POST /v1/fs/move`.

use axum::Json;
use axum::extract::{Request, State};
use http_server::{Code, Problem, Query, negotiate};
use sandbox_fs::{Overwrite, Recursion, UserPath};
use serde::Serialize;
use serde_json::{Map, Value};

#[cfg(test)]
use super::document::{Making, Moving, Removing};
use super::problem::to_problem;
use super::{Files, path_text, required_path};
use crate::routes::blocking::blocking;
use crate::routes::upload::Upload;

/// The maximum size of a move's body, which is two paths and a boolean.
const MOVE_BODY_LIMIT: usize = 64 << 10;

/// The path that was changed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct ChangedPath {
    path: String,
}

/// The old and the new path.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct MovedEntry {
    from: String,
    to: String,
}

/// Removes an entry
///
/// A symbolic link is removed, not followed.
#[cfg_attr(test, utoipa::path(
    delete,
    path = "/v1/fs/entry",
    operation_id = "deleteEntry",
    tag = "files",
    params(
        ("path" = String, Query, example = "notes.txt", min_length = 1, pattern = "^[^\\u0000]+$", description = "Absolute, or relative to the workspace."),
        ("recursive" = Option<bool>, Query, description = "Remove a directory with its contents."),
    ),
    responses((status = 200, description = "The entry is removed.", body = ChangedPath), Removing)
))]
pub(super) async fn remove(
    State(files): State<Files>,
    request: Request,
) -> Result<Json<ChangedPath>, Problem> {
    let query = Query::of(request.uri());
    let path = required_path(request.uri())?;
    let recursion = if query.switch("recursive")? { Recursion::Recursive } else { Recursion::Single };
    let removed = blocking(move || files.service.remove(&path, recursion)).await?.map_err(to_problem)?;
    Ok(Json(ChangedPath { path: path_text(&removed) }))
}

/// Creates a directory
///
/// Missing parents are created. An existing directory is not an error.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/v1/fs/mkdir",
    operation_id = "makeDirectory",
    tag = "files",
    params(("path" = String, Query, example = "src/new", min_length = 1, pattern = "^[^\\u0000]+$", description = "Absolute, or relative to the workspace.")),
    responses((status = 200, description = "The directory exists.", body = ChangedPath), Making)
))]
pub(super) async fn make_directory(
    State(files): State<Files>,
    request: Request,
) -> Result<Json<ChangedPath>, Problem> {
    let path = required_path(request.uri())?;
    let made = blocking(move || files.service.make_directory(&path)).await?.map_err(to_problem)?;
    Ok(Json(ChangedPath { path: path_text(&made) }))
}

/// Moves an entry
///
/// Works across devices. A failed move loses no data.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/v1/fs/move",
    operation_id = "moveEntry",
    tag = "files",
    request_body(content = MoveRequest, content_type = "application/json", example = json!({"from": "notes.txt", "to": "src/notes.txt"})),
    responses((status = 200, description = "The entry is moved.", body = MovedEntry), Moving)
))]
pub(super) async fn move_entry(
    State(files): State<Files>,
    request: Request,
) -> Result<Json<MovedEntry>, Problem> {
    let (parts, body) = request.into_parts();
    let upload = Upload::new(body);
    negotiate::require_json(&parts.headers)?;
    let MoveRequest { from, to, overwrite } = MoveRequest::parse(&upload.read_all(MOVE_BODY_LIMIT).await?)?;
    let moved =
        blocking(move || files.service.move_entry(&from, &to, overwrite)).await?.map_err(to_problem)?;
    Ok(Json(MovedEntry { from: path_text(&moved.from), to: path_text(&moved.to) }))
}

/// The body of a move.
#[derive(Debug)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct MoveRequest {
    /// The entry to move.
    #[cfg_attr(test, schema(value_type = String, min_length = 1, pattern = "^[^\\u0000]+$"))]
    from: UserPath,
    /// The new path of the entry.
    #[cfg_attr(test, schema(value_type = String, min_length = 1, pattern = "^[^\\u0000]+$"))]
    to: UserPath,
    /// Whether an existing entry at the new path may be replaced.
    #[cfg_attr(test, schema(value_type = Option<bool>))]
    overwrite: Overwrite,
}

impl MoveRequest {
    fn parse(body: &[u8]) -> Result<Self, Problem> {
        let value: Value = serde_json::from_slice(body)
            .map_err(|error| Problem::new(Code::InvalidJson, format!("the body is not JSON: {error}")))?;
        let Value::Object(fields) = value else {
            return Err(Problem::new(Code::InvalidJson, r#"send an object: {"from": "a", "to": "b"}"#));
        };
        let overwrite = match fields.get("overwrite") {
            None | Some(Value::Null | Value::Bool(false)) => Overwrite::Refuse,
            Some(Value::Bool(true)) => Overwrite::Replace,
            Some(_) => return Err(invalid_field("overwrite", "`overwrite` must be true or false")),
        };
        Ok(Self { from: path(&fields, "from")?, to: path(&fields, "to")?, overwrite })
    }
}

fn path(fields: &Map<String, Value>, name: &'static str) -> Result<UserPath, Problem> {
    match fields.get(name) {
        Some(Value::String(text)) if !text.is_empty() => {
            UserPath::parse(text.as_str()).map_err(|error| to_problem(error).with("field", name))
        }
        Some(Value::String(_)) => Err(invalid_field(name, format!("`{name}` must not be empty"))),
        Some(_) => Err(invalid_field(name, format!("`{name}` must be a string"))),
        None => Err(invalid_field(name, format!("`{name}` is missing; it must be a path"))),
    }
}

fn invalid_field(field: &'static str, detail: impl Into<String>) -> Problem {
    Problem::new(Code::InvalidField, detail).with("field", field)
}
