//! Runs a command in the client's terminal. The agent itself starts no processes.

use agent_client_protocol::v1::schema::{
    CreateTerminalRequest, KillTerminalRequest, ReleaseTerminalRequest, SessionUpdate, Terminal,
    TerminalExitStatus, TerminalId, TerminalOutputRequest, ToolCall, ToolCallContent, ToolCallStatus,
    ToolCallUpdateFields, ToolKind, WaitForTerminalExitRequest,
};
use agent_client_protocol::{Error, JsonRpcRequest};
use serde_json::json;

use super::work;
use crate::turn::{DONE, Outcome, Stop, Turn};

/// `terminal COMMAND...`
pub(super) async fn terminal(turn: &Turn, rest: &str) -> Outcome {
    if !turn.agent.client_capabilities().terminal {
        return Err(Stop::Say("This client has no terminals (no terminal capability).".to_owned()));
    }
    let mut words = rest.split_whitespace().map(str::to_owned);
    let Some(command) = words.next() else {
        return Err(Stop::Say("A command is missing. Say help for the usage.".to_owned()));
    };
    let cwd = turn.agent.read_session(&turn.session.id(), |session| session.cwd.clone())?;
    let create = CreateTerminalRequest::new(turn.session.id(), command)
        .args(words.collect())
        .cwd(cwd)
        .output_byte_limit(64 * 1024);
    let terminal = match turn.ask(create).await? {
        Ok(created) => created.terminal_id,
        Err(error) => return Err(Stop::Say(format!("The client could not create a terminal: {error}"))),
    };

    let call = ToolCall::new(turn.next_tool_call(), format!("Run {}", rest.trim()))
        .kind(ToolKind::Execute)
        .status(ToolCallStatus::InProgress)
        .content(vec![ToolCallContent::Terminal(Terminal::new(terminal.clone()))])
        .raw_input(json!({"command": rest.trim()}));
    let id = call.tool_call_id.clone();
    let followed = async {
        turn.update(SessionUpdate::ToolCall(call)).await?;
        follow(turn, &terminal).await
    };
    let (exit, output) = match followed.await {
        Ok(Ok(finished)) => finished,
        Ok(Err(error)) => {
            release(turn, &terminal);
            work::change_status(turn, &id, ToolCallStatus::Failed).await?;
            return Err(Stop::Say(format!("The client lost the terminal: {error}")));
        }
        Err(stop) => {
            // The command must not outlive the turn; the responses are not awaited.
            forget(turn, KillTerminalRequest::new(turn.session.id(), terminal.clone()));
            release(turn, &terminal);
            return Err(stop);
        }
    };
    release(turn, &terminal);

    let done = match exit.exit_code {
        Some(0) => ToolCallStatus::Completed,
        _ => ToolCallStatus::Failed,
    };
    let fields = ToolCallUpdateFields::new()
        .status(done)
        .raw_output(json!({"exitCode": exit.exit_code, "signal": exit.signal, "output": output}));
    work::change(turn, &id, fields).await?;
    let how = match (exit.exit_code, exit.signal) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => format!("was ended by {signal}"),
        (None, None) => "ended".to_owned(),
    };
    turn.say(format!("The command {how}. Its output:\n\n{output}")).await?;
    Ok(DONE)
}

/// Waits for the command to end and fetches its output.
async fn follow(turn: &Turn, id: &TerminalId) -> Result<Result<(TerminalExitStatus, String), Error>, Stop> {
    let exit = match turn.ask(WaitForTerminalExitRequest::new(turn.session.id(), id.clone())).await? {
        Ok(response) => response.exit_status,
        Err(error) => return Ok(Err(error)),
    };
    let output = turn.ask(TerminalOutputRequest::new(turn.session.id(), id.clone())).await?;
    Ok(output.map(|response| (exit, response.output)))
}

fn release(turn: &Turn, id: &TerminalId) {
    forget(turn, ReleaseTerminalRequest::new(turn.session.id(), id.clone()));
}

/// Sends a request and ignores its response.
fn forget(turn: &Turn, request: impl JsonRpcRequest) {
    turn.client.0.send_request(request).detach();
}
