//! Initializes an agent and opens a session with it.

use std::path::Path;

use serde_json::{Value, json};

use super::dialogue::{Dialogue, OnInterrupt};
use super::incoming::RpcError;
use crate::cli::error::CliError;
use crate::cli::nearest::nearest;
use crate::cli::style::without_control;

/// Whether the agent's forms can be shown to a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Forms {
    Shown,
    Unsupported,
}

/// The parameters of `initialize`. This client offers neither files nor terminals, so the agent uses
/// those of the machine that it runs on.
pub(super) fn initialize_params(forms: Forms) -> Value {
    let mut capabilities = json!({"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false});
    if forms == Forms::Shown {
        capabilities["elicitation"] = json!({"form": {}, "url": {}});
    }
    json!({
        "protocolVersion": 1,
        "clientCapabilities": capabilities,
        "clientInfo": {"name": "sandbox-agent", "title": "Sandbox Agent", "version": crate::routes::VERSION},
    })
}

/// The agent's answer to `initialize`.
#[derive(Debug)]
pub(super) struct InitializeResponse(Value);

impl InitializeResponse {
    pub(super) fn new(outcome: Result<Value, RpcError>) -> Result<Self, CliError> {
        let answer = outcome.map_err(|error| {
            let reason = error.to_string();
            CliError::AgentFailed(format!("the agent failed to initialize: {}", without_control(&reason)))
        })?;
        match answer["protocolVersion"].as_u64() {
            Some(1) => Ok(Self(answer)),
            _ => Err(CliError::AgentFailed(format!(
                "the agent uses ACP version {}, but this client supports only version 1",
                answer["protocolVersion"]
            ))),
        }
    }

    /// True when the agent accepts this kind of content in a prompt: `image`, `audio`, `embeddedContext`.
    pub(super) fn accepts(&self, content: &str) -> bool {
        self.0["agentCapabilities"]["promptCapabilities"][content] == true
    }

    fn can_resume(&self) -> bool {
        self.0["agentCapabilities"]["sessionCapabilities"]["resume"].is_object()
    }

    fn can_load(&self) -> bool {
        self.0["agentCapabilities"]["loadSession"] == true
    }

    /// True when a session can be continued later.
    pub(super) fn can_continue(&self) -> bool {
        self.can_resume() || self.can_load()
    }

    fn auth_methods(&self) -> String {
        let methods = self.0["authMethods"].as_array().into_iter().flatten();
        let named = methods.filter_map(|method| {
            let id = method["id"].as_str()?;
            Some(format!("--auth {id} ({})", method["name"].as_str().unwrap_or(id)))
        });
        named.collect::<Vec<String>>().join(", ")
    }
}

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: String,
    /// The agent's answer, with the modes and models that it offers.
    response: Value,
}

/// Opens a session in a directory: a new one, or an earlier one if the agent supports that.
pub(super) async fn open(
    dialogue: &mut Dialogue<'_>,
    agent: &InitializeResponse,
    cwd: &Path,
    earlier: Option<&str>,
) -> Result<Session, CliError> {
    let mut params = json!({"cwd": cwd, "mcpServers": []});
    let method = match earlier {
        None => "session/new",
        // Resuming is preferred, because it does not replay the whole conversation.
        Some(_) if agent.can_resume() => "session/resume",
        Some(_) if agent.can_load() => "session/load",
        Some(_) => {
            let reason = "this agent cannot continue an earlier session; omit --session".to_owned();
            return Err(CliError::Usage(reason));
        }
    };
    if let Some(session) = earlier {
        params["sessionId"] = json!(session);
    }
    let response = match dialogue.call(method, &params, OnInterrupt::Exit).await? {
        Ok(response) => response,
        Err(error) => return Err(session_error(&error, method, agent)),
    };
    let id = earlier.or(response["sessionId"].as_str());
    let id =
        id.ok_or_else(|| CliError::AgentFailed("the agent opened a session without an id".to_owned()))?;
    Ok(Session { id: id.to_owned(), response })
}

fn session_error(error: &RpcError, method: &str, agent: &InitializeResponse) -> CliError {
    let reason = without_control(&error.to_string()).into_owned();
    match (error.code, agent.auth_methods()) {
        (RpcError::AUTH_REQUIRED, methods) if !methods.is_empty() => CliError::AgentFailed(format!(
            "the agent requires authentication: {reason}; set its credentials (see `sandbox-agent agents show`), or use {methods}"
        )),
        (RpcError::NOT_FOUND, _) => CliError::NotFound(format!("the agent has no such session: {reason}")),
        _ => CliError::AgentFailed(format!("the agent answered {method} with an error: {reason}")),
    }
}

/// A setting of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Setting {
    Model,
    Mode,
}

impl Setting {
    const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Mode => "mode",
        }
    }
}

/// Sets the model or the mode, by its id or its name.
pub(super) async fn set(
    dialogue: &mut Dialogue<'_>,
    session: &Session,
    setting: Setting,
    wanted: &str,
) -> Result<(), CliError> {
    let Some(available) = AvailableValues::find(&session.response, setting) else {
        return Err(CliError::Usage(format!("this agent has no {} setting", setting.name())));
    };
    let value = available.value(wanted).ok_or_else(|| {
        let ids: Vec<&str> = available.values.iter().map(|(id, _)| id.as_str()).collect();
        let suggestion = nearest(wanted, ids.iter().copied())
            .map(|near| format!("did you mean {near}? "))
            .unwrap_or_default();
        CliError::NotFound(format!(
            "there is no {} `{wanted}`; {suggestion}the agent has {}",
            setting.name(),
            ids.join(", ")
        ))
    })?;
    let mut params = json!({"sessionId": session.id});
    let method = match &available.method {
        SetMethod::ConfigOption(id) => {
            params["configId"] = json!(id);
            params["value"] = json!(value);
            "session/set_config_option"
        }
        SetMethod::Mode => {
            params["modeId"] = json!(value);
            "session/set_mode"
        }
        SetMethod::Model => {
            params["modelId"] = json!(value);
            "session/set_model"
        }
    };
    dialogue.call_or_fail(method, &params, OnInterrupt::Exit).await.map(drop)
}

/// The values of a setting, and the method that sets it.
#[derive(Debug, PartialEq, Eq)]
struct AvailableValues {
    method: SetMethod,
    /// Each value's id and name.
    values: Vec<(String, String)>,
}

/// The ACP method that sets a value. It differs between versions of ACP.
#[derive(Debug, PartialEq, Eq)]
enum SetMethod {
    /// `session/set_config_option` with this option.
    ConfigOption(String),
    /// `session/set_mode`.
    Mode,
    /// `session/set_model`, of older versions.
    Model,
}

impl AvailableValues {
    fn find(response: &Value, setting: Setting) -> Option<Self> {
        let options = response["configOptions"].as_array().into_iter().flatten();
        let mut of_kind = options.filter(|option| option["category"] == setting.name());
        if let Some(option) = of_kind.next() {
            let listed = option["options"].as_array().into_iter().flatten();
            // Some lists contain groups.
            let flat = listed.flat_map(|entry| match entry["options"].as_array() {
                Some(group) => group.iter().collect(),
                None => vec![entry],
            });
            let method = SetMethod::ConfigOption(option["id"].as_str()?.to_owned());
            return Some(Self { method, values: values(flat, "value") });
        }
        let (method, list, id) = match setting {
            Setting::Mode => (SetMethod::Mode, &response["modes"]["availableModes"], "id"),
            Setting::Model => (SetMethod::Model, &response["models"]["availableModels"], "modelId"),
        };
        Some(Self { method, values: values(list.as_array()?.iter(), id) })
    }

    fn value(&self, wanted: &str) -> Option<&str> {
        let by_id = self.values.iter().find(|(id, _)| id == wanted);
        let by_name = || self.values.iter().find(|(_, name)| name.eq_ignore_ascii_case(wanted));
        by_id.or_else(by_name).map(|(id, _)| id.as_str())
    }
}

fn values<'a>(entries: impl Iterator<Item = &'a Value>, id: &str) -> Vec<(String, String)> {
    entries
        .filter_map(|entry| {
            let id = entry[id].as_str()?;
            Some((id.to_owned(), entry["name"].as_str().unwrap_or(id).to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_found_in_every_form_that_agents_use() {
        let grouped =
            json!([{"group": "g", "options": [{"value": "big", "name": "Big One"}]}, {"value": "small"}]);
        let response = json!({"configOptions": [{"id": "m", "category": "model", "options": grouped}]});
        let available = AvailableValues::find(&response, Setting::Model).unwrap();
        assert_eq!(available.method, SetMethod::ConfigOption("m".to_owned()));
        assert_eq!(
            (available.value("big one"), available.value("small"), available.value("huge")),
            (Some("big"), Some("small"), None)
        );
        let older = json!({"models": {"availableModels": [{"modelId": "x", "name": "X"}]}});
        assert_eq!(AvailableValues::find(&older, Setting::Model).unwrap().method, SetMethod::Model);
        let modes = json!({"modes": {"availableModes": [{"id": "plan", "name": "Plan"}]}});
        assert_eq!(AvailableValues::find(&modes, Setting::Mode).unwrap().value("PLAN"), Some("plan"));
        assert_eq!(AvailableValues::find(&json!({}), Setting::Mode), None);
    }
}
