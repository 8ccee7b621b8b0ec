//! The state that all methods share: sessions, the client's capabilities, the login.
//!
//! One lock protects it. It is held for a single change, and never across an await.

use std::sync::{Arc, Mutex};

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{ClientCapabilities, SessionId, SessionNotification, SessionUpdate};
use agent_client_protocol::{Client, Error, JsonRpcNotification};

use crate::MockAgentError;
use crate::session::{Session, SessionNumber, Sessions, StateFile};
use crate::wire::{Flow, lock};

/// The connection to the client.
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

/// Whether the client has authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Login {
    In,
    #[default]
    Out,
}

/// Capabilities that older agents lack; see `MOCK_AGENT_WITHOUT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Capability {
    Load,
    Resume,
}

impl Capability {
    fn parse(name: &str) -> Option<Self> {
        match name.trim() {
            "load" => Some(Self::Load),
            "resume" => Some(Self::Resume),
            _ => None,
        }
    }
}

/// The state of one connection.
#[derive(Debug, Default)]
struct State {
    client: ClientCapabilities,
    login: Login,
    sessions: Sessions,
}

/// The agent behind one connection.
#[derive(Debug)]
pub(crate) struct Agent {
    state: Mutex<State>,
    file: StateFile,
    login_required: bool,
    without: Vec<Capability>,
    pub(crate) flow: Arc<Flow>,
}

impl Agent {
    /// An agent configured by `MOCK_AGENT_STATE`, `MOCK_AGENT_REQUIRE_AUTH` and `MOCK_AGENT_WITHOUT`.
    pub(crate) fn from_environment(flow: Arc<Flow>) -> Result<Self, MockAgentError> {
        let file = StateFile::from_environment();
        let state = State { sessions: file.load()?, ..State::default() };
        let login_required = std::env::var_os("MOCK_AGENT_REQUIRE_AUTH").is_some_and(|value| value == "1");
        let missing = std::env::var("MOCK_AGENT_WITHOUT").unwrap_or_default();
        let without = missing.split(',').filter_map(Capability::parse).collect();
        Ok(Self { state: Mutex::new(state), file, login_required, without, flow })
    }

    /// Whether the agent has a capability.
    pub(crate) fn supports(&self, capability: Capability) -> bool {
        !self.without.contains(&capability)
    }

    /// Fails with `-32601` if the agent lacks a capability.
    pub(crate) fn require(&self, capability: Capability) -> Result<(), Error> {
        if self.supports(capability) { Ok(()) } else { Err(Error::method_not_found()) }
    }

    /// Stores the client's capabilities.
    pub(crate) fn set_client_capabilities(&self, client: ClientCapabilities) {
        lock(&self.state).client = client;
    }

    /// Stores whether the client is logged in.
    pub(crate) fn set_login(&self, login: Login) {
        lock(&self.state).login = login;
    }

    /// Fails with `-32000` if `MOCK_AGENT_REQUIRE_AUTH=1` and the client is not logged in.
    pub(crate) fn require_login(&self) -> Result<(), Error> {
        if self.login_required && lock(&self.state).login == Login::Out {
            return Err(Error::auth_required());
        }
        Ok(())
    }

    /// The client's declared capabilities.
    pub(crate) fn client_capabilities(&self) -> ClientCapabilities {
        lock(&self.state).client.clone()
    }

    /// Adds a session and saves the state file.
    pub(crate) fn add_session(&self, session: Session) -> Result<SessionNumber, Error> {
        let mut state = lock(&self.state);
        let number = state.sessions.add(session);
        self.save(&state)?;
        Ok(number)
    }

    /// Deletes a session and stops its turn; an unknown id is not an error.
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

    /// Adds an update to the history. It is saved at the end of the turn.
    pub(crate) fn record(&self, number: SessionNumber, update: &SessionUpdate) {
        if let Some(session) = lock(&self.state).sessions.by_number.get_mut(&number) {
            session.record(update);
        }
    }

    /// Maps all sessions, newest first.
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

/// `-32002`: the session does not exist or is not open.
pub(crate) fn not_found(id: &SessionId) -> Error {
    agent_client_protocol::v1::schema::Error::session_not_found(id.clone()).into()
}
