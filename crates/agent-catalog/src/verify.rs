//! Verifies an installed agent by starting it once.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use crate::conversation::{Conversation, RequestError};
use crate::launch::LaunchCommand;
use crate::record::Verification;
use crate::tool::Tool;

/// The time limit for an answer. The slowest known agent needs four seconds; a loaded machine may need many
/// times that.
const TIMEOUT: Duration = Duration::from_secs(90);

/// The result of a verification.
#[derive(Debug, Clone)]
pub(crate) struct VerificationResult {
    pub(crate) verified: Verification,
    /// Why `verified` is not `ok`.
    pub(crate) detail: Option<String>,
    pub(crate) output_tail: String,
    /// True when the program could not be started at all, which credentials cannot fix.
    pub(crate) cannot_start: bool,
}

impl VerificationResult {
    /// The reason and the last lines of output, for the record.
    pub(crate) fn explanation(&self) -> Option<String> {
        let detail = self.detail.as_ref()?;
        let lines: Vec<&str> = self.output_tail.lines().collect();
        let last = lines[lines.len().saturating_sub(6)..].join("\n");
        Some(if last.is_empty() { detail.clone() } else { format!("{detail}:\n{last}") })
    }
}

/// Starts the agent in a scratch folder and checks that it answers.
pub(crate) async fn verify(
    command: &LaunchCommand,
    variables: &BTreeMap<OsString, OsString>,
    directory: &Path,
    instead_of_handshake: Option<&[String]>,
) -> VerificationResult {
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
) -> VerificationResult {
    let mut variables = variables.clone();
    variables.extend(command.env.clone());
    // The script path after an interpreter is kept; the launch arguments after it are replaced.
    let script = command.args.first().filter(|first| Path::new(first).is_absolute()).cloned();
    let tool = Tool {
        program: command.program.clone(),
        args: script.into_iter().chain(args.iter().map(OsString::from)).collect(),
        variables,
        directory: directory.to_owned(),
        timeout: TIMEOUT,
    };
    match tool.run().await {
        Ok(_) => ok(),
        Err(failure) => VerificationResult {
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
) -> VerificationResult {
    let mut conversation = match Conversation::start(command, variables, directory, TIMEOUT).await {
        Ok(conversation) => conversation,
        Err(error) => {
            let detail = format!("cannot start {}: {error}", command.program.display());
            let verified = Verification::Failed;
            return VerificationResult {
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
            let verified = classify_failure(&error, &output_tail);
            VerificationResult { verified, detail: Some(error.to_string()), output_tail, cannot_start: false }
        }
    }
}

fn ok() -> VerificationResult {
    VerificationResult {
        verified: Verification::Ok,
        detail: None,
        output_tail: String::new(),
        cannot_start: false,
    }
}

/// An agent that requires credentials reports that in its error, or on stderr before it exits.
fn classify_failure(error: &RequestError, stderr: &str) -> Verification {
    let text = match error {
        RequestError::Refused { message, .. } => message.to_lowercase(),
        RequestError::Gone { .. } => stderr.to_lowercase(),
        RequestError::TimedOut => return Verification::Failed,
    };
    let signs =
        ["api key", "api_key", "apikey", "not logged in", "log in", "login", "authenticat", "credential"];
    if error.requires_authentication() || signs.iter().any(|sign| text.contains(sign)) {
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
        let gone = RequestError::Gone { detail: "ended".into() };
        assert_eq!(
            classify_failure(&gone, "Error: set the EXAMPLE_API_KEY variable"),
            Verification::NeedsCredentials
        );
        assert_eq!(classify_failure(&gone, "Segmentation fault"), Verification::Failed);
        let refused = RequestError::Refused { code: -32000, message: "Sorry".into() };
        assert_eq!(classify_failure(&refused, ""), Verification::NeedsCredentials);
        assert_eq!(classify_failure(&RequestError::TimedOut, "please log in"), Verification::Failed);
    }
}
