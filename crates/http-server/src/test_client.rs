//! For tests: a client that sends text unchanged and reads complete responses.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

/// How long a test waits for anything before it fails. Longer than every limit of the server, for tests on paused time.
pub(crate) const DEADLINE: Duration = Duration::from_secs(150);

pub(crate) struct Client(BufReader<Box<dyn Stream>>);

/// A socket, or a stream in memory.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The headers, sorted, without `Date`.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }
}

impl Client {
    pub(crate) fn new(stream: impl Stream + 'static) -> Self {
        Self(BufReader::new(Box::new(stream)))
    }

    pub(crate) async fn send(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).await.unwrap();
    }

    pub(crate) async fn answer(&mut self) -> Answer {
        tokio::time::timeout(DEADLINE, self.read_answer()).await.expect("the server did not answer in time")
    }

    async fn read_answer(&mut self) -> Answer {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(self.0.read_line(&mut head).await.unwrap() > 0, "the connection ended in {head:?}");
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers: Vec<_> = head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .filter(|(name, _)| *name != "date")
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        headers.sort();
        let mut answer = Answer { status, headers, body: String::new() };
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await.unwrap();
        answer.body = String::from_utf8(body).unwrap();
        answer
    }

    pub(crate) async fn ask(&mut self, text: &str) -> Answer {
        self.send(text).await;
        self.answer().await
    }

    /// Waits until the server closes the connection. The server must not send anything before that.
    pub(crate) async fn wait_for_end(&mut self) {
        let read = tokio::time::timeout(DEADLINE, self.0.read(&mut [0]))
            .await
            .expect("the server did not close the connection in time");
        assert!(matches!(read, Ok(0) | Err(_)), "the server sent something");
    }
}

/// A POST request. Each header ends with its own line break.
pub(crate) fn post(path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {length}\r\n\r\n{body}")
}

/// Polls until the condition is true; panics with `failure` at the deadline.
pub(crate) async fn wait_until(failure: &str, condition: impl Fn() -> bool) {
    let polling = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(DEADLINE, polling).await.unwrap_or_else(|_| panic!("{failure}"));
}
