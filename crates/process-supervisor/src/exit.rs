//! How a process ended.

/// The names of signals 1 to 31 on Linux, without their common prefix.
const NAMES: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
    "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
    "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

/// How the agent's main process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// The process exited with this code.
    Code(i32),
    /// The process was ended by this signal.
    Signal(i32),
    /// The supervisor itself was killed, so the exit was not observed.
    Unknown,
}

impl Exit {
    /// The conventional name of a signal (`SIGKILL`), or `SIG` and its number if it has none.
    #[must_use]
    pub fn signal_name(number: i32) -> String {
        let name = usize::try_from(number).ok().and_then(|index| NAMES.get(index.checked_sub(1)?));
        name.map_or_else(|| format!("SIG{number}"), |name| format!("SIG{name}"))
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
        assert_eq!(Exit::signal_name(libc::SIGHUP), "SIGHUP");
        assert_eq!(Exit::signal_name(libc::SIGSYS), "SIGSYS");
        assert_eq!(Exit::signal_name(libc::SIGWINCH), "SIGWINCH");
        for unnamed in [0, -1, 40] {
            assert_eq!(Exit::signal_name(unnamed), format!("SIG{unnamed}"));
        }
    }
}
