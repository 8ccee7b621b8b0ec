//! A problem document that a command received, shown with its reason and the next step.

use std::fmt;

use serde_json::Value;

use crate::cli::exit::Exit;
use crate::cli::style;

/// A problem that a server or the local engine reported.
#[derive(Debug, Clone)]
pub(in crate::cli) struct ReportedProblem {
    source: Source,
    status: u16,
    /// The problem document. Null if the response's body is something else, because another kind of server sent it.
    document: Value,
    hint: Option<String>,
}

/// Where a problem comes from.
#[derive(Debug, Clone)]
enum Source {
    /// The response of the server at this URL.
    Response { url: String },
    /// An event of the agent's stream, or the engine in this process. Its text must not mention HTTP.
    Event,
}

impl ReportedProblem {
    pub(super) fn from_response(url: &str, status: u16, body: &[u8]) -> Self {
        let document = serde_json::from_slice(body)
            .ok()
            .filter(|document: &Value| document["type"].as_str().is_some_and(|kind| kind.starts_with(KIND)))
            .unwrap_or_default();
        Self { source: Source::Response { url: url.to_owned() }, status, document, hint: None }
    }

    /// A problem from an event or from the engine in this process.
    pub(in crate::cli) fn from_document(document: Value) -> Self {
        let status = document["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(502);
        Self { source: Source::Event, status, document, hint: None }
    }

    /// Adds what to do about the problem.
    pub(in crate::cli) fn with_hint(mut self, hint: String) -> Self {
        self.hint = Some(hint);
        self
    }

    /// The error code, such as `unknown_agent`.
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
        let Source::Response { url } = &self.source else { return None };
        match (self.status, self.code()) {
            (401, _) => {
                Some("set its token with --token-file FILE, --token TOKEN or SANDBOX_AGENT_TOKEN".to_owned())
            }
            (_, "unknown_agent" | "agent_not_found") => {
                Some("`sandbox-agent api v1 agents list` lists them".to_owned())
            }
            (_, "") => Some(format!("is {url} a Sandbox Agent server?")),
            _ => None,
        }
    }
}

const KIND: &str = "urn:sandbox-agent:error:";

impl fmt::Display for ReportedProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Source::Response { .. } = self.source {
            write!(formatter, "the server answered {}: ", self.status)?;
        }
        let detail = self.document["detail"].as_str().unwrap_or("no reason was given");
        formatter.write_str(&style::without_control(detail))?;
        if let Some(next) = self.next_step() {
            write!(formatter, "; {next}")?;
        }
        for tail in ["outputTail", "stderrTail"] {
            if let Some(text) =
                self.document[tail].as_str().map(str::trim_end).filter(|text| !text.is_empty())
            {
                write!(formatter, "\n{}", style::without_control(text))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(status: u16, code: &str) -> ReportedProblem {
        let body = serde_json::json!({"type": format!("{KIND}{code}"), "detail": "why", "stderrTail": "last\x1b words\n"});
        ReportedProblem::from_response("http://host", status, body.to_string().as_bytes())
    }

    #[test]
    fn a_problem_has_a_next_step_and_one_exit_code() {
        let cases = [
            (401, "unauthorized", Exit::Unauthorized, "--token-file"),
            (400, "unknown_agent", Exit::NotFound, "agents list"),
            (404, "file_not_found", Exit::NotFound, "why"),
            (403, "permission_denied", Exit::Failed, "why"),
            (502, "agent_exited", Exit::AgentFailed, "last words"),
            (409, "already_exists", Exit::Failed, "409"),
        ];
        for (status, code, exit, says) in cases {
            let problem = problem(status, code);
            assert_eq!((problem.exit(), problem.code()), (exit, code));
            assert!(problem.to_string().contains(says), "{problem}");
        }
    }

    #[test]
    fn a_problem_without_a_response_does_not_mention_http() {
        let document =
            serde_json::json!({"type": format!("{KIND}agent_exited"), "status": 502, "detail": "why"});
        let problem = ReportedProblem::from_document(document);
        assert_eq!((problem.to_string().as_str(), problem.exit()), ("why", Exit::AgentFailed));
    }

    #[test]
    fn a_response_without_a_problem_document_may_come_from_another_server() {
        let problem = ReportedProblem::from_response("http://host", 404, b"<html>nginx</html>");
        assert!(problem.to_string().contains("is http://host a Sandbox Agent server?"), "{problem}");
        assert!(problem.document().is_null());
    }
}
