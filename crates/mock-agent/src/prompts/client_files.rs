//! Reads and writes files through the client. The agent itself accesses no files.

use std::path::PathBuf;

use agent_client_protocol::v1::schema::{
    Diff, ReadTextFileRequest, SessionUpdate, ToolCall, ToolCallContent, ToolCallLocation, ToolCallStatus,
    ToolCallUpdateFields, ToolKind, WriteTextFileRequest,
};

use super::work;
use crate::turn::{DONE, Outcome, Stop, Turn};

/// `read PATH`
pub(super) async fn read(turn: &Turn, rest: &str) -> Outcome {
    if !turn.agent.client_capabilities().fs.read_text_file {
        return Err(Stop::Say("This client cannot read files (no fs.readTextFile capability).".to_owned()));
    }
    let path = path(turn, rest.trim())?;
    let id = begin(turn, format!("Read {}", path.display()), ToolKind::Read, &path).await?;
    match turn.ask(ReadTextFileRequest::new(turn.session.id(), path.clone())).await? {
        Ok(file) => {
            let content = vec![ToolCallContent::from(file.content.as_str())];
            let done = ToolCallUpdateFields::new().status(ToolCallStatus::Completed).content(content);
            work::change(turn, &id, done).await?;
            turn.say(format!("{} holds:\n\n{}", path.display(), file.content)).await?;
        }
        Err(error) => {
            work::change_status(turn, &id, ToolCallStatus::Failed).await?;
            turn.say(format!("The client could not read {}: {error}", path.display())).await?;
        }
    }
    Ok(DONE)
}

/// `write PATH TEXT`
pub(super) async fn write(turn: &Turn, rest: &str) -> Outcome {
    if !turn.agent.client_capabilities().fs.write_text_file {
        return Err(Stop::Say("This client cannot write files (no fs.writeTextFile capability).".to_owned()));
    }
    let trimmed = rest.trim_start();
    let (name, text) = trimmed.split_once(char::is_whitespace).unwrap_or((trimmed, ""));
    let path = path(turn, name)?;
    let id = begin(turn, format!("Write {}", path.display()), ToolKind::Edit, &path).await?;
    match turn.ask(WriteTextFileRequest::new(turn.session.id(), path.clone(), text)).await? {
        Ok(_) => {
            let content = vec![ToolCallContent::from(Diff::new(path.clone(), text))];
            let done = ToolCallUpdateFields::new().status(ToolCallStatus::Completed).content(content);
            work::change(turn, &id, done).await?;
            turn.say(format!("Wrote {} bytes to {}.", text.len(), path.display())).await?;
        }
        Err(error) => {
            work::change_status(turn, &id, ToolCallStatus::Failed).await?;
            turn.say(format!("The client could not write {}: {error}", path.display())).await?;
        }
    }
    Ok(DONE)
}

/// The absolute path in a prompt; relative paths start at the session's directory.
fn path(turn: &Turn, name: &str) -> Result<PathBuf, Stop> {
    if name.is_empty() {
        return Err(Stop::Say("A path is missing. Say help for the usage.".to_owned()));
    }
    Ok(turn.agent.read_session(&turn.session.id(), |session| session.cwd.join(name))?)
}

async fn begin(
    turn: &Turn,
    title: String,
    kind: ToolKind,
    path: &std::path::Path,
) -> Result<agent_client_protocol::v1::schema::ToolCallId, Stop> {
    let call = ToolCall::new(turn.next_tool_call(), title)
        .kind(kind)
        .status(ToolCallStatus::InProgress)
        .locations(vec![ToolCallLocation::new(path)]);
    let id = call.tool_call_id.clone();
    turn.update(SessionUpdate::ToolCall(call)).await?;
    Ok(id)
}
