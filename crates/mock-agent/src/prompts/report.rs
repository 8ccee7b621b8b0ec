//! Reports what the agent received: metadata, attachments, MCP servers, environment, directories.
//!
//! The comment on each function is the prompt that it answers.

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{ContentBlock, McpServer};
use serde_json::{Map, Value, json};

use crate::turn::{DONE, Outcome, Stop, Turn};

fn as_json(value: &Value) -> Result<String, Stop> {
    serde_json::to_string_pretty(value).map_err(|error| Stop::Fail(Error::into_internal_error(error)))
}

/// `meta`
pub(super) async fn meta(turn: &Turn, _: &str) -> Outcome {
    let session = turn.agent.read_session(&turn.session.id(), |session| session.meta.clone())?;
    let others = turn.prompt.prompt.iter().filter(|block| !matches!(block, ContentBlock::Text(_)));
    let attachments: Vec<Value> = others.map(attachment).collect::<Result<_, _>>()?;
    let report = json!({"session": session, "prompt": turn.prompt.meta, "attachments": attachments});
    turn.say(as_json(&report)?).await?;
    Ok(DONE)
}

/// Describes an attachment without its content.
fn attachment(block: &ContentBlock) -> Result<Value, Stop> {
    let whole = serde_json::to_value(block).map_err(|error| Stop::Fail(Error::into_internal_error(error)))?;
    let mut report = Map::new();
    for part in [&whole, &whole["resource"]] {
        for key in ["type", "name", "title", "uri", "mimeType", "size", "_meta"] {
            if let Some(value) = part.get(key) {
                report.insert(key.to_owned(), value.clone());
            }
        }
        for key in ["data", "text", "blob"] {
            if let Some(content) = part.get(key).and_then(Value::as_str) {
                report.insert("bytes".to_owned(), content.len().into());
            }
        }
    }
    Ok(Value::Object(report))
}

/// `mcp`
pub(super) async fn mcp(turn: &Turn, _: &str) -> Outcome {
    let servers = turn.agent.read_session(&turn.session.id(), |session| session.mcp_servers.clone())?;
    turn.say(format!("I was given {} MCP servers.\n", servers.len())).await?;
    for server in servers {
        let line = match server {
            McpServer::Stdio(stdio) => {
                let words = [stdio.command.display().to_string()].into_iter().chain(stdio.args);
                format!("- {} (stdio): {}\n", stdio.name, words.collect::<Vec<_>>().join(" "))
            }
            McpServer::Http(http) => format!("- {} (http): {}\n", http.name, http.url),
            McpServer::Sse(sse) => format!("- {} (sse): {}\n", sse.name, sse.url),
            _ => "- one of a kind I do not know\n".to_owned(),
        };
        turn.say(line).await?;
    }
    Ok(DONE)
}

/// `env NAME`
pub(super) async fn env(turn: &Turn, rest: &str) -> Outcome {
    let name = rest.trim();
    let text = match std::env::var_os(name) {
        Some(value) => format!("{name}={}", value.to_string_lossy()),
        None => format!("{name} is not set."),
    };
    turn.say(text).await?;
    Ok(DONE)
}

/// `cwd`
pub(super) async fn cwd(turn: &Turn, _: &str) -> Outcome {
    let session = turn.agent.read_session(&turn.session.id(), |session| session.cwd.clone())?;
    let process = match std::env::current_dir() {
        Ok(directory) => directory.display().to_string(),
        Err(error) => format!("unknown ({error})"),
    };
    turn.say(format!("session: {}\nprocess: {process}\n", session.display())).await?;
    Ok(DONE)
}
