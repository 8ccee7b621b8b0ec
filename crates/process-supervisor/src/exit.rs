//! How a process ended.

use nix::sys::signal::Signal;

/// How the agent's main process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It returned this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// The supervisor itself was killed, so the exit was not observed.
    Unknown,
}

impl Exit {
    /// The conventional name of a signal (`SIGKILL`), or its number where it has none.
    #[must_use]
    pub fn signal_name(number: i32) -> String {
        Signal::try_from(number).map_or_else(|_| format!("SIG{number}"), |signal| signal.as_str().to_owned())
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(formatter, "exit code {code}"),
            Self::Signal(number) => formatter.write_str(&Self::signal_name(*number)),
            Self::Unknown => formatter.write_str("an unknown cause"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_their_conventional_names() {
        assert_eq!(Exit::Signal(9).to_string(), "SIGKILL");
        assert_eq!(Exit::signal_name(15), "SIGTERM");
        assert_eq!(Exit::signal_name(40), "SIG40");
    }
}
