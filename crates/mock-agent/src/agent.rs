//! Which ACP method goes where, and the state they share.
//!
//! Handlers run inside the SDK's dispatch loop and therefore never wait: whatever waits is a turn,
//! and turns are spawned.

use std::sync::{Arc, Mutex};

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    AuthenticateRequest, AuthenticateResponse, CancelNotification, ClientCapabilities, CloseSessionRequest,
    DeleteSessionRequest, ForkSessionRequest, InitializeRequest, ListSessionsRequest, LoadSessionRequest,
    LogoutRequest, LogoutResponse, NewSessionRequest, PromptRequest, ResumeSessionRequest, SessionId,
    SessionNotification, SessionUpdate, SetSessionConfigOptionRequest, SetSessionModeRequest,
};
use agent_client_protocol::{
    Agent as AgentRole, Channel, Client, Error, JsonRpcNotification, on_receive_notification,
    on_receive_request,
};

use crate::extension::SetModelRequest;
use crate::session::{self, Session, SessionNumber, Sessions, StateFile};
use crate::wire::{Flow, lock};
use crate::{MockAgentError, initialize, prompts, turn};

/// The connection, with the few things we do on it.
#[derive(Debug, Clone)]
pub(crate) struct ToClient(pub(crate) ConnectionTo<Client>);

impl ToClient {
    /// Sends a `session/update`.
    pub(crate) fn update(&self, number: SessionNumber, update: SessionUpdate) -> Result<(), Error> {
        self.notify(SessionNotification::new(number.id(), update))
    }

    /// Sends any notification.
    pub(crate) fn notify(&self, notification: impl JsonRpcNotification) -> Result<(), Error> {
        self.0.send_notification(notification)
    }
}

/// What one connection knows.
#[derive(Debug, Default)]
struct State {
    client: ClientCapabilities,
    logged_in: bool,
    sessions: Sessions,
}

/// The agent behind one connection.
#[derive(Debug)]
pub(crate) struct Agent {
    state: Mutex<State>,
    file: StateFile,
    login_required: bool,
    pub(crate) flow: Arc<Flow>,
}

/// Registers a method whose answer is a plain function of the agent, the request and the client.
macro_rules! answer {
    ($builder:expr, $agent:ident, $request:ty, $function:expr) => {{
        let agent = Arc::clone(&$agent);
        $builder.on_receive_request(
            async move |request: $request, responder, connection| {
                let client = ToClient(connection);
                responder.respond_with_result($function(&*agent, request, &client))
            },
            on_receive_request!(),
        )
    }};
}

/// As `answer`, and then tells the slash commands of the session that was opened.
macro_rules! answer_and_announce {
    ($builder:expr, $agent:ident, $request:ty, $function:expr, $opened:expr) => {{
        let agent = Arc::clone(&$agent);
        $builder.on_receive_request(
            async move |request: $request, responder, connection| {
                let client = ToClient(connection);
                let asked_for = request.clone();
                match $function(&*agent, request, &client) {
                    Err(error) => responder.respond_with_error(error),
                    Ok(response) => {
                        let opened: SessionId = $opened(&asked_for, &response);
                        responder.respond(response)?;
                        client.notify(SessionNotification::new(opened, prompts::available_commands()))
                    }
                }
            },
            on_receive_request!(),
        )
    }};
}

impl Agent {
    /// An agent set up by `MOCK_AGENT_STATE` and `MOCK_AGENT_REQUIRE_AUTH`.
    pub(crate) fn from_environment(flow: Arc<Flow>) -> Result<Self, MockAgentError> {
        let file = StateFile::from_environment();
        let state = State { sessions: file.load()?, ..State::default() };
        let login_required = std::env::var_os("MOCK_AGENT_REQUIRE_AUTH").is_some_and(|value| value == "1");
        Ok(Self { state: Mutex::new(state), file, login_required, flow })
    }

    /// Serves one connection until the client closes it.
    pub(crate) async fn serve(self, channel: Channel) -> Result<(), Error> {
        let agent = Arc::new(self);
        let builder = AgentRole.v1().name("mock-agent");
        let builder =
            answer!(builder, agent, InitializeRequest, |agent: &Self, request: InitializeRequest, _| {
                lock(&agent.state).client = request.client_capabilities;
                Ok(initialize::response())
            });
        let builder =
            answer!(builder, agent, AuthenticateRequest, |agent: &Self, request, _| agent.log_in(&request));
        let builder = answer!(builder, agent, LogoutRequest, |agent: &Self, _, _| {
            lock(&agent.state).logged_in = false;
            Ok(LogoutResponse::new())
        });
        let builder = answer_and_announce!(
            builder,
            agent,
            NewSessionRequest,
            |agent, request, _: &ToClient| session::new(agent, request),
            |_: &_, opened: &agent_client_protocol::v1::schema::NewSessionResponse| opened.session_id.clone()
        );
        let builder = answer_and_announce!(
            builder,
            agent,
            ForkSessionRequest,
            |agent, request, _: &ToClient| session::fork(agent, request),
            |_: &_, opened: &agent_client_protocol::v1::schema::ForkSessionResponse| opened
                .session_id
                .clone()
        );
        let builder = answer_and_announce!(
            builder,
            agent,
            LoadSessionRequest,
            session::load,
            |request: &LoadSessionRequest, _: &_| request.session_id.clone()
        );
        let builder = answer_and_announce!(
            builder,
            agent,
            ResumeSessionRequest,
            |agent, request, _: &ToClient| session::resume(agent, request),
            |request: &ResumeSessionRequest, _: &_| request.session_id.clone()
        );
        let builder =
            answer!(builder, agent, ListSessionsRequest, |agent, request, _| session::list(agent, request));
        let builder =
            answer!(builder, agent, CloseSessionRequest, |agent, request, _| session::close(agent, &request));
        let builder = answer!(builder, agent, DeleteSessionRequest, |agent, request, _| session::delete(
            agent, &request
        ));
        let builder =
            answer!(builder, agent, SetSessionModeRequest, |agent, request, client: &_| session::set_mode(
                agent, &request, client
            ));
        let builder = answer!(builder, agent, SetSessionConfigOptionRequest, |agent, request, client: &_| {
            session::set_config_option(agent, &request, client)
        });
        let builder =
            answer!(builder, agent, SetModelRequest, |agent, request, client: &_| session::set_model(
                agent, &request, client
            ));
        let prompted = Arc::clone(&agent);
        let cancelled = Arc::clone(&agent);
        builder
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

    fn log_in(&self, request: &AuthenticateRequest) -> Result<AuthenticateResponse, Error> {
        if &*request.method_id.0 != initialize::LOGIN {
            let known = initialize::LOGIN;
            return Err(Error::invalid_params().data(format!("the only authentication method is {known}")));
        }
        lock(&self.state).logged_in = true;
        Ok(AuthenticateResponse::new())
    }

    /// Refuses with `-32000` where `MOCK_AGENT_REQUIRE_AUTH=1` and nobody has logged in.
    pub(crate) fn require_login(&self) -> Result<(), Error> {
        if self.login_required && !lock(&self.state).logged_in {
            return Err(Error::auth_required());
        }
        Ok(())
    }

    /// What the client said it can do.
    pub(crate) fn client_capabilities(&self) -> ClientCapabilities {
        lock(&self.state).client.clone()
    }

    /// Adds a session and saves.
    pub(crate) fn add_session(&self, session: Session) -> Result<SessionNumber, Error> {
        let mut state = lock(&self.state);
        let number = state.sessions.add(session);
        self.save(&state)?;
        Ok(number)
    }

    /// Forgets a session, stopping what runs in it; unknown ids are fine.
    pub(crate) fn remove_session(&self, id: &SessionId) -> Result<(), Error> {
        let mut state = lock(&self.state);
        if let Some(session) = SessionNumber::parse(id).and_then(|n| state.sessions.by_number.remove(&n)) {
            session.cancel();
            self.save(&state)?;
        }
        Ok(())
    }

    /// Reads a session.
    pub(crate) fn read_session<T>(
        &self,
        id: &SessionId,
        read: impl FnOnce(&Session) -> T,
    ) -> Result<T, Error> {
        let state = lock(&self.state);
        let session = SessionNumber::parse(id).and_then(|number| state.sessions.by_number.get(&number));
        session.map(read).ok_or_else(|| not_found(id))
    }

    /// Changes a session; a change that succeeds counts as a revision and is saved.
    pub(crate) fn change_session<T>(
        &self,
        id: &SessionId,
        change: impl FnOnce(SessionNumber, &mut Session) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut state = lock(&self.state);
        let number = SessionNumber::parse(id).ok_or_else(|| not_found(id))?;
        let session = state.sessions.by_number.get_mut(&number).ok_or_else(|| not_found(id))?;
        let result = change(number, session)?;
        session.revision += 1;
        self.save(&state)?;
        Ok(result)
    }

    /// Keeps an update in the history. Not saved: the end of the turn does that.
    pub(crate) fn record(&self, number: SessionNumber, update: &SessionUpdate) {
        if let Some(session) = lock(&self.state).sessions.by_number.get_mut(&number) {
            session.record(update);
        }
    }

    /// Picks from all sessions, newest first.
    pub(crate) fn sessions<T>(&self, pick: impl Fn(SessionNumber, &Session) -> Option<T>) -> Vec<T> {
        let state = lock(&self.state);
        state.sessions.by_number.iter().rev().filter_map(|(number, session)| pick(*number, session)).collect()
    }

    fn save(&self, state: &State) -> Result<(), Error> {
        self.file
            .save(&state.sessions)
            .map_err(|error| Error::internal_error().data(format!("cannot write MOCK_AGENT_STATE: {error}")))
    }
}

/// `-32002`: there is no such session, or it is not open.
pub(crate) fn not_found(id: &SessionId) -> Error {
    agent_client_protocol::v1::schema::Error::session_not_found(id.clone()).into()
}
