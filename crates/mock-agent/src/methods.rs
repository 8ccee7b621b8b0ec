//! The table of ACP methods and the functions that handle them.
//!
//! Handlers run in the SDK's dispatch loop and therefore must not wait: everything that waits is a turn, and turns
//! are spawned.

use std::sync::Arc;

use agent_client_protocol::v1::schema::{CancelNotification, PromptRequest, SessionId, SessionNotification};
use agent_client_protocol::{
    Agent as AgentRole, Channel, Error, on_receive_notification, on_receive_request,
};

use crate::agent::{Agent, ToClient};
use crate::session::{self, Session};
use crate::{initialize, prompts, turn};

/// The session that a method opened, and the response.
pub(crate) struct Opened<T> {
    pub(crate) session: SessionId,
    pub(crate) response: T,
}

/// A handler that sends the method's result as the response.
///
/// This is a macro, because the SDK needs the closure itself: a function could not name the closure's type.
macro_rules! answer {
    ($agent:ident, $method:path) => {{
        let agent = Arc::clone(&$agent);
        async move |request, responder, connection| {
            responder.respond_with_result($method(&agent, request, &ToClient(connection)))
        }
    }};
}

/// Like `answer`, but also sends the slash commands of the opened session afterwards.
macro_rules! open {
    ($agent:ident, $method:path) => {{
        let agent = Arc::clone(&$agent);
        async move |request, responder, connection| {
            let client = ToClient(connection);
            match $method(&agent, request, &client) {
                Err(error) => responder.respond_with_error(error),
                Ok(Opened { session, response }) => {
                    responder.respond(response)?;
                    client.notify(SessionNotification::new(session, prompts::available_commands()))
                }
            }
        }
    }};
}

/// Serves one connection until the client closes it.
pub(crate) async fn serve(agent: Agent, channel: Channel) -> Result<(), Error> {
    let agent = Arc::new(agent);
    let prompted = Arc::clone(&agent);
    let cancelled = Arc::clone(&agent);
    AgentRole
        .v1()
        .name("mock-agent")
        .on_receive_request(answer!(agent, initialize::initialize), on_receive_request!())
        .on_receive_request(answer!(agent, initialize::authenticate), on_receive_request!())
        .on_receive_request(answer!(agent, initialize::logout), on_receive_request!())
        .on_receive_request(open!(agent, session::new), on_receive_request!())
        .on_receive_request(open!(agent, session::load), on_receive_request!())
        .on_receive_request(open!(agent, session::resume), on_receive_request!())
        .on_receive_request(open!(agent, session::fork), on_receive_request!())
        .on_receive_request(answer!(agent, session::list), on_receive_request!())
        .on_receive_request(answer!(agent, session::close), on_receive_request!())
        .on_receive_request(answer!(agent, session::delete), on_receive_request!())
        .on_receive_request(answer!(agent, session::set_mode), on_receive_request!())
        .on_receive_request(answer!(agent, session::set_config_option), on_receive_request!())
        .on_receive_request(answer!(agent, session::set_model), on_receive_request!())
        .on_receive_request(
            async move |request: PromptRequest, responder, connection| {
                turn::start(&prompted, request, responder, &ToClient(connection))
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |request: CancelNotification, _connection| {
                cancelled.read_session(&request.session_id, Session::cancel)
            },
            on_receive_notification!(),
        )
        .connect_to(channel)
        .await
}
