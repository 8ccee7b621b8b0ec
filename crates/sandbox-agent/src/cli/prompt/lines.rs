//! Prints a turn for programs: one line of JSON per event.

use std::io::Write;

use serde_json::{Value, json};

use super::view::{OpenedSession, TurnView};
use crate::cli::error::CliError;

/// Writes each event immediately as one line on standard output.
#[derive(Debug)]
pub(super) struct JsonLines;

impl JsonLines {
    fn line(value: &Value) -> Result<(), CliError> {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{value}")?;
        Ok(out.flush()?)
    }
}

impl TurnView for JsonLines {
    fn opened(&mut self, opened: &OpenedSession<'_>) -> Result<(), CliError> {
        let OpenedSession { session, agent, server_id, can_continue, .. } = opened;
        Self::line(&json!({
            "type": "session", "sessionId": session, "agent": agent, "serverId": server_id, "canGoOn": can_continue,
        }))
    }

    fn replayed(&mut self, update: &Value) -> Result<(), CliError> {
        Self::line(&json!({"type": "recalled", "update": update}))
    }

    fn update(&mut self, update: &Value) -> Result<(), CliError> {
        Self::line(&json!({"type": "update", "update": update}))
    }

    fn notification(&mut self, method: &str, params: &Value) -> Result<(), CliError> {
        Self::line(&json!({"type": "notification", "method": method, "params": params}))
    }

    fn answered(&mut self, method: &str, params: &Value, answer: &Value) -> Result<(), CliError> {
        Self::line(&json!({"type": "answered", "method": method, "params": params, "answer": answer}))
    }

    fn remark(&mut self, text: &str) -> Result<(), CliError> {
        Self::line(&json!({"type": "remark", "text": text}))
    }

    fn stopped(&mut self, response: &Value) -> Result<(), CliError> {
        Self::line(&json!({"type": "stop", "stopReason": response["stopReason"], "response": response}))
    }

    fn failed(&mut self, error: &CliError) -> Result<(), CliError> {
        let mut line = error.to_json();
        line["type"] = json!("error");
        Self::line(&line)
    }

    fn pause(&mut self) -> Result<(), CliError> {
        Ok(())
    }
}
