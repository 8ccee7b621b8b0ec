//! Updates about the session: title, mode, usage, commands, and Sandbox Agent's own notifications.

use agent_client_protocol::v1::schema::{Cost, SessionUpdate, UsageUpdate};

use super::available_commands;
use crate::extension::{AgentUnparsed, SessionEnded};
use crate::session::{self, Setting};
use crate::turn::{CONTEXT_SIZE, DONE, Outcome, Stop, Turn};

/// `usage`
pub(super) async fn usage(turn: &Turn, _: &str) -> Outcome {
    let used = turn.agent.read_session(&turn.session.id(), |session| session.used)?;
    let update = UsageUpdate::new(used, CONTEXT_SIZE).cost(Cost::new(0.25, "USD"));
    turn.update(SessionUpdate::UsageUpdate(update)).await?;
    turn.say(format!("{used} of {CONTEXT_SIZE} tokens are used, for 0.25 USD.")).await?;
    Ok(DONE)
}

/// `title TEXT`
pub(super) async fn title(turn: &Turn, rest: &str) -> Outcome {
    let title = rest.trim();
    if title.is_empty() {
        return Err(Stop::Say("A title is missing. Say help for the usage.".to_owned()));
    }
    turn.set_title(title).await?;
    turn.say(format!("This session is now called {title}.")).await?;
    Ok(DONE)
}

/// `commands`
pub(super) async fn commands(turn: &Turn, _: &str) -> Outcome {
    turn.update(available_commands()).await?;
    turn.say("The slash commands are announced again.").await?;
    Ok(DONE)
}

/// `mode ID`
pub(super) async fn mode(turn: &Turn, rest: &str) -> Outcome {
    let mode = rest.trim();
    let changed = turn.agent.change_session(&turn.session.id(), |_, session| {
        Ok(session.settings.set(Setting::Mode, mode).then(|| session.settings.clone()))
    })?;
    let Some(settings) = changed else {
        let modes = Setting::Mode.values().join(", ");
        return Err(Stop::Say(format!("{mode} is not a mode. The modes are {modes}.")));
    };
    turn.update(session::current_mode(&settings)).await?;
    turn.update(session::config_options(&settings)).await?;
    turn.say(format!("The mode is now {mode}.")).await?;
    Ok(DONE)
}

/// `ended`
pub(super) async fn ended(turn: &Turn, _: &str) -> Outcome {
    turn.client.notify(SessionEnded {
        session_id: turn.session.id(),
        reason: "completed".to_owned(),
        terminated_by: "agent".to_owned(),
        message: "The mock agent was asked to end the session.".to_owned(),
        exit_code: 0,
    })?;
    turn.say("I said that the session has ended.").await?;
    Ok(DONE)
}

/// `unparsed`
pub(super) async fn unparsed(turn: &Turn, _: &str) -> Outcome {
    turn.client.notify(AgentUnparsed {
        error: "expected ident at line 1 column 2".to_owned(),
        location: "agent stdout line 1".to_owned(),
        // SHA-256 of `not json`, without a newline.
        raw_hash: "7ccfa1fbf3940e6f0c0375d87c0f9235a50514e14cb427bdfaf5077987b26ccf".to_owned(),
    })?;
    turn.say("I said that something could not be parsed.").await?;
    Ok(DONE)
}
