//! The routes: each wire format at its clients' usual path, with and without the `/v1` prefix.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, RawQuery, State};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Json, Router};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

use crate::answer::{self, Answer, Ending, Failure, Retry};
use crate::conversation::{Conversation, Delivery, Newest};
use crate::dialect::anthropic::Anthropic;
use crate::dialect::chat::Chat;
use crate::dialect::gemini::Gemini;
use crate::dialect::responses::Responses;
use crate::dialect::{CREATED, Dialect, MODEL};
use crate::error::ModelError;
use crate::journal::{Journal, Outcome};
use crate::playback::{self, Reply};
use crate::recipes::recipes;
use crate::script::Script;
use crate::title;

/// The maximum body size: agents send their whole history, images included, with every request.
const MAX_BODY: usize = 256 * 1024 * 1024;
/// The official clients of two of the formats obey this header.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

type Received = Result<Bytes, BytesRejection>;

/// The model's routes, with a journal of their own.
pub fn router() -> Router {
    let api = Router::new()
        .route("/messages", post(messages))
        .route("/messages/count_tokens", post(count_tokens))
        .route("/responses", post(responses))
        .route("/chat/completions", post(chat))
        .route("/models", get(models))
        .route("/models/{model}", get(model));
    let routes = Router::new()
        .route("/", get(about))
        .route("/requests", get(requests))
        .route("/recipes", get(known_recipes))
        .route("/v1beta/models", get(gemini_models))
        .route("/v1beta/models/{call}", get(gemini_model).post(gemini))
        .merge(api.clone())
        .nest("/v1", api);
    let routes = routes.layer(DefaultBodyLimit::max(MAX_BODY)).with_state(Arc::new(Journal::default()));
    http_server::serve::with_fallbacks(routes)
}

async fn about() -> Json<Value> {
    Json(
        json!({"name": "scripted model", "requests": "/requests", "recipes": "/recipes", "models": "/v1/models",
        "apis": ["/v1/messages", "/v1/responses", "/v1/chat/completions",
            "/v1beta/models/{model}:streamGenerateContent"]}),
    )
}

async fn requests(State(journal): State<Arc<Journal>>) -> Json<Value> {
    Json(json!({"requests": journal.records()}))
}

/// The recipes, with the model's address as the client knows it.
async fn known_recipes(headers: HeaderMap) -> Response<Body> {
    match headers.get(header::HOST).and_then(|host| host.to_str().ok()) {
        Some(host) => Json(json!({"recipes": recipes(&format!("http://{host}"))})).into_response(),
        None => StatusCode::BAD_REQUEST.into_response(),
    }
}

async fn messages(State(journal): State<Arc<Journal>>, body: Received) -> Response<Body> {
    reply(&Anthropic, &journal, parsed(body).and_then(|body| Anthropic.read(&body))).await
}

async fn responses(State(journal): State<Arc<Journal>>, body: Received) -> Response<Body> {
    reply(&Responses, &journal, parsed(body).and_then(|body| Responses.read(&body))).await
}

async fn chat(State(journal): State<Arc<Journal>>, body: Received) -> Response<Body> {
    reply(&Chat, &journal, parsed(body).and_then(|body| Chat.read(&body))).await
}

async fn count_tokens(body: Received) -> Response<Body> {
    match parsed(body).and_then(|body| Anthropic.read(&body)) {
        Ok(conversation) => Json(json!({"input_tokens": conversation.input_tokens()})).into_response(),
        Err(error) => refuse(&Anthropic, &error),
    }
}

async fn gemini(
    State(journal): State<Arc<Journal>>,
    Path(call): Path<String>,
    RawQuery(query): RawQuery,
    body: Received,
) -> Response<Body> {
    let (model, method) = call.rsplit_once(':').unwrap_or((call.as_str(), ""));
    let body = match parsed(body) {
        Ok(body) => body,
        Err(error) => return refuse(&Gemini, &error),
    };
    if method == "countTokens" {
        let inner = body.get("generateContentRequest").unwrap_or(&body);
        return match Gemini.read(inner) {
            Ok(conversation) => Json(json!({"totalTokens": conversation.input_tokens()})).into_response(),
            Err(error) => refuse(&Gemini, &error),
        };
    }
    let streamed = query.is_some_and(|query| query.split('&').any(|pair| pair == "alt=sse"));
    let delivery = match method {
        "generateContent" => Delivery::Whole,
        "streamGenerateContent" if streamed => Delivery::Streamed,
        "streamGenerateContent" => Delivery::Whole,
        other => return refuse(&Gemini, &ModelError::Method(other.to_owned())),
    };
    let read = Gemini.read(&body).map(|read| Conversation { model: model.to_owned(), delivery, ..read });
    let answer = reply(&Gemini, &journal, read).await;
    if method == "streamGenerateContent" && !streamed && answer.status().is_success() {
        return in_list(answer).await;
    }
    answer
}

/// Without server-sent events, a Gemini stream is a JSON array of chunks; here it has one chunk.
async fn in_list(answer: Response<Body>) -> Response<Body> {
    let Ok(chunk) = axum::body::to_bytes(answer.into_body(), MAX_BODY).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let list = [b"[".as_slice(), &chunk, b"]"].concat();
    ([(header::CONTENT_TYPE, "application/json")], list).into_response()
}

fn parsed(body: Received) -> Result<Value, ModelError> {
    let body = body.map_err(|rejection| ModelError::Body(rejection.body_text()))?;
    Ok(serde_json::from_slice(&body)?)
}

async fn reply(
    dialect: &'static dyn Dialect,
    journal: &Arc<Journal>,
    read: Result<Conversation, ModelError>,
) -> Response<Body> {
    let conversation = match read {
        Ok(conversation) => conversation,
        Err(error) => return refuse(dialect, &error),
    };
    let (script, name) = match conversation.newest() {
        Newest::Prompt(prompt) => {
            let script = Script::of(&prompt);
            let name = script.name();
            (script, name)
        }
        Newest::Results(_) => (Script::Echo(String::new()), "result"),
    };
    let name = if title::wanted(&conversation).is_some() { "title" } else { name };
    let attempt = journal.count(dialect.name(), &conversation);
    let mut ticket = journal.open(dialect.name(), &conversation, name, attempt.number);
    tracing::info!(api = dialect.name(), script = name, attempt = attempt.number, "request");
    let turn = match answer::answer(&conversation, &script, attempt.number) {
        Answer::Turn(turn) => turn,
        Answer::Failure(failure) => {
            ticket.set_outcome(Outcome::Failed);
            return fail(dialect, &failure);
        }
    };
    let reply = Reply {
        id: attempt.id(),
        model: conversation.model.clone(),
        turn,
        input_tokens: conversation.input_tokens(),
        usage: conversation.usage,
    };
    if conversation.delivery == Delivery::Streamed {
        let writer = dialect.writer(&reply);
        return playback::stream(reply, writer, ticket);
    }
    playback::wait(&reply.turn).await;
    if reply.turn.ending == Ending::CutOff {
        return Response::new(playback::broken(ticket));
    }
    ticket.set_outcome(Outcome::Finished);
    Json(dialect.whole(&reply)).into_response()
}

fn refuse(dialect: &dyn Dialect, error: &ModelError) -> Response<Body> {
    let status = match error {
        ModelError::Method(_) => StatusCode::NOT_FOUND,
        ModelError::Listener(_) => StatusCode::INTERNAL_SERVER_ERROR,
        ModelError::Body(_) | ModelError::NotJson(_) | ModelError::Field(..) => StatusCode::BAD_REQUEST,
    };
    fail(dialect, &Failure { status, message: error.to_string(), retry: Retry::Pointless })
}

fn fail(dialect: &dyn Dialect, failure: &Failure) -> Response<Body> {
    let mut response = (failure.status, Json(dialect.failure(failure))).into_response();
    let headers = response.headers_mut();
    match failure.retry {
        Retry::Allowed => {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static("true"));
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        Retry::Pointless => {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
    }
    response
}

/// A model's description, in a form that fits both Anthropic and OpenAI.
fn described(id: &str) -> Value {
    json!({"id": id, "object": "model", "created": CREATED, "owned_by": "sandbox-agent", "type": "model",
        "display_name": "Scripted", "created_at": "2025-06-15T15:06:40Z"})
}

async fn models() -> Json<Value> {
    Json(json!({"object": "list", "data": [described(MODEL)], "first_id": MODEL, "last_id": MODEL,
        "has_more": false}))
}

async fn model(Path(id): Path<String>) -> Json<Value> {
    Json(described(&id))
}

fn gemini_described(id: &str) -> Value {
    json!({"name": format!("models/{id}"), "displayName": "Scripted", "version": "1",
        "inputTokenLimit": 1_000_000, "outputTokenLimit": 65_536,
        "supportedGenerationMethods": ["generateContent", "countTokens"]})
}

async fn gemini_models() -> Json<Value> {
    Json(json!({"models": [gemini_described(MODEL)]}))
}

async fn gemini_model(Path(id): Path<String>) -> Json<Value> {
    Json(gemini_described(&id))
}
