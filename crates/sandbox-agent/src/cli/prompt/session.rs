//! Meeting an agent and opening a session with it.

use std::path::Path;

use serde_json::{Value, json};

use super::dialogue::{Dialogue, OnInterrupt};
use super::incoming::RpcError;
use crate::cli::error::CliError;
use crate::cli::nearest::nearest;
use crate::cli::style::harmless;

/// The first thing an agent hears. This client lends it no files and no terminals: the agent has those of its machine.
pub(super) fn hello() -> Value {
    json!({
        "protocolVersion": 1,
        "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
        "clientInfo": {"name": "sandbox-agent", "title": "Sandbox Agent", "version": crate::routes::VERSION},
    })
}

/// What an agent said about itself.
#[derive(Debug)]
pub(super) struct Met(Value);

impl Met {
    pub(super) fn new(outcome: Result<Value, RpcError>) -> Result<Self, CliError> {
        let answer = outcome.map_err(|error| {
            CliError::AgentFailed(format!("the agent refused to talk: {}", harmless(&error.to_string())))
        })?;
        match answer["protocolVersion"].as_u64() {
            Some(1) => Ok(Self(answer)),
            _ => Err(CliError::AgentFailed(format!(
                "the agent speaks ACP version {}, this client speaks 1",
                answer["protocolVersion"]
            ))),
        }
    }

    /// What it takes in a prompt: `image`, `audio`, `embeddedContext`.
    pub(super) fn takes(&self, content: &str) -> bool {
        self.0["agentCapabilities"]["promptCapabilities"][content] == true
    }

    fn can_resume(&self) -> bool {
        self.0["agentCapabilities"]["sessionCapabilities"]["resume"].is_object()
    }

    fn can_load(&self) -> bool {
        self.0["agentCapabilities"]["loadSession"] == true
    }

    /// Whether a session can be gone on with later.
    pub(super) fn can_go_on(&self) -> bool {
        self.can_resume() || self.can_load()
    }

    fn logins(&self) -> String {
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
    /// What the agent said when it was opened: the choices it offers.
    offers: Value,
}

/// Opens a session in a directory: a new one, or an earlier one where the agent can.
pub(super) async fn open(
    dialogue: &mut Dialogue<'_>,
    met: &Met,
    cwd: &Path,
    earlier: Option<&str>,
) -> Result<Session, CliError> {
    let mut params = json!({"cwd": cwd, "mcpServers": []});
    let method = match earlier {
        None => "session/new",
        // Resuming does not tell the whole conversation again.
        Some(_) if met.can_resume() => "session/resume",
        Some(_) if met.can_load() => "session/load",
        Some(_) => {
            let reason = "this agent cannot go on with an earlier session; leave --session out".to_owned();
            return Err(CliError::Usage(reason));
        }
    };
    if let Some(session) = earlier {
        params["sessionId"] = json!(session);
    }
    let offers = match dialogue.call(method, &params, OnInterrupt::Leave).await? {
        Ok(offers) => offers,
        Err(error) => return Err(refused(&error, method, met)),
    };
    let id = earlier.or(offers["sessionId"].as_str());
    let id =
        id.ok_or_else(|| CliError::AgentFailed("the agent opened a session without an id".to_owned()))?;
    Ok(Session { id: id.to_owned(), offers })
}

fn refused(error: &RpcError, method: &str, met: &Met) -> CliError {
    let reason = harmless(&error.to_string()).into_owned();
    match (error.code, met.logins()) {
        (RpcError::LOGIN_REQUIRED, logins) if !logins.is_empty() => CliError::AgentFailed(format!(
            "the agent wants a login: {reason}; set the credentials it looks for (see `sandbox-agent agents show`), or choose {logins}"
        )),
        (RpcError::NOT_FOUND, _) => CliError::NotFound(format!("the agent has no such session: {reason}")),
        _ => CliError::AgentFailed(format!("the agent answered {method} with an error: {reason}")),
    }
}

/// What can be chosen in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    Model,
    Mode,
}

impl Choice {
    const fn word(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Mode => "mode",
        }
    }
}

/// Chooses a model or a mode, by its id or its name.
pub(super) async fn choose(
    dialogue: &mut Dialogue<'_>,
    session: &Session,
    choice: Choice,
    wanted: &str,
) -> Result<(), CliError> {
    let Some(offer) = Offer::find(&session.offers, choice) else {
        return Err(CliError::Usage(format!("this agent offers no choice of {}", choice.word())));
    };
    let value = offer.value(wanted).ok_or_else(|| {
        let ids: Vec<&str> = offer.values.iter().map(|(id, _)| id.as_str()).collect();
        let guess = nearest(wanted, ids.iter().copied())
            .map(|near| format!("did you mean {near}? "))
            .unwrap_or_default();
        CliError::NotFound(format!(
            "there is no {} `{wanted}`; {guess}the agent has {}",
            choice.word(),
            ids.join(", ")
        ))
    })?;
    let mut params = json!({"sessionId": session.id});
    let method = match &offer.way {
        Way::Option(id) => {
            params["configId"] = json!(id);
            params["value"] = json!(value);
            "session/set_config_option"
        }
        Way::Mode => {
            params["modeId"] = json!(value);
            "session/set_mode"
        }
        Way::OlderModel => {
            params["modelId"] = json!(value);
            "session/set_model"
        }
    };
    dialogue.demand(method, &params, OnInterrupt::Leave).await.map(drop)
}

/// The values of a choice, with the way to choose one.
#[derive(Debug, PartialEq, Eq)]
struct Offer {
    way: Way,
    /// Ids and names.
    values: Vec<(String, String)>,
}

/// How a choice is made; it has changed over ACP's life.
#[derive(Debug, PartialEq, Eq)]
enum Way {
    Option(String),
    Mode,
    OlderModel,
}

impl Offer {
    fn find(offers: &Value, choice: Choice) -> Option<Self> {
        let options = offers["configOptions"].as_array().into_iter().flatten();
        let mut of_kind = options.filter(|option| option["category"] == choice.word());
        if let Some(option) = of_kind.next() {
            let listed = option["options"].as_array().into_iter().flatten();
            // Some lists have groups in them.
            let flat = listed.flat_map(|entry| match entry["options"].as_array() {
                Some(group) => group.iter().collect(),
                None => vec![entry],
            });
            let way = Way::Option(option["id"].as_str()?.to_owned());
            return Some(Self { way, values: values(flat, "value") });
        }
        let (way, list, id) = match choice {
            Choice::Mode => (Way::Mode, &offers["modes"]["availableModes"], "id"),
            Choice::Model => (Way::OlderModel, &offers["models"]["availableModels"], "modelId"),
        };
        Some(Self { way, values: values(list.as_array()?.iter(), id) })
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
    fn a_choice_is_found_in_every_shape_that_agents_offer_it() {
        let grouped =
            json!([{"group": "g", "options": [{"value": "big", "name": "Big One"}]}, {"value": "small"}]);
        let offers = json!({"configOptions": [{"id": "m", "category": "model", "options": grouped}]});
        let offer = Offer::find(&offers, Choice::Model).unwrap();
        assert_eq!(offer.way, Way::Option("m".to_owned()));
        assert_eq!(
            (offer.value("big one"), offer.value("small"), offer.value("huge")),
            (Some("big"), Some("small"), None)
        );
        let older = json!({"models": {"availableModels": [{"modelId": "x", "name": "X"}]}});
        assert_eq!(Offer::find(&older, Choice::Model).unwrap().way, Way::OlderModel);
        let modes = json!({"modes": {"availableModes": [{"id": "plan", "name": "Plan"}]}});
        assert_eq!(Offer::find(&modes, Choice::Mode).unwrap().value("PLAN"), Some("plan"));
        assert_eq!(Offer::find(&json!({}), Choice::Mode), None);
    }
}
