//! The one place where an error of the file service becomes a problem.

use std::io;
use std::path::Path;

use http_server::{Code, Problem, query};
use sandbox_fs::Error;

use super::path_text;
use crate::routes::upload;

/// The problem for an error. Details that must not be sent to the client are logged.
#[allow(clippy::needless_pass_by_value, reason = "the signature that `map_err` needs")]
pub(super) fn to_problem(error: Error) -> Problem {
    let detail = error.to_string();
    let about = |code: Code, path: &Path| Problem::new(code, detail.clone()).with("path", path_text(path));
    match &error {
        Error::NotFound { path } => about(Code::FileNotFound, path),
        Error::WrongKind { path, .. } => about(Code::WrongKind, path),
        Error::Exists { path } => about(Code::AlreadyExists, path),
        Error::PermissionDenied { path } | Error::Protected { path } | Error::OutsideRoot { path } => {
            about(Code::PermissionDenied, path)
        }
        Error::NoSpace { path } => about(Code::NoSpace, path),
        Error::BadName { .. } => Problem::new(Code::InvalidPath, detail),
        Error::BadToken => query::invalid("after", detail),
        Error::PreconditionFailed { path } => about(Code::PreconditionFailed, path),
        Error::IntoItself { from, to } => {
            Problem::new(Code::MoveIntoItself, detail).with("from", path_text(from)).with("to", path_text(to))
        }
        Error::NotEmpty { path } => about(Code::NotEmpty, path),
        Error::ArchiveRejected { entry, .. } => {
            let problem = Problem::new(Code::ArchiveRejected, detail);
            match entry {
                Some(entry) => problem.with("entry", path_text(entry)),
                None => problem,
            }
        }
        Error::TooLarge { limit } => {
            Problem::new(Code::PayloadTooLarge, format!("{detail} with --max-upload-bytes"))
                .with("limit", *limit)
        }
        Error::TooManyEntries { limit } => {
            Problem::new(Code::TooManyEntries, format!("{detail} with --max-upload-entries"))
                .with("limit", *limit)
        }
        Error::Changed { path } => about(Code::ChangedMeanwhile, path),
        Error::InputFailed { .. } => upload::incomplete(),
        Error::WatchLimit { path } => about(Code::OutOfResources, path).retry_after(5),
        Error::Io { path, source } => system(&error, path, source),
        // After `OutputFailed` the client is gone. Variants that later releases may add are unknown.
        _ => unknown(&error),
    }
}

fn system(error: &Error, path: &Path, source: &io::Error) -> Problem {
    let about = |code: Code, advice: &str| {
        Problem::new(code, format!("{}: {source}; {advice}", path_text(path))).with("path", path_text(path))
    };
    match source.kind() {
        io::ErrorKind::ResourceBusy | io::ErrorKind::ExecutableFileBusy => {
            about(Code::Busy, "stop the program that uses it, or unmount it, then try again")
        }
        io::ErrorKind::FileTooLarge => {
            about(Code::NoSpace, "this file system does not support files of that size")
        }
        io::ErrorKind::InvalidFilename => about(Code::InvalidPath, "choose another name"),
        _ if source.raw_os_error().is_some_and(is_exhaustion) => {
            about(Code::OutOfResources, "close files or watches, or raise the limit, then try again")
                .retry_after(5)
        }
        _ => unknown(error),
    }
}

fn is_exhaustion(number: i32) -> bool {
    use rustix::io::Errno;
    [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::AGAIN].map(Errno::raw_os_error).contains(&number)
}

fn unknown(error: &Error) -> Problem {
    tracing::error!(?error, "a file operation failed");
    Problem::new(Code::Internal, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(number: rustix::io::Errno) -> Code {
        to_problem(Error::Io { path: "x".into(), source: number.into() }).code()
    }

    #[test]
    fn system_errors_have_their_own_code_if_a_client_can_act_on_them() {
        assert_eq!(code_of(rustix::io::Errno::BUSY), Code::Busy);
        assert_eq!(code_of(rustix::io::Errno::MFILE), Code::OutOfResources);
        assert_eq!(code_of(rustix::io::Errno::FBIG), Code::NoSpace);
        assert_eq!(code_of(rustix::io::Errno::IO), Code::Internal);
    }
}
