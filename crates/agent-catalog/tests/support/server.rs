//! A tiny HTTP/1.1 server on loopback that can misbehave on demand.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// How a path answers.
#[derive(Clone)]
pub enum Answer {
    /// 200 with a body and extra headers; a matching `If-None-Match` gets 304.
    Ok { body: Vec<u8>, headers: Vec<(&'static str, String)> },
    /// Announces the length of the whole body, sends half of it, and closes the connection.
    Truncated(Vec<u8>),
    /// Sends half of the body, and the rest when it is notified.
    Stalled(Vec<u8>, Arc<Notify>),
    /// Never answers.
    Silent,
}

impl Answer {
    pub fn body(body: impl Into<Vec<u8>>) -> Self {
        Self::Ok { body: body.into(), headers: Vec::new() }
    }

    pub fn tagged(body: impl Into<Vec<u8>>, etag: &str) -> Self {
        Self::Ok { body: body.into(), headers: vec![("etag", etag.to_owned())] }
    }
}

/// One received request.
#[derive(Debug, Clone)]
pub struct Request {
    pub path: String,
    pub head: String,
}

#[derive(Clone)]
pub struct Server {
    address: String,
    answers: Arc<Mutex<HashMap<String, Answer>>>,
    requests: Arc<Mutex<Vec<Request>>>,
    task: Arc<AbortOnDrop>,
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Server {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let answers: Arc<Mutex<HashMap<String, Answer>>> = Arc::default();
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (shared_answers, shared_requests) = (answers.clone(), requests.clone());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, shared_answers.clone(), shared_requests.clone()));
            }
        });
        Self { address, answers, requests, task: Arc::new(AbortOnDrop(task)) }
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    pub fn set(&self, path: &str, answer: Answer) {
        self.answers.lock().unwrap().insert(path.to_owned(), answer);
    }

    pub fn requests(&self, path: &str) -> Vec<Request> {
        self.requests.lock().unwrap().iter().filter(|request| request.path == path).cloned().collect()
    }
}

async fn serve(
    mut stream: TcpStream,
    answers: Arc<Mutex<HashMap<String, Answer>>>,
    requests: Arc<Mutex<Vec<Request>>>,
) {
    let mut head = Vec::new();
    let mut byte = [0; 1];
    while !head.ends_with(b"\r\n\r\n") {
        if !matches!(stream.read(&mut byte).await, Ok(1)) {
            return;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    let raw_path = head.split_whitespace().nth(1).unwrap_or("/").split('?').next().unwrap_or("/");
    let path = raw_path.replace("%2f", "/");
    requests.lock().unwrap().push(Request { path: path.clone(), head: head.clone() });
    let answer = answers.lock().unwrap().get(&path).cloned();
    // Some tests make the client disconnect early.
    let _ = reply(&mut stream, &head, answer).await;
}

async fn reply(stream: &mut TcpStream, head: &str, answer: Option<Answer>) -> std::io::Result<()> {
    let whole =
        |length: usize| format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    match answer {
        None => {
            stream
                .write_all(b"HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
                .await?;
        }
        Some(Answer::Ok { body, headers }) => {
            let matches = headers
                .iter()
                .any(|(name, value)| *name == "etag" && head.contains(&format!("if-none-match: {value}")));
            let extra: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            if matches {
                let text = format!("HTTP/1.1 304 Not Modified\r\nconnection: close\r\n{extra}\r\n");
                stream.write_all(text.as_bytes()).await?;
            } else {
                let start = whole(body.len()).trim_end().to_owned() + "\r\n" + &extra + "\r\n";
                stream.write_all(start.as_bytes()).await?;
                stream.write_all(&body).await?;
            }
        }
        Some(Answer::Truncated(body)) => {
            stream.write_all(whole(body.len()).as_bytes()).await?;
            stream.write_all(&body[..body.len() / 2]).await?;
        }
        Some(Answer::Stalled(body, release)) => {
            stream.write_all(whole(body.len()).as_bytes()).await?;
            stream.write_all(&body[..body.len() / 2]).await?;
            stream.flush().await?;
            release.notified().await;
            stream.write_all(&body[body.len() / 2..]).await?;
        }
        Some(Answer::Silent) => std::future::pending().await,
    }
    stream.shutdown().await
}
