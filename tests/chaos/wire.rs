//! An HTTP/1.1 client for a server that may be killed at any moment: a connection that ends is a result, not a
//! failure.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// How long anything may take before it counts as hanging.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A request on a connection of its own.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) method: &'static str,
    pub(crate) target: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Option<Vec<u8>>,
}

impl Ask {
    pub(crate) fn new(method: &'static str, target: impl Into<String>) -> Self {
        Self { method, target: target.into(), headers: Vec::new(), body: None }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn body(mut self, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self.header("Content-Type", media_type)
    }

    pub(crate) fn json(self, body: impl Into<Vec<u8>>) -> Self {
        self.body("application/json", body)
    }

    /// The request as it is sent.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\nHost: 127.0.0.1\r\n", self.method, self.target);
        if let Some(body) = &self.body {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(self.body.as_deref().unwrap_or_default());
        bytes
    }

    /// Sends the request and returns the connection.
    pub(crate) fn write(&self, port: u16) -> Result<TcpStream> {
        let connection = connect(port)?;
        // The server may answer before it has read all of the body, and close.
        let _ = (&connection).write_all(&self.bytes());
        Ok(connection)
    }

    /// Sends the request and reads the answer.
    pub(crate) fn send(&self, port: u16) -> Result<Answer> {
        Answer::read(&mut BufReader::new(self.write(port)?))
    }
}

pub(crate) fn connect(port: u16) -> Result<TcpStream> {
    let connection = TcpStream::connect(("127.0.0.1", port))?;
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    connection.set_nodelay(true)?;
    Ok(connection)
}

/// True if an operation failed because no data arrived for [`PATIENCE`], not because the connection ended.
pub(crate) fn is_hang(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// The status and the headers of an answer.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
}

impl Head {
    pub(crate) fn read(connection: &mut impl BufRead) -> Result<Self> {
        let first = line(connection)?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| Error::new(ErrorKind::InvalidData, first))?;
        let mut headers = Vec::new();
        loop {
            let line = line(connection)?;
            match line.split_once(':') {
                Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.trim().to_owned())),
                None => return Ok(Self { status, headers }),
            }
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn read_body(&self, connection: &mut impl BufRead) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        if self.get("transfer-encoding") == Some("chunked") {
            while read_chunk(connection, &mut body)? {}
        } else if let Some(length) = self.get("content-length").and_then(|length| length.parse().ok()) {
            body.resize(length, 0);
            connection.read_exact(&mut body)?;
        }
        Ok(body)
    }
}

/// A complete answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn read(connection: &mut impl BufRead) -> Result<Self> {
        let head = Head::read(connection)?;
        let body = head.read_body(connection)?;
        Ok(Self { head, body })
    }

    pub(crate) const fn status(&self) -> u16 {
        self.head.status
    }

    pub(crate) fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        text.chars().take(600).collect()
    }

    pub(crate) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The code of a problem document; `None` if the answer is not one, as every error must be.
    pub(crate) fn problem(&self) -> Option<String> {
        let problem =
            self.json().filter(|_| self.head.get("content-type") == Some("application/problem+json"))?;
        let is_complete = problem["status"] == self.status() && problem["detail"].is_string();
        let code = problem["type"].as_str()?.strip_prefix("urn:sandbox-agent:error:")?;
        is_complete.then(|| code.to_owned())
    }
}

/// Reads one chunk; false for the last one.
pub(crate) fn read_chunk(connection: &mut impl BufRead, into: &mut Vec<u8>) -> Result<bool> {
    let text = line(connection)?;
    let length = usize::from_str_radix(&text, 16).map_err(|_| Error::new(ErrorKind::InvalidData, text))?;
    let start = into.len();
    into.resize(start + length, 0);
    connection.read_exact(&mut into[start..])?;
    line(connection)?;
    Ok(length > 0)
}

fn line(connection: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    connection.by_ref().take(64 << 10).read_line(&mut line)?;
    if !line.ends_with('\n') {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    Ok(line)
}
