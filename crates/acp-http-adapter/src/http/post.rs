//! `POST /v1/acp/{server_id}`: one message to the agent.

use std::future::Future;
use std::sync::Arc;

use acp_instances::{
    Answer, Caller, Delivery, Error, IdPolicy, IdempotencyKey, Message, Outcome, SendRequest, ServerId,
    Settled,
};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use event_log::COPIED;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use http_server::{ChargedBody, Code, DirectRoute, Problem, Query, RequestBody, negotiate, problems};

use super::PathId;
use super::body::{read_message, require_body};
use super::prefer::{PREFERENCE_APPLIED, Preferences};
use crate::document::{JsonRpcMessage, JsonRpcResponse};
use crate::door::DoorState;
use crate::problem::to_problem;

const PATH: &str = "/v1/acp/";
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

problems!(pub(crate) PostProblems:
    InvalidServerId, InvalidJson, InvalidEnvelope, InvalidParameter, InvalidHeader, AgentRequired, UnknownAgent,
    VersionUnavailable, NotAcceptable, AgentMismatch, DuplicateRequestId, AlreadyAnswered, InstanceClosing,
    AgentNotInstalled, OutcomeGone, PayloadTooLarge, UnsupportedMediaType, IdempotencyKeyReused, TooManyPending,
    TooManyInstances, Internal, AgentExited, SpawnFailed, WriteFailed, InstallFailed, RuntimeMissing, InstanceClosed,
    AgentNotReading, MemoryBudgetExhausted, ServerStopping, RequestTimeout, NoSpace, Unavailable);

/// Sends one message to the agent
///
/// The first message to a server id names the agent, which is installed if it is missing, and started. A request is
/// answered with the agent's unchanged answer. Other messages are answered with 202 when they are queued. Every
/// answer is also sent on the stream.
#[utoipa::path(
    post,
    path = "/v1/acp/{server_id}",
    operation_id = "postMessage",
    tag = "instances",
    params(
        ("server_id" = PathId, Path, example = "demo", description = "The client's own name for the instance."),
        ("agent" = Option<String>, Query, example = "mock", min_length = 1, description = "The agent to start. Required for the first message; must be the bound agent later."),
        ("Prefer" = Option<String>, Header, nullable = false, description = "RFC 7240: with `respond-async` the server answers 202 at once and sends the agent's answer on the stream; `wait=N` waits at most N seconds."),
        ("Idempotency-Key" = Option<String>, Header, pattern = "^[\\x20-\\x7e]+$", nullable = false, min_length = 1, max_length = 255, description = "A repeat with the same key is not sent to the agent again and gets the first one's outcome."),
    ),
    request_body(content = JsonRpcMessage, content_type = "application/json", description = "One JSON-RPC 2.0 message, no batch.", example = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}})),
    responses(
        (status = 200, description = "The agent's answer, which may be a JSON-RPC error.", content_type = "application/json", body = JsonRpcResponse),
        (status = 202, description = "The message is queued.", headers(
            ("Preference-Applied" = String, description = "The preferences that were applied."),
        )),
        PostProblems
    )
)]
pub(crate) async fn post(
    State(door): State<Arc<DoorState>>,
    PathId(server_id): PathId,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, mut body) = request.into_parts();
    let options = PostOptions::of(&parts)?;
    drop(parts);
    let message = read_message(&mut body, &door).await?;
    Ok(forward(&door, server_id, options, message).await?.map(Body::from))
}

/// The route of [`post`], served directly and not through the router.
#[derive(Debug)]
pub(crate) struct PostRoute(pub(crate) Arc<DoorState>);

impl DirectRoute for PostRoute {
    fn serves(&self, head: &Parts) -> bool {
        // An id with a percent sign is left to the router, which decodes it.
        let id = head.uri.path().strip_prefix(PATH).filter(|id| !id.contains(['/', '%']));
        head.method == Method::POST && id.is_some_and(|id| !id.is_empty())
    }

    fn call(
        &self,
        head: Parts,
        mut body: RequestBody,
    ) -> impl Future<Output = Result<http::Response<Bytes>, Problem>> + Send + 'static {
        let door = Arc::clone(&self.0);
        let id = PathId::parse(head.uri.path().strip_prefix(PATH).unwrap_or_default());
        let request = id.and_then(|id| Ok((id, PostOptions::of(&head)?)));
        // Drop the head before the agent works, so that the connection can read its next request into the
        // same memory.
        drop(head);
        async move {
            let (server_id, options) = request?;
            let message = read_message(&mut body, &door).await?;
            drop(body);
            forward(&door, server_id, options, message).await
        }
    }
}

/// The options of a message, from the head of its request.
#[derive(Debug)]
struct PostOptions {
    preferences: Preferences,
    key: Option<Box<str>>,
    /// An error here is reported only after the body is read, since errors in the body take precedence.
    agent: Result<Option<Box<str>>, Problem>,
}

impl PostOptions {
    fn of(head: &Parts) -> Result<Self, Problem> {
        let headers = &head.headers;
        negotiate::require_json(headers)?;
        negotiate::require_accept(headers, "application/json")?;
        require_body(headers)?;
        let (preferences, key) = (Preferences::of(headers), key_in(headers)?);
        let query = Query::of(&head.uri);
        let agent = query.one("agent").map(|agent| agent.filter(|agent| !agent.is_empty()).map(Box::from));
        Ok(Self { preferences, key, agent })
    }
}

fn key_in(headers: &HeaderMap) -> Result<Option<Box<str>>, Problem> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let text = value.to_str().ok().filter(|text| (1..=IdempotencyKey::MAX_LENGTH).contains(&text.len()));
    let text = text.ok_or_else(|| {
        Problem::new(Code::InvalidHeader, "Idempotency-Key is 1 to 255 visible ASCII characters")
            .with("header", "Idempotency-Key")
    })?;
    Ok(Some(text.into()))
}

/// Sends a message to its agent and waits for the answer, if the client wants to wait.
async fn forward(
    door: &DoorState,
    server_id: ServerId,
    options: PostOptions,
    message: Message,
) -> Result<http::Response<Bytes>, Problem> {
    let PostOptions { preferences, key, agent } = options;
    let is_request = message.is_request();
    let request = SendRequest {
        server_id,
        agent: agent?,
        key: key.and_then(|key| IdempotencyKey::new(&key, message.bytes())),
        delivery: if preferences.at_once() { Delivery::Log } else { Delivery::Wait },
        message,
        ids: IdPolicy::Keep,
        caller: Caller::default(),
    };
    let receipt = door.instances.send(request).await.map_err(|error| to_problem(&error))?;
    let limited = preferences.wait.filter(|_| is_request);
    let settled = match limited {
        // The engine enforces the server's own time limit.
        None => receipt.outcome.await,
        // Boxed, because few clients set their own limit, and otherwise every request would need space for the timer.
        Some(limit) => Box::pin(wait_at_most(limit, receipt.outcome)).await,
    };
    match settled {
        Ok(Answer::Response(bytes)) => Ok(answer(bytes)),
        Ok(Answer::Accepted) if preferences.at_once() && is_request => Ok(on_stream(preferences)),
        Ok(Answer::Accepted) => Ok(accepted()),
        Err(Error::Timeout { .. }) if preferences.respond_async => Ok(on_stream(preferences)),
        Err(error) => Err(to_problem(&error)),
    }
}

async fn wait_at_most(limit: std::time::Duration, outcome: Outcome) -> Settled {
    tokio::time::timeout(limit, outcome).await.unwrap_or(Err(Error::Timeout { limit }))
}

fn answer(bytes: Bytes) -> http::Response<Bytes> {
    // A long answer shares the memory of the agent's log, which is charged.
    let is_charged = bytes.len() > COPIED;
    let mut response = http::Response::new(bytes);
    if is_charged {
        response.extensions_mut().insert(ChargedBody);
    }
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn accepted() -> http::Response<Bytes> {
    let mut response = http::Response::new(Bytes::new());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// The response when the agent's answer will be sent only on the stream.
fn on_stream(preferences: Preferences) -> http::Response<Bytes> {
    let mut response = accepted();
    if let Some(applied) = preferences.applied() {
        response.headers_mut().insert(PREFERENCE_APPLIED, applied);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unusable_key_is_refused() {
        let headers = HeaderMap::from_iter([(IDEMPOTENCY_KEY, "x".repeat(256).parse().unwrap())]);
        assert_eq!(key_in(&headers).unwrap_err().code(), Code::InvalidHeader);
        assert!(key_in(&HeaderMap::new()).unwrap().is_none());
    }
}
