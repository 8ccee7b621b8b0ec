//! A minimal HTTP client for a load generator, on a plain socket.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Result;
use crate::servers::Target;

/// One keep-alive connection.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// How much of the buffer belongs to the last response.
    used: usize,
}

impl Connection {
    pub(crate) async fn open(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(64 << 10), used: 0 })
    }

    /// Sends a request and reads the whole response; returns its body if the status is 2xx.
    pub(crate) async fn send(&mut self, request: &[u8]) -> Result<Vec<u8>> {
        self.stream.write_all(request).await?;
        self.receive().await
    }

    /// Sends a piece of a request.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(bytes).await?)
    }

    /// Like [`Connection::send`], but without copying the body.
    pub(crate) async fn send_in_place(&mut self, request: &[u8]) -> Result<&[u8]> {
        self.stream.write_all(request).await?;
        self.receive_in_place().await
    }

    /// Reads a whole response.
    pub(crate) async fn receive(&mut self) -> Result<Vec<u8>> {
        Ok(self.receive_in_place().await?.to_vec())
    }

    async fn receive_in_place(&mut self) -> Result<&[u8]> {
        let head = self.receive_head().await?;
        let end = head.body + head.length;
        self.buffer.reserve(end.saturating_sub(self.buffer.len()));
        while self.buffer.len() < end {
            self.read_more().await?;
        }
        self.used = end;
        if !(200..300).contains(&head.status) {
            return Err(format!("answered {}", head.status).into());
        }
        Ok(&self.buffer[head.body..end])
    }

    /// Sends a request, reads its response and discards the body; returns its length.
    pub(crate) async fn download(&mut self, request: &[u8]) -> Result<usize> {
        self.stream.write_all(request).await?;
        let head = self.receive_head().await?;
        if !(200..300).contains(&head.status) {
            return Err(format!("answered {}", head.status).into());
        }
        let mut received = self.buffer.len() - head.body;
        let mut scratch = vec![0; 256 << 10];
        while received < head.length {
            match self.stream.read(&mut scratch).await? {
                0 => return Err("the server closed the connection".into()),
                count => received += count,
            }
        }
        self.buffer.clear();
        Ok(received)
    }

    /// Sends a request and returns the raw socket, for streams.
    pub(crate) async fn into_stream(mut self, request: &[u8]) -> Result<TcpStream> {
        self.stream.write_all(request).await?;
        Ok(self.stream)
    }

    async fn receive_head(&mut self) -> Result<Head> {
        self.buffer.drain(..std::mem::take(&mut self.used));
        loop {
            if let Some(head) = Head::parse(&self.buffer) {
                return Ok(head);
            }
            self.read_more().await?;
        }
    }

    async fn read_more(&mut self) -> Result<()> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err("the server closed the connection".into()),
            _ => Ok(()),
        }
    }
}

/// The head of a response, once it is complete. Bodies have a length or do not exist.
struct Head {
    status: u16,
    body: usize,
    length: usize,
}

impl Head {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = memchr::memmem::find(bytes, b"\r\n\r\n")?;
        let status = std::str::from_utf8(bytes.get(9..12)?).ok()?.parse().ok()?;
        let text = std::str::from_utf8(&bytes[..end]).ok()?;
        let length = text
            .split("\r\n")
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .and_then(|(_, value)| value.trim().parse().ok())
            .unwrap_or(0);
        Some(Self { status, body: end + 4, length })
    }
}

/// A POST of a JSON body.
pub(crate) fn post(server: &Target, path: &str, body: &str) -> Vec<u8> {
    post_with(server, path, "", body)
}

/// A POST of a JSON body with additional headers.
pub(crate) fn post_with(server: &Target, path: &str, headers: &str, body: &str) -> Vec<u8> {
    let authorization = authorization(server);
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{headers}{authorization}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A GET of a stream.
pub(crate) fn get_stream(server: &Target, path: &str) -> Vec<u8> {
    get(server, path, "accept: text/event-stream\r\n")
}

/// A GET with additional headers.
pub(crate) fn get(server: &Target, path: &str, headers: &str) -> Vec<u8> {
    let authorization = authorization(server);
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{headers}{authorization}\r\n").into_bytes()
}

/// The head of an upload, to be followed by its body.
pub(crate) fn upload(server: &Target, request: &str, media_type: &str, length: u64) -> Vec<u8> {
    let authorization = authorization(server);
    format!(
        "{request} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {media_type}\r\n{authorization}content-length: {length}\r\n\r\n"
    )
    .into_bytes()
}

fn authorization(server: &Target) -> String {
    server.token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default()
}
