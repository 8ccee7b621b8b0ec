//! The agent's capabilities, and its only authentication method.

use agent_client_protocol::Error;
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentAuthCapabilities, AgentCapabilities, AuthMethod, AuthMethodAgent, AuthenticateRequest,
    AuthenticateResponse, Implementation, InitializeRequest, InitializeResponse, LogoutCapabilities,
    LogoutRequest, LogoutResponse, McpCapabilities, PromptCapabilities,
    SessionAdditionalDirectoriesCapabilities, SessionCapabilities, SessionCloseCapabilities,
    SessionDeleteCapabilities, SessionForkCapabilities, SessionListCapabilities, SessionResumeCapabilities,
};

use crate::agent::{Agent, Capability, Login, ToClient};

/// The only authentication method. It always succeeds.
const LOGIN: &str = "mock-login";

/// `initialize`: protocol version 1, whatever version the client requests.
pub(crate) fn initialize(
    agent: &Agent,
    request: InitializeRequest,
    _: &ToClient,
) -> Result<InitializeResponse, Error> {
    agent.set_client_capabilities(request.client_capabilities);
    Ok(describe_agent(agent))
}

/// `authenticate`
#[allow(clippy::needless_pass_by_value, reason = "the shape of a method")]
pub(crate) fn authenticate(
    agent: &Agent,
    request: AuthenticateRequest,
    _: &ToClient,
) -> Result<AuthenticateResponse, Error> {
    if &*request.method_id.0 != LOGIN {
        return Err(Error::invalid_params().data(format!("the only authentication method is {LOGIN}")));
    }
    agent.set_login(Login::In);
    Ok(AuthenticateResponse::new())
}

/// `logout`
#[allow(clippy::needless_pass_by_value, reason = "the shape of a method")]
pub(crate) fn logout(agent: &Agent, _: LogoutRequest, _: &ToClient) -> Result<LogoutResponse, Error> {
    agent.set_login(Login::Out);
    Ok(LogoutResponse::new())
}

fn describe_agent(agent: &Agent) -> InitializeResponse {
    let session = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(agent.supports(Capability::Resume).then(SessionResumeCapabilities::new))
        .close(SessionCloseCapabilities::new())
        .delete(SessionDeleteCapabilities::new())
        .fork(SessionForkCapabilities::new())
        .additional_directories(SessionAdditionalDirectoriesCapabilities::new());
    let capabilities = AgentCapabilities::new()
        .load_session(agent.supports(Capability::Load))
        .prompt_capabilities(PromptCapabilities::new().image(true).audio(true).embedded_context(true))
        .mcp_capabilities(McpCapabilities::new().http(true).sse(true))
        .session_capabilities(session)
        .auth(AgentAuthCapabilities::new().logout(LogoutCapabilities::new()));
    let login = AuthMethodAgent::new(LOGIN, "Mock login")
        .description("Always succeeds; nothing is sent anywhere.".to_owned());
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .auth_methods(vec![AuthMethod::Agent(login)])
        .agent_info(
            Implementation::new("mock-agent", env!("CARGO_PKG_VERSION")).title("Mock Agent".to_owned()),
        )
}
