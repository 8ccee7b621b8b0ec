//! `POST /v1/acp/{server_id}`: one message to the agent.

use std::fmt::Display;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use http_edge::{AnswerBody, Code, Problem, Query, RequestBody, Shortcut, negotiate, problems};

use super::body;
use super::prefer::{PREFERENCE_APPLIED, Preferences};
use crate::document::{JsonRpcMessage, JsonRpcResponse};
use crate::envelope::Envelope;
use crate::idempotency::KeyText;
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
    let (parts, mut body) = request.into_parts();
    let mut asked = Asked::of(&parts.headers)?;
    let taken = take(&registry, server_id.as_str(), &parts.uri, &mut asked, &mut body).await?;
    Ok(taken.outcome().await?.map(Body::from))
}

/// The same route without the router, for addresses that need no second look.
#[derive(Debug)]
pub(crate) struct PostShortcut(pub(crate) Arc<Registry>);

impl PostShortcut {
    const PATH: &str = "/v1/acp/";

    fn server_id(uri: &Uri) -> Option<&str> {
        uri.path().strip_prefix(Self::PATH)
    }
}

impl Shortcut for PostShortcut {
    fn takes(&self, parts: &Parts) -> bool {
        // What is no server id as it stands may be one when it is decoded, or a path that is not ours.
        parts.method == Method::POST && Self::server_id(&parts.uri).is_some_and(ServerId::is_one)
    }

    fn answer(
        &self,
        parts: Parts,
        mut body: RequestBody,
    ) -> impl Future<Output = http::Response<AnswerBody>> + Send + 'static {
        let registry = Arc::clone(&self.0);
        let (mut asked, uri) = (Asked::of(&parts.headers), parts.uri);
        async move {
            let taken = match &mut asked {
                Ok(asked) => {
                    let server_id = Self::server_id(&uri).unwrap_or_default();
                    take(&registry, server_id, &uri, asked, &mut body).await
                }
                Err(problem) => Err(problem.clone()),
            };
            drop((uri, body));
            let answered = match taken {
                Ok(taken) => taken.outcome().await,
                Err(problem) => Err(problem),
            };
            match answered {
                Ok(answer) => answer.map(AnswerBody::Whole),
                Err(problem) => problem.into_response().map(AnswerBody::Routed),
            }
        }
    }
}

/// What the headers of a message say.
struct Asked {
    preferences: Preferences,
    key: Option<KeyText>,
}

impl Asked {
    fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        negotiate::require_json(headers)?;
        negotiate::require_accept(headers, "application/json")?;
        body::require_body(headers)?;
        Ok(Self { preferences: Preferences::of(headers), key: KeyText::of(headers)? })
    }
}

/// A message that was taken in.
struct Taken {
    instance: Arc<Instance>,
    admission: Admission,
    preferences: Preferences,
    is_request: bool,
}

/// Reads a message and takes it in. By reference, since a future has room for all that was ever moved into it.
async fn take<B>(
    registry: &Registry,
    server_id: &str,
    uri: &Uri,
    asked: &mut Asked,
    body: &mut B,
) -> Result<Taken, Problem>
where
    B: http_body::Body<Data = Bytes, Error: Display> + Unpin,
{
    let preferences = asked.preferences;
    let body::Message { line, envelope, memory } = body::read(body, &registry.shared).await?;
    let query = Query::of(uri);
    let agent = query.one("agent")?.filter(|agent| !agent.is_empty());
    let key = asked.key.take().map(|key| key.of_message(&line));

    let is_request = matches!(envelope, Envelope::Request(_));
    let arriving = Arriving { is_request, key: key.as_ref() };
    let instance = registry.target(server_id, agent, &arriving).await?;
    let delivery = if preferences.at_once() { Delivery::OnStream } else { Delivery::Waited };
    let incoming = Incoming { line, envelope, delivery, key, memory };
    let admission = instance.accept(incoming).await?;
    Ok(Taken { instance, admission, preferences, is_request })
}

impl Taken {
    async fn outcome(self) -> Result<http::Response<Bytes>, Problem> {
        let preferences = self.preferences;
        match self.admission {
            Admission::Waiting(id, waiter) => wait_for_answer(&self.instance, id, waiter, preferences).await,
            Admission::Settled(outcome) => conclude(outcome),
            Admission::Starting(waiter) => wait_for_start(waiter).await,
            Admission::Accepted if preferences.at_once() && self.is_request => Ok(on_stream(preferences)),
            Admission::Accepted => Ok(accepted()),
            Admission::NoRoom(_) | Admission::Arriving(_) => {
                Err(Problem::new(Code::Internal, "the message was neither taken nor refused"))
            }
        }
    }
}

async fn wait_for_answer(
    instance: &Instance,
    id: RequestId,
    waiter: Waiter,
    preferences: Preferences,
) -> Result<http::Response<Bytes>, Problem> {
    let outcome = match preferences.wait {
        // The instance itself watches the server's own limit.
        None => waiter.await,
        // In a box, since few bring a limit of their own and all would carry the room for its timer.
        Some(limit) => match Box::pin(tokio::time::timeout(limit, waiter)).await {
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

async fn wait_for_start(waiter: Waiter) -> Result<http::Response<Bytes>, Problem> {
    match waiter.await {
        Ok(Outcome::Answer(_)) => Ok(accepted()),
        Ok(Outcome::Failed(problem)) => Err(problem),
        Err(_) => Err(Problem::new(Code::Internal, "the server lost track of this message")),
    }
}

fn conclude(outcome: Outcome) -> Result<http::Response<Bytes>, Problem> {
    match outcome {
        Outcome::Answer(bytes) => Ok(answer(bytes)),
        Outcome::Failed(problem) => Err(problem),
    }
}

fn answer(bytes: Bytes) -> http::Response<Bytes> {
    let mut response = http::Response::new(bytes);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn accepted() -> http::Response<Bytes> {
    let mut response = http::Response::new(Bytes::new());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

fn on_stream(preferences: Preferences) -> http::Response<Bytes> {
    let mut response = accepted();
    if let Some(applied) = preferences.applied() {
        response.headers_mut().insert(PREFERENCE_APPLIED, applied);
    }
    response
}
