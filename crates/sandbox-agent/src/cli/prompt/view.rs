//! What a prompt shows, for people or for programs.

use serde_json::Value;

use crate::cli::error::CliError;

/// Shows what happens in a turn, in its order.
pub(super) trait Show: std::fmt::Debug {
    /// The session is there.
    fn opened(&mut self, session: &Opened<'_>) -> Result<(), CliError>;

    /// Something of an earlier conversation, which some agents tell when a session is loaded.
    fn recalled(&mut self, update: &Value) -> Result<(), CliError>;

    /// A `session/update`.
    fn update(&mut self, update: &Value) -> Result<(), CliError>;

    /// Another notification of the agent.
    fn notice(&mut self, method: &str, params: &Value) -> Result<(), CliError>;

    /// The agent asked, and this was the answer.
    fn answered(&mut self, method: &str, params: &Value, answer: &Value) -> Result<(), CliError>;

    /// Something that the user should know, beside what the agent says.
    fn remark(&mut self, text: &str) -> Result<(), CliError>;

    /// The turn is over.
    fn stopped(&mut self, response: &Value) -> Result<(), CliError>;

    /// It could not be brought to its end.
    fn failed(&mut self, error: &CliError) -> Result<(), CliError>;

    /// Makes room for a question on the terminal.
    fn pause(&mut self) -> Result<(), CliError>;
}

/// A session that is there.
#[derive(Debug)]
pub(super) struct Opened<'a> {
    pub(super) session: &'a str,
    pub(super) agent: &'a str,
    pub(super) server_id: &'a str,
    /// The server, where the next call has to be told which.
    pub(super) url: Option<&'a str>,
    /// Whether it can be gone on with in another call.
    pub(super) can_go_on: bool,
}
