//! `POST /v1/acp/{server_id}`: one message to the agent.

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::FutureExt;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use http_edge::{Code, Lane, LaneAnswer, Problem, Query, negotiate, problems};

use super::body::{self, Message};
use super::prefer::{PREFERENCE_APPLIED, Preferences};
use crate::document::{JsonRpcMessage, JsonRpcResponse};
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
    let asked = Asked::of(&parts.headers)?;
    let message = Message::read(&mut body, &registry.shared).await?;
    let query = Query::of(&parts.uri);
    let to = Recipient { server_id: server_id.as_str(), agent: agent_in(&query)? };
    let taken = take(&registry, to, asked, message).await?;
    Ok(taken.outcome().await?.map(Body::from))
}

/// The same route for messages that come whole.
#[derive(Debug)]
pub(crate) struct PostLane(pub(crate) Arc<Registry>);

/// What the head of a message says.
#[derive(Debug)]
pub(crate) struct Head {
    server_id: Box<str>,
    agent: Option<Box<str>>,
    asked: Asked,
}

impl Lane for PostLane {
    type Known = Head;
    type Answer = Answering;

    fn know(&self, head: &Parts) -> Option<Head> {
        // What is no server id as it stands may be one when it is decoded, or a path that is not ours.
        let server_id = head.uri.path().strip_prefix("/v1/acp/").filter(|text| ServerId::is_one(text))?;
        let query = Query::of(&head.uri);
        // What is wrong with a head is said in one place.
        let (agent, asked) = (agent_in(&query).ok()?, Asked::of(&head.headers).ok()?);
        Some(Head { server_id: server_id.into(), agent: agent.map(Box::from), asked })
    }

    fn answer(&self, head: &Head, body: &[u8]) -> Answering {
        match self.begin(head, body) {
            Ok(answering) => answering,
            Err(problem) => Answering::Boxed(Box::pin(ready(LaneAnswer::Problem(problem)))),
        }
    }
}

impl PostLane {
    fn begin(&self, head: &Head, body: &[u8]) -> Result<Answering, Problem> {
        let registry = &self.0;
        let message = Message::of_whole(body, &registry.shared)?;
        if !head.asked.is_plain() {
            return Ok(self.begin_slowly(head, message));
        }
        let to = Recipient { server_id: &head.server_id, agent: head.agent.as_deref() };
        let arriving = Arriving { is_request: message.is_request(), key: None };
        let Some(instance) = registry.find_target(to.server_id, to.agent, &arriving)? else {
            return Ok(self.begin_slowly(head, message));
        };
        let Message { line, envelope, memory } = message;
        let is_request = arriving.is_request;
        let incoming = Incoming { line, envelope, delivery: Delivery::Waited, key: None, memory };
        match instance.try_accept(incoming)? {
            Admission::Waiting(_, waiter) => Ok(Answering::Waiting(waiter)),
            admission => Ok(Answering::boxed(async move {
                let admission = instance.settle(admission).await?;
                let preferences = Preferences::default();
                Taken { instance, admission, preferences, is_request }.outcome().await
            })),
        }
    }

    /// As the router does it.
    fn begin_slowly(&self, head: &Head, message: Message) -> Answering {
        let registry = Arc::clone(&self.0);
        let Head { server_id, agent, asked } = head;
        let (server_id, agent, asked) = (server_id.clone(), agent.clone(), asked.clone());
        Answering::boxed(async move {
            let to = Recipient { server_id: &server_id, agent: agent.as_deref() };
            take(&registry, to, asked, message).await?.outcome().await
        })
    }
}

/// An answer on its way.
pub(crate) enum Answering {
    /// The usual one: the agent's.
    Waiting(Waiter),
    Boxed(Pin<Box<dyn Future<Output = LaneAnswer> + Send>>),
}

impl Answering {
    fn boxed(outcome: impl Future<Output = Result<http::Response<Bytes>, Problem>> + Send + 'static) -> Self {
        Self::Boxed(Box::pin(outcome.map(|outcome| match outcome {
            Ok(response) => LaneAnswer::Other(response),
            Err(problem) => LaneAnswer::Problem(problem),
        })))
    }
}

impl Future for Answering {
    type Output = LaneAnswer;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<LaneAnswer> {
        match &mut *self {
            Self::Waiting(waiter) => Pin::new(waiter).poll(context).map(|outcome| match outcome {
                Ok(Outcome::Answer(bytes)) => LaneAnswer::Json(bytes),
                Ok(Outcome::Failed(problem)) => LaneAnswer::Problem(problem),
                Err(_) => LaneAnswer::Problem(lost()),
            }),
            Self::Boxed(answer) => answer.as_mut().poll(context),
        }
    }
}

/// What the headers of a message say.
#[derive(Debug, Clone)]
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

    /// Whether nothing is.
    fn is_plain(&self) -> bool {
        self.key.is_none() && self.preferences == Preferences::default()
    }
}

/// Where a message goes.
#[derive(Clone, Copy)]
struct Recipient<'a> {
    server_id: &'a str,
    agent: Option<&'a str>,
}

fn agent_in<'a>(query: &'a Query<'_>) -> Result<Option<&'a str>, Problem> {
    Ok(query.one("agent")?.filter(|agent| !agent.is_empty()))
}

/// A message that was taken in.
struct Taken {
    instance: Arc<Instance>,
    admission: Admission,
    preferences: Preferences,
    is_request: bool,
}

/// Takes a message in.
async fn take(
    registry: &Registry,
    to: Recipient<'_>,
    asked: Asked,
    message: Message,
) -> Result<Taken, Problem> {
    let Asked { preferences, key } = asked;
    let is_request = message.is_request();
    let Message { line, envelope, memory } = message;
    let key = key.map(|key| key.of_message(&line));
    let arriving = Arriving { is_request, key: key.as_ref() };
    let instance = registry.target(to.server_id, to.agent, &arriving).await?;
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
        Err(_) => Err(lost()),
    }
}

/// A dropped sender would be a request that was neither answered nor failed: a bug, but not a hang.
fn lost() -> Problem {
    Problem::new(Code::Internal, "the server lost track of this request")
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
