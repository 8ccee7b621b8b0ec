//! A model endpoint that does what the prompt says, so that real agents can be tried and tested for free, offline
//! and deterministically.
//!
//! It supports four wire formats (Anthropic Messages, OpenAI Responses, OpenAI Chat Completions, Gemini) and knows
//! nothing about ACP or any particular agent: it finds an agent's tools by name in the request, and fills their
//! arguments from their schemas.
//!
//! A request passes through these modules:
//! - `dialect`: the body of one wire format becomes a `Conversation`, and a `Reply` becomes that format again;
//! - `conversation`: the messages so far, and which of them is the newest prompt;
//! - `script`: what the prompt asks for;
//! - `answer`: the script and the agent's tools become the model's turn (`tools`, `schema`);
//! - `playback`: the turn, paced, as a stream of events or as one document;
//! - `journal`: the requests, and how each answer ended, for tests of agents.
//!
//! Deliberately absent: any intelligence. After a tool's result the model quotes it and ends the turn, so an agent
//! never ends up in a loop.

mod answer;
mod conversation;
mod dialect;
mod error;
mod journal;
mod playback;
pub mod recipes;
mod routes;
mod schema;
mod script;
mod title;
mod tools;

use std::net::SocketAddr;
use std::time::Duration;

use http_server::{Exposure, HttpServer};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use error::ModelError;
pub use routes::router;
pub use script::HELP;

/// How long running answers may continue after the server is stopped.
const DRAIN: Duration = Duration::from_millis(500);

/// Serves the model until `stop` is cancelled.
///
/// On a loopback address it accepts only requests to local host names, as every server here does without a token.
/// Agents do not send the server's token, so on any other address everyone who can reach the port can use it.
///
/// # Errors
/// [`ModelError::Listener`] if the listener's address cannot be determined.
pub async fn serve(listener: TcpListener, stop: CancellationToken) -> Result<(), ModelError> {
    let address: SocketAddr = listener.local_addr().map_err(ModelError::Listener)?;
    let exposure = Exposure { loopback_only: address.ip().is_loopback(), ..Exposure::default() };
    http_server::serve::serve(listener, HttpServer::new(router(), exposure), stop, DRAIN).await;
    Ok(())
}

/// Compiles the examples in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
