//! The one place where an error of the configuration store becomes a problem.

use std::io;

use http_server::{Code, Problem, query};
use sandbox_config::Error;

/// When to try again to write a file that another process has locked.
const RETRY_SECONDS: u32 = 5;

/// The problem for an error of the store. `name_parameter` is the query parameter with the name of an entry.
pub(super) fn to_problem(error: &Error, name_parameter: &'static str) -> Problem {
    let detail = error.to_string();
    match error {
        Error::InvalidDirectory { problem } => query::invalid("directory", format!("`directory` {problem}")),
        Error::InvalidName { problem } => {
            query::invalid(name_parameter, format!("`{name_parameter}` {problem}"))
        }
        Error::NotJson { .. } => Problem::new(Code::InvalidJson, detail),
        Error::InvalidField { field, .. } => {
            Problem::new(Code::InvalidConfig, detail).with("field", field.as_str())
        }
        Error::EntryTooLarge { limit, .. } => {
            Problem::new(Code::PayloadTooLarge, detail).with("limit", *limit)
        }
        Error::Locked { .. } => logged(error, Code::ConfigLocked, "; end that process, or try again later")
            .retry_after(RETRY_SECONDS),
        Error::Io { source, .. } => match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Problem::new(
                Code::NoSpace,
                "the disk with the configuration is full; free some space, then try again",
            ),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                logged(error, Code::PermissionDenied, "; check the owner and mode of --data-dir")
            }
            _ => logged(error, Code::Internal, "; see the server's log and the state of the disk"),
        },
        // A file that is damaged or was written by a newer release, and errors that later releases may add.
        _ => logged(error, Code::Internal, ""),
    }
}

/// The problem for a write that waits behind too many others.
pub(super) fn too_many_writes() -> Problem {
    let detail = "many writes to the configuration are waiting; try again later";
    Problem::new(Code::ConfigLocked, detail).retry_after(RETRY_SECONDS)
}

/// Also logs the error, because the server's operator has to act on it.
fn logged(error: &Error, code: Code, advice: &str) -> Problem {
    tracing::error!(%error, "the configuration cannot be read or written");
    Problem::new(code, format!("{error}{advice}"))
}
