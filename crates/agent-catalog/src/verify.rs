//! Does what was installed work? One start, one answer.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use crate::conversation::{Conversation, TalkError};
use crate::launch::LaunchCommand;
use crate::record::Verification;
use crate::tool::Tool;

/// The slowest agent answers within four seconds here; a loaded machine may need many times that.
const PATIENCE: Duration = Duration::from_secs(90);

/// What was found.
#[derive(Debug, Clone)]
pub(crate) struct Verdict {
    pub(crate) verified: Verification,
    /// Why it is not `ok`, with the agent's last words.
    pub(crate) detail: Option<String>,
    pub(crate) output_tail: String,
    /// True when the program could not even be started, which no credentials will change.
    pub(crate) cannot_start: bool,
}

impl Verdict {
    /// The reason and the last few lines, for the record.
    pub(crate) fn explanation(&self) -> Option<String> {
        let detail = self.detail.as_ref()?;
        let lines: Vec<&str> = self.output_tail.lines().collect();
        let last = lines[lines.len().saturating_sub(6)..].join("\n");
        Some(if last.is_empty() { detail.clone() } else { format!("{detail}:\n{last}") })
    }
}

/// Starts the agent in a scratch folder and looks for an answer.
pub(crate) async fn verify(
    command: &LaunchCommand,
    variables: &BTreeMap<OsString, OsString>,
    directory: &Path,
    instead_of_handshake: Option<&[String]>,
) -> Verdict {
    match instead_of_handshake {
        Some(args) => by_command(command, variables, directory, args).await,
        None => by_handshake(command, variables, directory).await,
    }
}

async fn by_command(
    command: &LaunchCommand,
    variables: &BTreeMap<OsString, OsString>,
    directory: &Path,
    args: &[String],
) -> Verdict {
    let mut variables = variables.clone();
    variables.extend(command.env.clone());
    // A script's interpreter stays in front; the launch arguments after it give way to the command's.
    let script = command.args.first().filter(|first| Path::new(first).is_absolute()).cloned();
    let tool = Tool {
        program: command.program.clone(),
        args: script.into_iter().chain(args.iter().map(OsString::from)).collect(),
        variables,
        directory: directory.to_owned(),
        timeout: PATIENCE,
    };
    match tool.run().await {
        Ok(_) => ok(),
        Err(failure) => Verdict {
            verified: Verification::Failed,
            cannot_start: failure.detail.starts_with("cannot start"),
            detail: Some(failure.detail),
            output_tail: failure.tail,
        },
    }
}

async fn by_handshake(
    command: &LaunchCommand,
    variables: &BTreeMap<OsString, OsString>,
    directory: &Path,
) -> Verdict {
    let mut conversation = match Conversation::start(command, variables, directory, PATIENCE).await {
        Ok(conversation) => conversation,
        Err(error) => {
            let detail = format!("cannot start {}: {error}", command.program.display());
            let verified = Verification::Failed;
            return Verdict {
                verified,
                detail: Some(detail),
                output_tail: String::new(),
                cannot_start: true,
            };
        }
    };
    let answer = conversation.initialize().await;
    let output_tail = conversation.finish().await;
    match answer {
        Ok(_) => ok(),
        Err(error) => {
            let verified = judge(&error, &output_tail);
            Verdict { verified, detail: Some(error.to_string()), output_tail, cannot_start: false }
        }
    }
}

fn ok() -> Verdict {
    Verdict { verified: Verification::Ok, detail: None, output_tail: String::new(), cannot_start: false }
}

/// An agent that wants credentials says so in its error or, before it exits, on stderr.
fn judge(error: &TalkError, stderr: &str) -> Verification {
    let words = match error {
        TalkError::Refused { message, .. } => message.to_lowercase(),
        TalkError::Gone { .. } => stderr.to_lowercase(),
        TalkError::TimedOut => return Verification::Failed,
    };
    let signs =
        ["api key", "api_key", "apikey", "not logged in", "log in", "login", "authenticat", "credential"];
    if error.wants_authentication() || signs.iter().any(|sign| words.contains(sign)) {
        Verification::NeedsCredentials
    } else {
        Verification::Failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_asks_for_a_key_is_not_broken() {
        let gone = TalkError::Gone { detail: "ended".into() };
        assert_eq!(judge(&gone, "Error: set the EXAMPLE_API_KEY variable"), Verification::NeedsCredentials);
        assert_eq!(judge(&gone, "Segmentation fault"), Verification::Failed);
        let refused = TalkError::Refused { code: -32000, message: "Sorry".into() };
        assert_eq!(judge(&refused, ""), Verification::NeedsCredentials);
        assert_eq!(judge(&TalkError::TimedOut, "please log in"), Verification::Failed);
    }
}
