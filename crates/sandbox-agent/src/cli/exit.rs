//! The exit codes of all commands. `docs/cli.md` and the man page are generated from this list.

use std::process::ExitCode;

/// The result of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    Success,
    Failed,
    Usage,
    NotFound,
    Unauthorized,
    Unreachable,
    AgentFailed,
    TurnIncomplete,
    PermissionRejected,
    Interrupted,
    OutputClosed,
}

impl Exit {
    /// All results.
    pub(super) const ALL: [Self; 11] = [
        Self::Success,
        Self::Failed,
        Self::Usage,
        Self::NotFound,
        Self::Unauthorized,
        Self::Unreachable,
        Self::AgentFailed,
        Self::TurnIncomplete,
        Self::PermissionRejected,
        Self::Interrupted,
        Self::OutputClosed,
    ];

    /// The exit code.
    pub(super) const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::Unauthorized => 4,
            Self::Unreachable => 5,
            Self::AgentFailed => 6,
            Self::TurnIncomplete => 7,
            Self::PermissionRejected => 8,
            // The codes that a shell reports for a program that was ended by SIGINT or SIGPIPE.
            Self::Interrupted => 130,
            Self::OutputClosed => 141,
        }
    }

    /// The meaning of the exit code.
    pub(super) const fn meaning(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "any other error",
            Self::Usage => "invalid usage",
            Self::NotFound => "agent, instance, file, entry or session not found",
            Self::Unauthorized => "authentication failed, or this client is not allowed",
            Self::Unreachable => "cannot reach the server",
            Self::AgentFailed => {
                "the agent could not be installed or started, exited unexpectedly, or answered with an error"
            }
            Self::TurnIncomplete => {
                "the turn stopped early: refused, out of tokens or steps, or cancelled by another client"
            }
            Self::PermissionRejected => {
                "a permission was rejected, because there was no terminal to ask on and no --allow"
            }
            Self::Interrupted => "interrupted by Ctrl-C or a signal, even if the turn was cancelled cleanly",
            Self::OutputClosed => "standard output was closed by its reader; no error is printed",
        }
    }
}

/// All codes, for the help.
pub(super) fn table() -> String {
    let lines = Exit::ALL.into_iter().map(|exit| format!("  {:<4} {}", exit.code(), exit.meaning()));
    format!("Exit codes:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exit_code_is_unique() {
        let mut codes: Vec<u8> = Exit::ALL.into_iter().map(Exit::code).collect();
        codes.dedup();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 8, 130, 141]);
    }
}
