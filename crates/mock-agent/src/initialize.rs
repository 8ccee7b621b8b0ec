//! What the agent says about itself, and the one way to log in to it.

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentAuthCapabilities, AgentCapabilities, AuthMethod, AuthMethodAgent, Implementation,
    InitializeResponse, LogoutCapabilities, McpCapabilities, PromptCapabilities,
    SessionAdditionalDirectoriesCapabilities, SessionCapabilities, SessionCloseCapabilities,
    SessionDeleteCapabilities, SessionForkCapabilities, SessionListCapabilities, SessionResumeCapabilities,
};

/// The only authentication method. It always succeeds.
pub(crate) const LOGIN: &str = "mock-login";

/// The answer to `initialize`: protocol version 1, whatever was asked for.
pub(crate) fn response() -> InitializeResponse {
    let session = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new())
        .delete(SessionDeleteCapabilities::new())
        .fork(SessionForkCapabilities::new())
        .additional_directories(SessionAdditionalDirectoriesCapabilities::new());
    let capabilities = AgentCapabilities::new()
        .load_session(true)
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
