//! Agents as in the answer to `GET /v1/agents`, and installs as in the answer to `POST
//! /v1/agents/{agent}/install`.
//!
//! Field names are those of the API. Every field of [`AgentCapabilities`] is always present, because the published
//! client's types require it; a capability that only a probe can find out is `null` before the first probe.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::error::InstallStep;
use crate::manifest::CapabilityFacts;
use crate::probe::ProbeReport;
use crate::progress::InstallState;
use crate::record::{ArtifactKind, Source, Verification};

/// One agent.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentInfo {
    /// The agent's id.
    pub id: String,
    /// The agent's name.
    pub name: String,
    /// Whether the agent can be launched without installing anything.
    pub installed: bool,
    /// The version in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub version: Option<String>,
    /// The agent's location: a version's directory, or a custom agent's program.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>)]
    pub path: Option<PathBuf>,
    /// Where the agent came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub source: Option<Source>,
    /// Set for an agent that the ACP registry does not list.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub non_registry: Option<bool>,
    /// The result of starting the agent once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub verified: Option<Verification>,
    /// Whether any of the credentials that the agent looks for is present.
    pub credentials_available: bool,
    /// The agent's capabilities.
    pub capabilities: AgentCapabilities,
    /// The models that the agent offers, from a probe.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<HashMap<String, Value>>)]
    pub models: Option<Value>,
    /// The modes that the agent offers, from a probe.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<HashMap<String, Value>>)]
    pub modes: Option<Value>,
    /// The options that the agent offers, from a probe.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Vec<HashMap<String, Value>>>)]
    pub config_options: Option<Value>,
    /// Why a probe could not open a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub config_error: Option<String>,
    /// Whether instances of the agent are running.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub server_status: Option<ServerStatus>,
    /// How to install the agent, and the progress of its install.
    pub install: InstallInfo,
}

/// Whether instances of an agent are running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerStatus {
    /// `running` or `stopped`.
    pub status: ServerState,
    /// How long the oldest instance has been running.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub uptime_ms: Option<u64>,
}

/// See [`ServerStatus::status`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerState {
    /// At least one instance is running.
    Running,
    /// No instance is running.
    Stopped,
}

/// How to install an agent, and the progress of its install.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallInfo {
    /// The command that installs the agent.
    pub command: String,
    /// The current state.
    pub state: InstallState,
    /// The running or failed step.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub step: Option<InstallStep>,
    /// What the step is working on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub detail: Option<String>,
    /// How long the install has been running, or how long it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub elapsed_ms: Option<u64>,
    /// Why the last attempt or its verification failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<String>,
}

/// The body of an install request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct InstallRequest {
    /// Install again even if the agent is already installed.
    #[serde(deserialize_with = "null_is_false")]
    #[schema(value_type = Option<bool>)]
    pub reinstall: bool,
    /// The native agent's version.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$")]
    pub agent_version: Option<String>,
    /// The ACP process's version.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$")]
    pub agent_process_version: Option<String>,
}

fn null_is_false<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::<bool>::deserialize(deserializer)?.unwrap_or(false))
}

/// The answer to an install request. The contract defines snake case here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct InstallOutcome {
    /// Whether the requested version was already installed.
    pub already_installed: bool,
    /// The installed artifacts.
    pub artifacts: Vec<InstallArtifact>,
}

/// One installed artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct InstallArtifact {
    /// The kind of the artifact.
    pub kind: ArtifactKind,
    /// The location of the artifact.
    #[schema(value_type = String)]
    pub path: PathBuf,
    /// The version of the artifact, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub version: Option<String>,
    /// Where the artifact came from.
    pub source: Source,
}

/// An agent's capabilities, as listed in the published client's types. `null` means not probed yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[allow(
    missing_docs,
    clippy::struct_excessive_bools,
    reason = "a wire format: the names are self-explanatory"
)]
pub struct AgentCapabilities {
    pub command_execution: bool,
    pub error_events: bool,
    #[schema(required)]
    pub file_attachments: Option<bool>,
    pub file_changes: bool,
    #[schema(required)]
    pub images: Option<bool>,
    pub item_started: bool,
    pub mcp_tools: bool,
    pub permissions: bool,
    #[schema(required)]
    pub plan_mode: Option<bool>,
    pub questions: bool,
    pub reasoning: bool,
    pub session_lifecycle: bool,
    pub shared_process: bool,
    pub status: bool,
    pub streaming_deltas: bool,
    pub text_messages: bool,
    pub tool_calls: bool,
    pub tool_results: bool,
}

impl AgentCapabilities {
    /// Combines what every ACP agent can do, the manifest's facts and a probe's findings.
    pub(crate) fn of(facts: CapabilityFacts, probe: Option<&ProbeReport>) -> Self {
        let prompt =
            |name: &str| probe.map(|probe| probe.agent_capabilities["promptCapabilities"][name] == true);
        // Modes come with a session; without one they are unknown.
        let session = probe.filter(|probe| probe.session_problem.is_none());
        let has_plan = |modes: &Value| modes.to_string().to_lowercase().contains("plan");
        Self {
            command_execution: true,
            error_events: true,
            // Every ACP agent accepts links to files; embedded content is a declared capability.
            file_attachments: prompt("embeddedContext"),
            file_changes: true,
            images: prompt("image"),
            item_started: true,
            mcp_tools: true,
            permissions: facts.permissions,
            plan_mode: session.map(|probe| probe.modes.as_ref().is_some_and(has_plan)),
            questions: facts.questions,
            reasoning: facts.reasoning,
            session_lifecycle: true,
            // Every instance has its own process.
            shared_process: false,
            // ACP has no message about an agent's status.
            status: false,
            streaming_deltas: true,
            text_messages: true,
            tool_calls: true,
            tool_results: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_of_the_published_types_is_present_and_null_until_it_is_probed() {
        let capabilities =
            serde_json::to_value(AgentCapabilities::of(CapabilityFacts::default(), None)).unwrap();
        let names: Vec<_> = capabilities.as_object().unwrap().keys().cloned().collect();
        assert_eq!(
            names.join(" "),
            "commandExecution errorEvents fileAttachments fileChanges images itemStarted mcpTools permissions \
             planMode questions reasoning sessionLifecycle sharedProcess status streamingDeltas textMessages \
             toolCalls toolResults"
        );
        let unknown = capabilities.as_object().unwrap().iter().filter(|(_, value)| !value.is_boolean());
        let unknown: Vec<_> = unknown.map(|(name, value)| (name.as_str(), value)).collect();
        assert_eq!(
            unknown,
            [("fileAttachments", &Value::Null), ("images", &Value::Null), ("planMode", &Value::Null)]
        );
    }

    #[test]
    fn a_probe_sets_the_image_and_plan_mode_capabilities() {
        let report = ProbeReport {
            agent_capabilities: json!({ "promptCapabilities": { "image": true } }),
            modes: Some(json!({ "availableModes": [{ "id": "plan" }] })),
            ..ProbeReport::default()
        };
        let capabilities = AgentCapabilities::of(CapabilityFacts::default(), Some(&report));
        assert_eq!((capabilities.images, capabilities.plan_mode), (Some(true), Some(true)));
        assert_eq!(capabilities.file_attachments, Some(false));
        let without_session =
            ProbeReport { session_problem: Some("log in".into()), ..ProbeReport::default() };
        let capabilities = AgentCapabilities::of(CapabilityFacts::default(), Some(&without_session));
        assert_eq!((capabilities.images, capabilities.plan_mode), (Some(false), None));
    }

    #[test]
    fn an_install_request_may_leave_everything_out_or_null() {
        let empty: InstallRequest = serde_json::from_str("{}").unwrap();
        let nulls: InstallRequest =
            serde_json::from_str(r#"{"reinstall":null,"agentVersion":null,"agentProcessVersion":null}"#)
                .unwrap();
        assert_eq!(empty, nulls);
        let full: InstallRequest =
            serde_json::from_str(r#"{"reinstall":true,"agentProcessVersion":"1"}"#).unwrap();
        assert!(full.reinstall && full.agent_process_version.as_deref() == Some("1"));
    }
}
