//! `POST /v1/acp/{server_id}`: one message to the agent.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use http_edge::{Code, Problem, Query, negotiate, problems};

use super::body;
use super::prefer::{PREFERENCE_APPLIED, Preferences};
use crate::document::{JsonRpcMessage, JsonRpcResponse};
use crate::envelope::Envelope;
use crate::idempotency::IdempotencyKey;
use crate::instance::{Admission, Incoming, Instance, too_late};
use crate::pending::{Delivery, Outcome, Waiter};
use crate::registry::{Arriving, Registry};
use crate::request_id::RequestId;
use crate::server_id::ServerId;

problems!(pub(crate) PostProblems:
    InvalidServerId, InvalidJson, InvalidEnvelope, InvalidParameter, InvalidHeader, AgentRequired, UnknownAgent,
    VersionUnavailable, NotAcceptable, AgentMismatch, DuplicateRequestId, AlreadyAnswered, InstanceClosing,
    AgentNotInstalled, OutcomeGone, PayloadTooLarge, UnsupportedMediaType, IdempotencyKeyReused, TooManyPending,
    TooManyInstances, Internal, AgentExited, SpawnFailed, WriteFailed, InstallFailed, RuntimeMissing, InstanceClosed,
    AgentNotReading, MemoryBudgetExhausted, ServerStopping, RequestTimeout, NoSpace);

/// Sends one message to the agent
///
/// The first message to a server id names the agent, which is installed when it is missing, and started. A request is
/// answered with the agent's answer, as the agent wrote it; what needs no answer is 202 once it stands in line. The
/// answer also comes on the stream.
#[utoipa::path(
    post,
    path = "/v1/acp/{server_id}",
    operation_id = "postMessage",
    tag = "instances",
    params(
        ("server_id" = ServerId, Path, example = "demo", description = "The client's own name for the instance."),
        ("agent" = Option<String>, Query, example = "mock", min_length = 1, description = "The agent to start. Required for the first message; must be the bound agent later."),
        ("Prefer" = Option<String>, Header, nullable = false, description = "RFC 7240: `respond-async` answers at once, the answer comes on the stream; `wait=N` waits at most N seconds."),
        ("Idempotency-Key" = Option<String>, Header, pattern = "^[\\x20-\\x7e]+$", nullable = false, min_length = 1, max_length = 255, description = "A repeat with the same key is not sent to the agent again and gets the first one's outcome."),
    ),
    request_body(content = JsonRpcMessage, content_type = "application/json", description = "One JSON-RPC 2.0 message, no batch.", example = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}})),
    responses(
        (status = 200, description = "The agent's answer; a JSON-RPC error is one as well.", content_type = "application/json", body = JsonRpcResponse),
        (status = 202, description = "Taken. Nothing is waited for.", headers(
            ("Preference-Applied" = String, description = "Which preferences decided."),
        )),
        PostProblems
    )
)]
pub(crate) async fn post(
    State(registry): State<Arc<Registry>>,
    server_id: ServerId,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    negotiate::require_json(&parts.headers)?;
    negotiate::require_accept(&parts.headers, "application/json")?;
    body::require_body(&parts.headers)?;
    let message = body::read(body, &registry.shared).await?;
    let query = Query::of(&parts.uri);
    let agent = query.one("agent")?.filter(|agent| !agent.is_empty());
    let preferences = Preferences::of(&parts.headers);
    let key = IdempotencyKey::of(&parts.headers, &message.line)?;

    let is_request = matches!(message.envelope, Envelope::Request(_));
    let arriving = Arriving { is_request, key: key.as_ref() };
    let instance = registry.target(&server_id, agent, &arriving).await?;
    let at_once = preferences.respond_async && preferences.wait.is_none();
    let delivery = if at_once { Delivery::OnStream } else { Delivery::Waited };
    let body::Message { line, envelope, memory } = message;
    let incoming = Incoming { line, envelope, delivery, key, memory };
    match instance.accept(incoming).await? {
        Admission::Waiting(id, waiter) => wait_for_answer(&instance, id, waiter, preferences).await,
        Admission::Settled(outcome) => conclude(outcome),
        Admission::Starting(waiter) => wait_for_start(waiter).await,
        Admission::Accepted if at_once && is_request => Ok(on_stream(preferences)),
        Admission::Accepted => Ok(StatusCode::ACCEPTED.into_response()),
        Admission::NoRoom(_) | Admission::Arriving(_) => {
            Err(Problem::new(Code::Internal, "the message was neither taken nor refused"))
        }
    }
}

async fn wait_for_answer(
    instance: &Instance,
    id: RequestId,
    waiter: Waiter,
    preferences: Preferences,
) -> Result<Response, Problem> {
    let outcome = match preferences.wait {
        // The instance itself watches the server's own limit.
        None => waiter.await,
        Some(limit) => match tokio::time::timeout(limit, waiter).await {
            Ok(outcome) => outcome,
            Err(_elapsed) => Ok(Outcome::Failed(too_late(limit))),
        },
    };
    match outcome {
        Ok(Outcome::Failed(problem))
            if preferences.respond_async && problem.code() == Code::RequestTimeout =>
        {
            instance.lock().pending.mark_on_stream(&id);
            Ok(on_stream(preferences))
        }
        Ok(outcome) => conclude(outcome),
        // A dropped sender would be a request that was neither answered nor failed: a bug, but not a hang.
        Err(_) => Err(Problem::new(Code::Internal, "the server lost track of this request")),
    }
}

async fn wait_for_start(waiter: Waiter) -> Result<Response, Problem> {
    match waiter.await {
        Ok(Outcome::Answer(_)) => Ok(StatusCode::ACCEPTED.into_response()),
        Ok(Outcome::Failed(problem)) => Err(problem),
        Err(_) => Err(Problem::new(Code::Internal, "the server lost track of this message")),
    }
}

fn conclude(outcome: Outcome) -> Result<Response, Problem> {
    match outcome {
        Outcome::Answer(bytes) => Ok(answer(bytes)),
        Outcome::Failed(problem) => Err(problem),
    }
}

fn answer(bytes: Bytes) -> Response {
    let mut response = Response::new(Body::from(bytes));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn on_stream(preferences: Preferences) -> Response {
    let mut response = StatusCode::ACCEPTED.into_response();
    if let Some(applied) = preferences.applied() {
        response.headers_mut().insert(PREFERENCE_APPLIED, applied);
    }
    response
}
