//! How a command ends, as the shell sees it. The one place: `docs/cli.md` and the man page list these.

use std::process::ExitCode;

/// What an exit code says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    Done,
    Failed,
    Usage,
    NotFound,
    Unauthorized,
    Unreachable,
    AgentFailed,
    TurnIncomplete,
    Interrupted,
    OutputClosed,
}

impl Exit {
    /// Every code there is.
    pub(super) const ALL: [Self; 10] = [
        Self::Done,
        Self::Failed,
        Self::Usage,
        Self::NotFound,
        Self::Unauthorized,
        Self::Unreachable,
        Self::AgentFailed,
        Self::TurnIncomplete,
        Self::Interrupted,
        Self::OutputClosed,
    ];

    /// The number.
    pub(super) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::Unauthorized => 4,
            Self::Unreachable => 5,
            Self::AgentFailed => 6,
            Self::TurnIncomplete => 7,
            // What a shell makes of a program that Ctrl-C, or a closed pipe, has ended.
            Self::Interrupted => 130,
            Self::OutputClosed => 141,
        }
    }

    /// What it means.
    pub(super) const fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed for a reason that has no code of its own",
            Self::Usage => "the command line makes no sense",
            Self::NotFound => "the agent, instance, file, entry or session is not there",
            Self::Unauthorized => "the server wants another token, or none from here",
            Self::Unreachable => "no server answers at that address",
            Self::AgentFailed => {
                "the agent could not be installed or started, ended by itself, or answered with an error"
            }
            Self::TurnIncomplete => {
                "the turn stopped early: refused, out of tokens or steps, or cancelled by somebody else"
            }
            Self::Interrupted => "interrupted with Ctrl-C or a signal, the turn that it cancelled included",
            Self::OutputClosed => "whoever read the output has gone; nothing is said about it",
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
    fn every_code_is_there_once() {
        let mut codes: Vec<u8> = Exit::ALL.into_iter().map(Exit::code).collect();
        codes.dedup();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 130, 141]);
    }
}
