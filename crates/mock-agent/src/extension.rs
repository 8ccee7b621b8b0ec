//! Messages outside the ACP schema: Sandbox Agent's extensions, one legacy method, and two directives to our own
//! [`wire`](crate::wire), which are never written to stdout.

use agent_client_protocol::v1::schema::SessionId;
use agent_client_protocol::{JsonRpcNotification, JsonRpcRequest, JsonRpcResponse};
use serde::{Deserialize, Serialize};

/// A question with options for the user.
#[derive(Debug, Clone, Serialize, Deserialize, JsonRpcRequest)]
#[request(method = "_sandboxagent/session/request_question", response = QuestionAnswer)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestQuestion {
    pub(crate) session_id: SessionId,
    pub(crate) question_id: String,
    pub(crate) prompt: String,
    /// `[id, label]` pairs.
    pub(crate) options: Vec<(String, String)>,
}

/// The user's answer to a question.
#[derive(Debug, Clone, Serialize, Deserialize, JsonRpcResponse)]
#[serde(tag = "status", rename_all = "snake_case")]
pub(crate) enum QuestionAnswer {
    /// One list of chosen option ids per question.
    Answered { answers: Vec<Vec<String>> },
    /// The user declined to answer.
    Rejected,
}

/// The session has ended.
#[derive(Debug, Clone, Serialize, Deserialize, JsonRpcNotification)]
#[notification(method = "_sandboxagent/session/ended")]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionEnded {
    pub(crate) session_id: SessionId,
    pub(crate) reason: String,
    pub(crate) terminated_by: String,
    pub(crate) message: String,
    pub(crate) exit_code: i32,
}

/// A message from an agent could not be parsed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonRpcNotification)]
#[notification(method = "_sandboxagent/agent/unparsed")]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentUnparsed {
    pub(crate) error: String,
    pub(crate) location: String,
    pub(crate) raw_hash: String,
}

/// Selects a model; the predecessor of config options.
#[derive(Debug, Clone, Serialize, Deserialize, JsonRpcRequest)]
#[request(method = "session/set_model", response = SetModelResponse)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetModelRequest {
    pub(crate) session_id: SessionId,
    pub(crate) model_id: String,
}

/// An empty object.
#[derive(Debug, Clone, Serialize, Deserialize, JsonRpcResponse)]
pub(crate) struct SetModelResponse {}

/// Directive: write these raw bytes to stdout at this position.
#[derive(Debug, Clone, Serialize, Deserialize, JsonRpcNotification)]
#[notification(method = "$mock/write_raw")]
pub(crate) struct WriteRaw {
    pub(crate) bytes: Vec<u8>,
}

/// Directive: end the process after all earlier output is written.
#[derive(Debug, Clone, Serialize, Deserialize, JsonRpcNotification)]
#[notification(method = "$mock/exit_now")]
pub(crate) struct ExitNow {
    pub(crate) code: i32,
    /// A message that is written to stderr before the process ends.
    pub(crate) stderr_message: String,
}
