//! Asks an installed agent for its capabilities: `initialize`, then `session/new`.
//!
//! The agent runs with the real home directory, so that it finds its credentials and lists the models available to
//! the user; the working directory is a scratch folder. Reports are stored next to the version's record.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::conversation::{Conversation, RequestError};
use crate::host::HostEnvironment;
use crate::launch::LaunchCommand;

const TIMEOUT: Duration = Duration::from_secs(60);

/// The result of a probe, as the agent sent it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProbeReport {
    /// The `agentCapabilities` of the answer to `initialize`.
    pub agent_capabilities: Value,
    /// The `agentInfo` of that answer, if the agent sends it.
    pub agent_info: Value,
    /// The `authMethods` of that answer.
    pub auth_methods: Value,
    /// The `models` of the new session, or its config option of category `model`.
    pub models: Option<Value>,
    /// The `modes` of the new session, or its config option of category `mode`.
    pub modes: Option<Value>,
    /// The `configOptions` of the new session.
    pub config_options: Option<Value>,
    /// Why no session could be opened, for example for lack of credentials; the session's fields are then
    /// empty.
    pub session_problem: Option<String>,
}

/// Why a probe produced no report.
#[derive(Debug, Clone)]
pub(crate) struct ProbeFailure {
    pub(crate) detail: String,
    pub(crate) output_tail: String,
}

/// Starts the agent, queries it, and kills it.
pub(crate) async fn probe(
    command: &LaunchCommand,
    host: &HostEnvironment,
) -> Result<ProbeReport, ProbeFailure> {
    let failure = |detail: String| ProbeFailure { detail, output_tail: String::new() };
    let folder = tempfile::Builder::new()
        .prefix("agent-probe-")
        .tempdir()
        .map_err(|error| failure(format!("cannot create a scratch folder: {error}")))?;
    let directory = command.cwd.as_deref().unwrap_or(folder.path());
    let mut conversation = Conversation::start(command, host.variables(), directory, TIMEOUT)
        .await
        .map_err(|error| failure(format!("cannot start {}: {error}", command.program.display())))?;
    let report = query(&mut conversation, folder.path()).await;
    let output_tail = conversation.finish().await;
    report.map_err(|error| ProbeFailure { detail: error.to_string(), output_tail })
}

async fn query(
    conversation: &mut Conversation,
    workspace: &std::path::Path,
) -> Result<ProbeReport, RequestError> {
    let initialized = conversation.initialize().await?;
    let report = ProbeReport {
        agent_capabilities: initialized["agentCapabilities"].clone(),
        agent_info: initialized["agentInfo"].clone(),
        auth_methods: initialized["authMethods"].clone(),
        ..ProbeReport::default()
    };
    match conversation.request("session/new", json!({ "cwd": workspace, "mcpServers": [] })).await {
        Ok(session) => Ok(with_session(report, &session)),
        Err(error) => Ok(ProbeReport { session_problem: Some(error.to_string()), ..report }),
    }
}

fn with_session(report: ProbeReport, session: &Value) -> ProbeReport {
    let present = |value: &Value| (!value.is_null()).then(|| value.clone());
    let options = present(&session["configOptions"]);
    let of_category = |category: &str| {
        let all = options.as_ref()?.as_array()?;
        all.iter().find(|option| option["category"] == category).cloned()
    };
    ProbeReport {
        models: present(&session["models"]).or_else(|| of_category("model")),
        modes: present(&session["modes"]).or_else(|| of_category("mode")),
        config_options: options,
        ..report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_found_in_the_old_field_and_in_the_new_option() {
        let old = with_session(ProbeReport::default(), &json!({ "models": { "currentModelId": "a" } }));
        assert_eq!(old.models.unwrap()["currentModelId"], "a");
        let options = json!([{ "id": "m", "category": "model" }, { "id": "k", "category": "mode" }]);
        let new = with_session(ProbeReport::default(), &json!({ "configOptions": options }));
        assert_eq!(new.models.unwrap()["id"], "m");
        assert_eq!(new.modes.unwrap()["id"], "k");
        assert_eq!(new.config_options.unwrap().as_array().unwrap().len(), 2);
    }
}
