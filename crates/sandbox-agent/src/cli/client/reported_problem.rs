//! An answer of 400 or above, told with its reason and the next step.

use std::fmt;

use serde_json::Value;

use crate::cli::exit::Exit;
use crate::cli::style;

/// What a server answered instead of what was asked for.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Refusal {
    url: String,
    status: u16,
    /// The problem document; null when the answer was none, so that it came from something else.
    document: Value,
    hint: Option<String>,
}

impl Refusal {
    pub(super) fn new(url: &str, status: u16, body: &[u8]) -> Self {
        let document = serde_json::from_slice(body)
            .ok()
            .filter(|document: &Value| document["type"].as_str().is_some_and(|kind| kind.starts_with(KIND)))
            .unwrap_or_default();
        Self { url: url.to_owned(), status, document, hint: None }
    }

    /// The same refusal as an event tells it.
    pub(in crate::cli) fn told(document: Value) -> Self {
        let status = document["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(502);
        Self { url: String::new(), status, document, hint: None }
    }

    /// Adds what to do about it.
    pub(in crate::cli) fn with_hint(mut self, hint: String) -> Self {
        self.hint = Some(hint);
        self
    }

    /// The code of the problem, such as `unknown_agent`.
    pub(in crate::cli) fn code(&self) -> &str {
        self.document["type"].as_str().and_then(|kind| kind.strip_prefix(KIND)).unwrap_or_default()
    }

    pub(in crate::cli) const fn status(&self) -> u16 {
        self.status
    }

    pub(in crate::cli) const fn document(&self) -> &Value {
        &self.document
    }

    pub(in crate::cli) fn exit(&self) -> Exit {
        match (self.status, self.code()) {
            (401, _) | (_, "forbidden_host" | "forbidden_origin") => Exit::Unauthorized,
            (404, _) | (_, "unknown_agent") => Exit::NotFound,
            (502, _) | (_, "agent_not_installed" | "agent_not_reading") => Exit::AgentFailed,
            _ => Exit::Failed,
        }
    }

    fn next_step(&self) -> Option<String> {
        if self.hint.is_some() {
            return self.hint.clone();
        }
        match (self.status, self.code()) {
            (401, _) => {
                Some("give its token with --token-file FILE, --token TOKEN or SANDBOX_AGENT_TOKEN".to_owned())
            }
            (_, "unknown_agent" | "agent_not_found") => {
                Some("`sandbox-agent api v1 agents list` shows those there are".to_owned())
            }
            (_, "") => Some(format!("is {} a Sandbox Agent server?", self.url)),
            _ => None,
        }
    }
}

const KIND: &str = "urn:sandbox-agent:error:";

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let detail = self.document["detail"].as_str().unwrap_or("no reason was given");
        write!(formatter, "the server answered {}: {}", self.status, style::harmless(detail))?;
        if let Some(next) = self.next_step() {
            write!(formatter, "; {next}")?;
        }
        for tail in ["outputTail", "stderrTail"] {
            if let Some(text) =
                self.document[tail].as_str().map(str::trim_end).filter(|text| !text.is_empty())
            {
                write!(formatter, "\n{}", style::harmless(text))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: u16, code: &str) -> Refusal {
        let body = serde_json::json!({"type": format!("{KIND}{code}"), "detail": "why", "stderrTail": "last\x1b words\n"});
        Refusal::new("http://host", status, body.to_string().as_bytes())
    }

    #[test]
    fn a_refusal_says_the_next_step_and_maps_to_one_exit_code() {
        let cases = [
            (401, "unauthorized", Exit::Unauthorized, "--token-file"),
            (400, "unknown_agent", Exit::NotFound, "agents list"),
            (404, "file_not_found", Exit::NotFound, "why"),
            (403, "permission_denied", Exit::Failed, "why"),
            (502, "agent_exited", Exit::AgentFailed, "last words"),
            (409, "already_exists", Exit::Failed, "409"),
        ];
        for (status, code, exit, says) in cases {
            let refusal = refusal(status, code);
            assert_eq!((refusal.exit(), refusal.code()), (exit, code));
            assert!(refusal.to_string().contains(says), "{refusal}");
        }
    }

    #[test]
    fn an_answer_that_is_no_problem_document_is_doubted() {
        let refusal = Refusal::new("http://host", 404, b"<html>nginx</html>");
        assert!(refusal.to_string().contains("is http://host a Sandbox Agent server?"), "{refusal}");
        assert!(refusal.document().is_null());
    }
}
