//! The output of a turn, for people or for programs.

use serde_json::Value;

use crate::cli::error::CliError;

/// Shows the events of a turn, in order.
pub(super) trait TurnView: std::fmt::Debug {
    /// The session was opened.
    fn opened(&mut self, session: &OpenedSession<'_>) -> Result<(), CliError>;

    /// A `session/update` of an earlier conversation, which some agents replay when a session is loaded.
    fn replayed(&mut self, update: &Value) -> Result<(), CliError>;

    /// A `session/update` of this turn.
    fn update(&mut self, update: &Value) -> Result<(), CliError>;

    /// Another notification from the agent.
    fn notification(&mut self, method: &str, params: &Value) -> Result<(), CliError>;

    /// An agent request was answered.
    fn answered(&mut self, method: &str, params: &Value, answer: &Value) -> Result<(), CliError>;

    /// A message of this command for the user.
    fn remark(&mut self, text: &str) -> Result<(), CliError>;

    /// The turn is over.
    fn stopped(&mut self, response: &Value) -> Result<(), CliError>;

    /// The turn failed.
    fn failed(&mut self, error: &CliError) -> Result<(), CliError>;

    /// Ends the current line, before a question is shown on the terminal.
    fn pause(&mut self) -> Result<(), CliError>;
}

/// An opened session.
#[derive(Debug)]
pub(super) struct OpenedSession<'a> {
    pub(super) session: &'a str,
    pub(super) agent: &'a str,
    pub(super) server_id: &'a str,
    /// The URL of the server, if the next command has to name it.
    pub(super) url: Option<&'a str>,
    /// True when another command can continue the session.
    pub(super) can_continue: bool,
}
