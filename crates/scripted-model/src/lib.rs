//! A model endpoint that does what the prompt says, so that real agents can be tried and tested for free, offline
//! and with the same result every time.
//!
//! It speaks four wire formats (Anthropic Messages, OpenAI Responses, OpenAI Chat Completions, Gemini) and knows
//! nothing of ACP or of any particular agent: an agent's tools are found by name in what it offers, and their
//! arguments are filled from their schemas.
//!
//! A request walks one way:
//! - [`dialect`]: the body of one wire format becomes a `Conversation`, and a `Reply` becomes that format again;
//! - [`conversation`]: what was said so far, and what counts as the newest prompt;
//! - [`script`]: what the prompt asks for;
//! - [`answer`]: the script and the agent's tools become the turn to play ([`tools`], [`schema`]);
//! - [`playback`]: the turn, at its pace, as a stream of events or whole;
//! - [`journal`]: what was asked, and how each answer ended, for whoever tests an agent.
//!
//! Deliberately absent: any cleverness. After a tool's result the model quotes it and ends the turn, so no agent
//! is ever led in circles.

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
mod tools;

use std::net::SocketAddr;
use std::time::Duration;

use http_server::{Exposure, HttpServer};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use error::ModelError;
pub use routes::router;
pub use script::HELP;

/// How long answers under way may go on once the server stops.
const DRAIN: Duration = Duration::from_millis(500);

/// Serves the model until `stop`.
///
/// On a loopback address it answers to local names only, as everything here does without a token; agents send no
/// token of ours, so listening anywhere else is open to whoever reaches it.
///
/// # Errors
/// [`ModelError::Listener`] when the listener's address cannot be told.
pub async fn serve(listener: TcpListener, stop: CancellationToken) -> Result<(), ModelError> {
    let address: SocketAddr = listener.local_addr().map_err(ModelError::Listener)?;
    let exposure = Exposure { loopback_only: address.ip().is_loopback(), ..Exposure::default() };
    http_server::serve::serve(listener, HttpServer::new(router(), exposure), stop, DRAIN).await;
    Ok(())
}
