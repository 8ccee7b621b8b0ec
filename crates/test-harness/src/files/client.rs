//! Sends requests and reads complete answers.

use std::fmt::Write as _;

use reqwest::header::HeaderMap;
use reqwest::{Body, Method, RequestBuilder, StatusCode};
use serde_json::Value;

use super::Server;

/// A complete answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Self { status, headers, body: response.bytes().await.unwrap().to_vec() }
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", self.headers)).to_str().unwrap()
    }

    /// The JSON body of a successful answer.
    #[track_caller]
    pub fn json(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK.as_u16(), "{}", self.text());
        assert_eq!(self.header("content-type"), "application/json");
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Asserts this problem and returns its document.
    #[track_caller]
    pub fn problem(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem: Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(problem["type"], format!("urn:sandbox-agent:error:{code}"), "{problem}");
        assert_eq!(problem["status"], status, "{problem}");
        for name in ["title", "detail"] {
            assert!(problem[name].as_str().is_some_and(|text| !text.is_empty()), "{name} in {problem}");
        }
        problem
    }
}

/// A query string, with its question mark.
pub fn query(pairs: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (index, (name, value)) in pairs.iter().enumerate() {
        let joint = if index == 0 { '?' } else { '&' };
        let value: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
        write!(text, "{joint}{name}={value}").unwrap();
    }
    text
}

impl Server {
    /// A request to a path with its query string.
    pub fn request(&self, method: Method, target: &str) -> RequestBuilder {
        self.client.request(method, format!("http://{}{target}", self.address))
    }

    pub async fn get(&self, target: &str) -> Answer {
        Answer::of(self.request(Method::GET, target)).await
    }

    pub async fn delete(&self, target: &str) -> Answer {
        Answer::of(self.request(Method::DELETE, target)).await
    }

    pub async fn post(&self, target: &str) -> Answer {
        Answer::of(self.request(Method::POST, target)).await
    }

    /// Writes a file.
    pub async fn put(&self, path: &str, body: impl Into<Body>) -> Answer {
        Answer::of(self.request(Method::PUT, &file(path)).body(body)).await
    }

    /// Reads a file.
    pub async fn read(&self, path: &str) -> Answer {
        self.get(&file(path)).await
    }

    /// Reads a file with one more header.
    pub async fn read_with(&self, path: &str, name: &str, value: &str) -> Answer {
        Answer::of(self.request(Method::GET, &file(path)).header(name, value)).await
    }

    /// Moves an entry.
    pub async fn move_entry(&self, body: &Value) -> Answer {
        Answer::of(self.request(Method::POST, "/v1/fs/move").json(body)).await
    }

    /// Unpacks an archive.
    pub async fn unpack(&self, path: &str, media_type: &str, archive: impl Into<Body>) -> Answer {
        let target = format!("/v1/fs/upload-batch{}", query(&[("path", path)]));
        Answer::of(self.request(Method::POST, &target).header("content-type", media_type).body(archive)).await
    }
}

/// The address of a file.
pub fn file(path: &str) -> String {
    format!("/v1/fs/file{}", query(&[("path", path)]))
}
