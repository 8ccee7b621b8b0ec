//! `DELETE /v1/fs/entry`, `POST /v1/fs/mkdir` and `POST /v1/fs/move`.

use axum::Json;
use axum::extract::{Request, State};
use http_edge::{Code, Problem, Query, negotiate};
use sandbox_fs::{Overwrite, Recursion, UserPath};
use serde_json::{Map, Value, json};

use super::problem::to_problem;
use super::{Files, required_path, shown};
use crate::routes::blocking::blocking;
use crate::routes::upload::Upload;

/// Two paths and a switch; anything longer is not that.
const MOVE_BODY_LIMIT: usize = 64 << 10;

/// Removes an entry.
pub(super) async fn remove(State(files): State<Files>, request: Request) -> Result<Json<Value>, Problem> {
    let query = Query::of(request.uri());
    let path = required_path(request.uri())?;
    let recursion = if query.switch("recursive")? { Recursion::Recursive } else { Recursion::Single };
    let removed = blocking(move || files.service.remove(&path, recursion)).await?.map_err(to_problem)?;
    Ok(Json(json!({"path": shown(&removed)})))
}

/// Makes a directory and its parents.
pub(super) async fn make_directory(
    State(files): State<Files>,
    request: Request,
) -> Result<Json<Value>, Problem> {
    let path = required_path(request.uri())?;
    let made = blocking(move || files.service.make_directory(&path)).await?.map_err(to_problem)?;
    Ok(Json(json!({"path": shown(&made)})))
}

/// Gives an entry another name.
pub(super) async fn move_entry(State(files): State<Files>, request: Request) -> Result<Json<Value>, Problem> {
    let (parts, body) = request.into_parts();
    let upload = Upload::new(&parts.headers, body);
    negotiate::require_json(&parts.headers)?;
    let MoveRequest { from, to, overwrite } = MoveRequest::parse(&upload.read_all(MOVE_BODY_LIMIT).await?)?;
    let moved =
        blocking(move || files.service.move_entry(&from, &to, overwrite)).await?.map_err(to_problem)?;
    Ok(Json(json!({"from": shown(&moved.from), "to": shown(&moved.to)})))
}

/// The body of a move.
#[derive(Debug)]
struct MoveRequest {
    from: UserPath,
    to: UserPath,
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
