//! As much of an HTTP client as a load generator needs, on a plain socket.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Result;

/// One keep-alive connection.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(64 << 10) })
    }

    /// Sends a request and reads the whole response; its body, when the status is 2xx.
    pub(crate) async fn send(&mut self, request: &[u8]) -> Result<Vec<u8>> {
        self.stream.write_all(request).await?;
        loop {
            if let Some((status, body, end)) = parse(&self.buffer) {
                let answer = self.buffer[body..end].to_vec();
                self.buffer.drain(..end);
                if !(200..300).contains(&status) {
                    return Err(format!("{status}: {}", String::from_utf8_lossy(&answer)).into());
                }
                return Ok(answer);
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err("the server closed the connection".into());
            }
        }
    }

    /// Sends a request and hands over the raw socket, for streams.
    pub(crate) async fn into_stream(mut self, request: &[u8]) -> Result<TcpStream> {
        self.stream.write_all(request).await?;
        Ok(self.stream)
    }
}

/// Status, start and end of the body, once all of it is there. Bodies have a length or do not exist.
fn parse(bytes: &[u8]) -> Option<(u16, usize, usize)> {
    let head = memchr::memmem::find(bytes, b"\r\n\r\n")?;
    let status = std::str::from_utf8(bytes.get(9..12)?).ok()?.parse().ok()?;
    let text = std::str::from_utf8(&bytes[..head]).ok()?;
    let length = text
        .split("\r\n")
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse().ok())
        .unwrap_or(0);
    let (body, end) = (head + 4, head + 4 + length);
    (bytes.len() >= end).then_some((status, body, end))
}

/// A POST of a JSON body.
pub(crate) fn post(path: &str, body: &str, token: Option<&str>) -> Vec<u8> {
    let authorization = token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{authorization}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A GET of a stream.
pub(crate) fn get_stream(path: &str, token: Option<&str>) -> Vec<u8> {
    let authorization = token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n{authorization}\r\n")
        .into_bytes()
}
