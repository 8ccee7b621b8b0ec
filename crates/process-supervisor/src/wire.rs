//! The protocol of the control socket.
//!
//! Server to supervisor: one byte that carries the three stdio descriptors, the launch specification, then one byte
//! per command. Supervisor to server: one line per report. The specification is sent over the socket and not as
//! command-line arguments, because its environment may contain secrets that `ps` would show to every user.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::Exit;

/// Everything needed to start one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaunchSpec {
    /// The program to execute; looked up in the `PATH` of `environment` if it has no slash.
    pub program: OsString,
    /// The arguments, without the program's name.
    pub arguments: Vec<OsString>,
    /// The complete environment; nothing else is inherited.
    pub environment: Vec<(OsString, OsString)>,
    /// The working directory; default: the server's own.
    pub directory: Option<PathBuf>,
}

/// Command: send SIGTERM to the tree.
pub(crate) const TERMINATE: u8 = b'T';
/// Command: kill the tree at once.
pub(crate) const KILL: u8 = b'K';

/// The longest specification that a supervisor reads; far more than the kernel accepts for `exec`.
const MAX_SPEC_BYTES: usize = 64 << 20;

impl LaunchSpec {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(4096);
        put(&mut body, &self.program);
        put_count(&mut body, self.arguments.len());
        self.arguments.iter().for_each(|argument| put(&mut body, argument));
        put_count(&mut body, self.environment.len());
        for (name, value) in &self.environment {
            put(&mut body, name);
            put(&mut body, value);
        }
        // No directory has an empty path, so an empty path can stand for "none".
        put(&mut body, self.directory.as_deref().map_or(OsStr::new(""), |path| path.as_os_str()));
        let mut framed = Vec::with_capacity(body.len() + 4);
        put_count(&mut framed, body.len());
        framed.extend_from_slice(&body);
        framed
    }

    pub(crate) fn read(source: &mut impl io::Read) -> io::Result<Self> {
        let mut length = [0; 4];
        source.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_SPEC_BYTES {
            return Err(malformed());
        }
        let mut body = vec![0; length];
        source.read_exact(&mut body)?;
        let mut rest = body.as_slice();
        let program = take(&mut rest)?;
        let arguments = (0..take_count(&mut rest)?).map(|_| take(&mut rest)).collect::<io::Result<_>>()?;
        let environment = (0..take_count(&mut rest)?)
            .map(|_| Ok((take(&mut rest)?, take(&mut rest)?)))
            .collect::<io::Result<_>>()?;
        let directory = take(&mut rest)?;
        let directory = (!directory.is_empty()).then(|| directory.into());
        Ok(Self { program, arguments, environment, directory })
    }
}

fn put_count(target: &mut Vec<u8>, count: usize) {
    // The kernel's own limits keep every count far below 2^32.
    target.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

fn put(target: &mut Vec<u8>, text: &OsStr) {
    put_count(target, text.len());
    target.extend_from_slice(text.as_bytes());
}

fn take_count(rest: &mut &[u8]) -> io::Result<usize> {
    let (head, tail) = rest.split_first_chunk::<4>().ok_or_else(malformed)?;
    *rest = tail;
    Ok(u32::from_le_bytes(*head) as usize)
}

fn take(rest: &mut &[u8]) -> io::Result<OsString> {
    let length = take_count(rest)?;
    let (head, tail) = rest.split_at_checked(length).ok_or_else(malformed)?;
    *rest = tail;
    Ok(OsString::from_vec(head.to_vec()))
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the launch specification is truncated")
}

/// A line from the supervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Report {
    /// The agent was started with this process id.
    Started(u32),
    /// The agent could not be started.
    Failed(String),
    /// The agent's main process ended; other processes of the tree may remain.
    Exited(Exit),
    /// The whole tree has ended.
    Gone,
    /// The kill command was carried out, but processes may still be running.
    Killing,
}

impl Report {
    pub(crate) fn to_line(&self) -> String {
        match self {
            Self::Started(pid) => format!("started {pid}\n"),
            Self::Failed(reason) => format!("failed {}\n", reason.replace('\n', " ")),
            Self::Exited(Exit::Code(code)) => format!("code {code}\n"),
            Self::Exited(Exit::Signal(number)) => format!("signal {number}\n"),
            Self::Exited(Exit::Unknown) => "unknown \n".to_owned(),
            Self::Gone => "gone \n".to_owned(),
            Self::Killing => "killing \n".to_owned(),
        }
    }

    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.trim_end_matches('\n').split_once(' ')?;
        Some(match word {
            "started" => Self::Started(rest.parse().ok()?),
            "failed" => Self::Failed(rest.to_owned()),
            "code" => Self::Exited(Exit::Code(rest.parse().ok()?)),
            "signal" => Self::Exited(Exit::Signal(rest.parse().ok()?)),
            "unknown" => Self::Exited(Exit::Unknown),
            "gone" => Self::Gone,
            "killing" => Self::Killing,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_specification_reads_back_as_it_was_sent() {
        let spec = LaunchSpec {
            program: "agent".into(),
            arguments: vec!["".into(), OsString::from_vec(vec![0xff, 0xfe])],
            environment: vec![("A".into(), "1\n2".into()), ("B".into(), "".into())],
            directory: Some("/tmp".into()),
        };
        let bytes = spec.encode();
        assert_eq!(LaunchSpec::read(&mut bytes.as_slice()).unwrap(), spec);
        assert!(LaunchSpec::read(&mut &bytes[..bytes.len() - 1]).is_err());
    }

    #[test]
    fn every_report_reads_back_as_it_was_sent() {
        for report in [
            Report::Started(7),
            Report::Failed("no such file".into()),
            Report::Exited(Exit::Code(3)),
            Report::Exited(Exit::Signal(9)),
            Report::Exited(Exit::Unknown),
            Report::Gone,
            Report::Killing,
        ] {
            assert_eq!(Report::parse(&report.to_line()), Some(report));
        }
    }
}
