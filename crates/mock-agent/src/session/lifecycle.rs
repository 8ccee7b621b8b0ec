//! The `session/*` methods other than `session/prompt`.
//!
//! Each function implements one method; [`methods`](crate::methods) only lists them.

#![allow(clippy::needless_pass_by_value, reason = "the table of methods requires this signature")]

use std::path::{Path, PathBuf};

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{
    CloseSessionRequest, CloseSessionResponse, ConfigOptionUpdate, CurrentModeUpdate, DeleteSessionRequest,
    DeleteSessionResponse, ForkSessionRequest, ForkSessionResponse, ListSessionsRequest,
    ListSessionsResponse, LoadSessionRequest, LoadSessionResponse, McpServer, Meta, NewSessionRequest,
    NewSessionResponse, ResumeSessionRequest, ResumeSessionResponse, SessionId, SessionUpdate,
    SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeRequest,
    SetSessionModeResponse,
};

use super::{Session, SessionNumber, Setting, Settings};
use crate::agent::{Agent, Capability, ToClient};
use crate::extension::{SetModelRequest, SetModelResponse};
use crate::methods::Opened;

/// The number of sessions per page of `session/list`.
const PAGE: usize = 10;

fn absolute<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<(), Error> {
    let relative: Option<&Path> = paths.into_iter().map(PathBuf::as_path).find(|path| !path.is_absolute());
    match relative {
        None => Ok(()),
        Some(path) => {
            Err(Error::invalid_params().data(format!("{} is not an absolute path", path.display())))
        }
    }
}

/// `session/new`
pub(crate) fn new(
    agent: &Agent,
    request: NewSessionRequest,
    _: &ToClient,
) -> Result<Opened<NewSessionResponse>, Error> {
    agent.require_login()?;
    absolute([&request.cwd].into_iter().chain(&request.additional_directories))?;
    let mut session = Session::new(request.cwd);
    session.additional_directories = request.additional_directories;
    session.mcp_servers = request.mcp_servers;
    session.meta = request.meta;
    let settings = session.settings.clone();
    let number = agent.add_session(session)?;
    let response = NewSessionResponse::new(number.id())
        .modes(settings.modes())
        .config_options(settings.config_options());
    Ok(Opened { session: number.id(), response })
}

/// The parameters that `session/load` and `session/resume` have in common.
struct Opening {
    session_id: SessionId,
    cwd: PathBuf,
    additional_directories: Vec<PathBuf>,
    mcp_servers: Vec<McpServer>,
    meta: Option<Meta>,
}

fn open(agent: &Agent, opening: Opening) -> Result<(SessionNumber, Settings, Vec<SessionUpdate>), Error> {
    agent.require_login()?;
    absolute([&opening.cwd].into_iter().chain(&opening.additional_directories))?;
    agent.change_session(&opening.session_id, |number, session| {
        session.cwd = opening.cwd;
        session.additional_directories = opening.additional_directories;
        session.mcp_servers = opening.mcp_servers;
        session.meta = opening.meta;
        session.active = true;
        Ok((number, session.settings.clone(), session.history().to_vec()))
    })
}

/// `session/load`: replays the whole conversation as updates, then responds.
pub(crate) fn load(
    agent: &Agent,
    request: LoadSessionRequest,
    client: &ToClient,
) -> Result<Opened<LoadSessionResponse>, Error> {
    agent.require(Capability::Load)?;
    let (number, settings, history) = open(
        agent,
        Opening {
            session_id: request.session_id,
            cwd: request.cwd,
            additional_directories: request.additional_directories,
            mcp_servers: request.mcp_servers,
            meta: request.meta,
        },
    )?;
    for update in history {
        client.update(number, update)?;
    }
    let response =
        LoadSessionResponse::new().modes(settings.modes()).config_options(settings.config_options());
    Ok(Opened { session: number.id(), response })
}

/// `session/resume`: like `session/load`, but without the replay.
pub(crate) fn resume(
    agent: &Agent,
    request: ResumeSessionRequest,
    _: &ToClient,
) -> Result<Opened<ResumeSessionResponse>, Error> {
    agent.require(Capability::Resume)?;
    let (number, settings, _) = open(
        agent,
        Opening {
            session_id: request.session_id,
            cwd: request.cwd,
            additional_directories: request.additional_directories,
            mcp_servers: request.mcp_servers,
            meta: request.meta,
        },
    )?;
    let response =
        ResumeSessionResponse::new().modes(settings.modes()).config_options(settings.config_options());
    Ok(Opened { session: number.id(), response })
}

/// `session/fork`
pub(crate) fn fork(
    agent: &Agent,
    request: ForkSessionRequest,
    _: &ToClient,
) -> Result<Opened<ForkSessionResponse>, Error> {
    agent.require_login()?;
    absolute([&request.cwd].into_iter().chain(&request.additional_directories))?;
    let mut session = agent.read_session(&request.session_id, Session::forked)?;
    session.cwd = request.cwd;
    session.additional_directories = request.additional_directories;
    session.mcp_servers = request.mcp_servers;
    session.meta = request.meta;
    let settings = session.settings.clone();
    let number = agent.add_session(session)?;
    let response = ForkSessionResponse::new(number.id())
        .modes(settings.modes())
        .config_options(settings.config_options());
    Ok(Opened { session: number.id(), response })
}

/// `session/list`: newest first. A cursor names the last session of the previous page.
pub(crate) fn list(
    agent: &Agent,
    request: ListSessionsRequest,
    _: &ToClient,
) -> Result<ListSessionsResponse, Error> {
    let before = match request.cursor {
        None => SessionNumber(u64::MAX),
        Some(cursor) => SessionNumber::parse(&SessionId::new(cursor.as_str())).ok_or_else(|| {
            Error::invalid_params().data(format!("{cursor} is not a cursor of session/list"))
        })?,
    };
    let mut page = agent.sessions(|number, session| {
        let wanted = number < before && request.cwd.as_ref().is_none_or(|cwd| *cwd == session.cwd);
        wanted.then(|| session.info(number))
    });
    let more = page.len() > PAGE;
    page.truncate(PAGE);
    let cursor = page.last().filter(|_| more).map(|info| info.session_id.to_string());
    Ok(ListSessionsResponse::new(page).next_cursor(cursor))
}

/// `session/close`: stops the running turn; the session stays listed and can be opened again.
pub(crate) fn close(
    agent: &Agent,
    request: CloseSessionRequest,
    _: &ToClient,
) -> Result<CloseSessionResponse, Error> {
    agent.change_session(&request.session_id, |_, session| {
        session.cancel();
        // Free the turn now, so that a reopened session accepts a prompt at once. The cancelled turn sends
        // nothing more.
        session.turn = None;
        session.active = false;
        Ok(())
    })?;
    Ok(CloseSessionResponse::new())
}

/// `session/delete`: deleting an unknown session succeeds.
pub(crate) fn delete(
    agent: &Agent,
    request: DeleteSessionRequest,
    _: &ToClient,
) -> Result<DeleteSessionResponse, Error> {
    agent.remove_session(&request.session_id)?;
    Ok(DeleteSessionResponse::new())
}

fn set(
    agent: &Agent,
    id: &SessionId,
    setting: Setting,
    value: &str,
) -> Result<(SessionNumber, Settings), Error> {
    agent.change_session(id, |number, session| {
        if session.settings.set(setting, value) {
            Ok((number, session.settings.clone()))
        } else {
            let choices = setting.values().join(", ");
            Err(Error::invalid_params().data(format!("{value} is none of: {choices}")))
        }
    })
}

/// `session/set_mode`: the config option of category `mode` changes too, so the client is notified.
pub(crate) fn set_mode(
    agent: &Agent,
    request: SetSessionModeRequest,
    client: &ToClient,
) -> Result<SetSessionModeResponse, Error> {
    let (number, settings) = set(agent, &request.session_id, Setting::Mode, &request.mode_id.0)?;
    client.update(number, config_options(&settings))?;
    Ok(SetSessionModeResponse::new())
}

/// `session/set_config_option`: if the mode changes, the client also receives the session mode.
pub(crate) fn set_config_option(
    agent: &Agent,
    request: SetSessionConfigOptionRequest,
    client: &ToClient,
) -> Result<SetSessionConfigOptionResponse, Error> {
    let setting = Setting::with_id(&request.config_id.0).ok_or_else(|| {
        Error::invalid_params().data(format!("there is no config option {}", request.config_id.0))
    })?;
    let value = request
        .value
        .as_value_id()
        .ok_or_else(|| Error::invalid_params().data("the value must be the id of one of the options"))?;
    let (number, settings) = set(agent, &request.session_id, setting, &value.0)?;
    if setting == Setting::Mode {
        client.update(number, current_mode(&settings))?;
    }
    Ok(SetSessionConfigOptionResponse::new(settings.config_options()))
}

/// `session/set_model`, the predecessor of config options.
pub(crate) fn set_model(
    agent: &Agent,
    request: SetModelRequest,
    client: &ToClient,
) -> Result<SetModelResponse, Error> {
    let (number, settings) = set(agent, &request.session_id, Setting::Model, &request.model_id)?;
    client.update(number, config_options(&settings))?;
    Ok(SetModelResponse {})
}

/// The update with all config options.
pub(crate) fn config_options(settings: &Settings) -> SessionUpdate {
    SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(settings.config_options()))
}

/// The update with the session mode.
pub(crate) fn current_mode(settings: &Settings) -> SessionUpdate {
    SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(settings.get(Setting::Mode).to_owned()))
}
