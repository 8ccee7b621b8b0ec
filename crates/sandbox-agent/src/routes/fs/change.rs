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
use super::{Files, required_path, shown};
use crate::routes::blocking::blocking;
use crate::routes::upload::Upload;

/// Two paths and a switch; anything longer is not that.
const MOVE_BODY_LIMIT: usize = 64 << 10;

/// The path that a change was made to.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = ChangedPath))]
pub(super) struct OnePath {
    path: String,
}

/// What was moved.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema), schema(as = MovedEntry))]
pub(super) struct Moved {
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
        ("recursive" = Option<bool>, Query, description = "Remove a directory with all below it."),
    ),
    responses((status = 200, description = "It is gone.", body = OnePath), Removing)
))]
pub(super) async fn remove(State(files): State<Files>, request: Request) -> Result<Json<OnePath>, Problem> {
    let query = Query::of(request.uri());
    let path = required_path(request.uri())?;
    let recursion = if query.switch("recursive")? { Recursion::Recursive } else { Recursion::Single };
    let removed = blocking(move || files.service.remove(&path, recursion)).await?.map_err(to_problem)?;
    Ok(Json(OnePath { path: shown(&removed) }))
}

/// Makes a directory
///
/// Parents are made. One that is there already is fine.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/v1/fs/mkdir",
    operation_id = "makeDirectory",
    tag = "files",
    params(("path" = String, Query, example = "src/new", min_length = 1, pattern = "^[^\\u0000]+$", description = "Absolute, or relative to the workspace.")),
    responses((status = 200, description = "It is there.", body = OnePath), Making)
))]
pub(super) async fn make_directory(
    State(files): State<Files>,
    request: Request,
) -> Result<Json<OnePath>, Problem> {
    let path = required_path(request.uri())?;
    let made = blocking(move || files.service.make_directory(&path)).await?.map_err(to_problem)?;
    Ok(Json(OnePath { path: shown(&made) }))
}

/// Moves an entry
///
/// Also across devices. No path ever loses data on failure.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/v1/fs/move",
    operation_id = "moveEntry",
    tag = "files",
    request_body(content = MoveRequest, content_type = "application/json", example = json!({"from": "notes.txt", "to": "src/notes.txt"})),
    responses((status = 200, description = "It is moved.", body = Moved), Moving)
))]
pub(super) async fn move_entry(State(files): State<Files>, request: Request) -> Result<Json<Moved>, Problem> {
    let (parts, body) = request.into_parts();
    let upload = Upload::new(&parts.headers, body);
    negotiate::require_json(&parts.headers)?;
    let MoveRequest { from, to, overwrite } = MoveRequest::parse(&upload.read_all(MOVE_BODY_LIMIT).await?)?;
    let moved =
        blocking(move || files.service.move_entry(&from, &to, overwrite)).await?.map_err(to_problem)?;
    Ok(Json(Moved { from: shown(&moved.from), to: shown(&moved.to) }))
}

/// The body of a move.
#[derive(Debug)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct MoveRequest {
    /// The entry to move.
    #[cfg_attr(test, schema(value_type = String, min_length = 1, pattern = "^[^\\u0000]+$"))]
    from: UserPath,
    /// Its new path.
    #[cfg_attr(test, schema(value_type = String, min_length = 1, pattern = "^[^\\u0000]+$"))]
    to: UserPath,
    /// Whether something under the new path may be replaced.
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
            Some(_) => return Err(wrong("overwrite", "`overwrite` must be true or false")),
        };
        Ok(Self { from: path(&fields, "from")?, to: path(&fields, "to")?, overwrite })
    }
}

fn path(fields: &Map<String, Value>, name: &'static str) -> Result<UserPath, Problem> {
    match fields.get(name) {
        Some(Value::String(text)) if !text.is_empty() => {
            UserPath::parse(text.as_str()).map_err(|error| to_problem(error).with("field", name))
        }
        Some(Value::String(_)) => Err(wrong(name, format!("`{name}` must not be empty"))),
        Some(_) => Err(wrong(name, format!("`{name}` must be a string"))),
        None => Err(wrong(name, format!("`{name}` is missing; it must be a path"))),
    }
}

fn wrong(field: &'static str, detail: impl Into<String>) -> Problem {
    Problem::new(Code::InvalidField, detail).with("field", field)
}
