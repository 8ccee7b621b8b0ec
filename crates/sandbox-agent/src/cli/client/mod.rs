//! The HTTP client of the command line: one server, its token, and errors that say what to do next.
//!
//! Nothing here depends on a particular endpoint.

mod address;
mod event_stream;
mod reported_problem;
mod sse;

use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use serde_json::Value;

pub(super) use self::address::{ServerAddress, TokenArguments};
pub(super) use self::event_stream::{EventStream, Scope};
pub(super) use self::reported_problem::ReportedProblem;
pub(super) use self::sse::Event;
use super::error::CliError;

/// How long a server may take to accept a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// A running server. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Server {
    url: String,
    token: Option<HeaderValue>,
    http: reqwest::Client,
}

impl Server {
    /// The server at this URL. Nothing is sent yet.
    pub(super) fn at(url: &str, token: Option<&str>) -> Result<Self, CliError> {
        let invalid = |reason: &str| CliError::Usage(format!("`{url}` is not the URL of a server: {reason}"));
        let parsed = reqwest::Url::parse(url).map_err(|error| invalid(&error.to_string()))?;
        if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
            return Err(invalid("write http://HOST:PORT or https://HOST"));
        }
        let token = match token {
            None => None,
            Some(token) => {
                let mut value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| {
                    CliError::Usage("the token has characters that are not allowed in a header".to_owned())
                })?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        let configure = || {
            let builder = reqwest::Client::builder().connect_timeout(CONNECT_LIMIT);
            // A proxy is never used between two processes on the same machine.
            if is_loopback(&parsed) { builder.no_proxy() } else { builder }
        };
        let http = agent_catalog::build_client(Vec::new(), configure)
            .map_err(|error| invalid(&root_cause(&error)))?;
        Ok(Self { url: url.trim_end_matches('/').to_owned(), token, http })
    }

    /// A request to a path below the server's URL.
    pub(super) fn request(&self, method: Method, path: impl Into<String>) -> Request {
        Request { server: self.clone(), method, target: path.into(), headers: Vec::new(), body: None }
    }

    /// Sends a GET request for JSON.
    pub(super) async fn get(&self, path: &str) -> Result<Value, CliError> {
        self.request(Method::GET, path).json().await
    }
}

fn is_loopback(url: &reqwest::Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A request that is being built.
#[derive(Debug)]
pub(super) struct Request {
    server: Server,
    method: Method,
    target: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Option<reqwest::Body>,
}

impl Request {
    /// Adds a query parameter; its value need not be UTF-8.
    pub(super) fn query(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.target.push(if self.target.contains('?') { '&' } else { '?' });
        self.target.push_str(name);
        self.target.push('=');
        self.target.extend(form_urlencoded::byte_serialize(value.as_ref()));
        self
    }

    pub(super) fn header(mut self, name: &'static str, value: &str) -> Result<Self, CliError> {
        let value = HeaderValue::try_from(value)
            .map_err(|_| CliError::Usage(format!("`{value}` cannot be sent as {name}")))?;
        self.headers.push((HeaderName::from_static(name), value));
        Ok(self)
    }

    pub(super) fn accept(mut self, media_type: &'static str) -> Self {
        self.headers.push((ACCEPT, HeaderValue::from_static(media_type)));
        self
    }

    pub(super) fn body(mut self, media_type: &'static str, body: impl Into<reqwest::Body>) -> Self {
        self.headers.push((CONTENT_TYPE, HeaderValue::from_static(media_type)));
        self.body = Some(body.into());
        self
    }

    pub(super) fn json_body(self, body: &Value) -> Self {
        self.body("application/json", body.to_string())
    }

    /// The path and query of the request, for [`EventStream::open`].
    pub(super) fn into_target(self) -> String {
        self.target
    }

    /// Sends the request; a status of 400 or above is an error.
    pub(super) async fn send(self) -> Result<Response, CliError> {
        let Self { server, method, target, headers, body } = self;
        let mut request = server.http.request(method, format!("{}{target}", server.url));
        request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
        if let Some(token) = &server.token {
            request = request.header(reqwest::header::AUTHORIZATION, token);
        }
        if let Some(body) = body {
            request = request.body(body);
        }
        let response = request.send().await.map_err(|error| server.failure(&error))?;
        if response.status().as_u16() < 400 {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let bytes = response.bytes().await.unwrap_or_default();
        Err(CliError::Problem(Box::new(ReportedProblem::from_response(&server.url, status, &bytes))))
    }

    /// Sends the request and returns the unchanged body of the response.
    pub(super) async fn bytes(self) -> Result<Vec<u8>, CliError> {
        let server = self.server.clone();
        let bytes = self.send().await?.bytes().await.map_err(|error| server.failure(&error))?;
        Ok(bytes.to_vec())
    }

    /// Sends the request and parses the response as JSON; null if it has no body.
    pub(super) async fn json(self) -> Result<Value, CliError> {
        let server = self.server.clone();
        let bytes = self.bytes().await?;
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&bytes).map_err(|error| CliError::ConnectionLost {
            url: server.url,
            reason: format!("the response is not JSON ({error}); is this a Sandbox Agent server?"),
        })
    }
}

impl Server {
    /// The error of a failed connection.
    pub(super) fn failure(&self, error: &reqwest::Error) -> CliError {
        let (url, reason) = (self.url.clone(), root_cause(error));
        if error.is_connect() {
            CliError::Unreachable { url, reason }
        } else {
            CliError::ConnectionLost { url, reason }
        }
    }
}

/// The innermost error, which has the actual reason.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// Encodes text as one segment of a path.
pub(super) fn encode(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_url_is_http_with_a_host() {
        for good in ["http://127.0.0.1:1", "https://host/prefix/", "http://[::1]:2468"] {
            assert!(Server::at(good, None).is_ok(), "{good}");
        }
        for bad in ["127.0.0.1:1", "ftp://host", "", "http://"] {
            assert!(matches!(Server::at(bad, None), Err(CliError::Usage(_))), "{bad}");
        }
        assert!(matches!(Server::at("http://host", Some("a\nb")), Err(CliError::Usage(_))));
    }

    #[test]
    fn a_query_parameter_can_have_any_bytes() {
        let server = Server::at("http://host/prefix/", None).unwrap();
        let request = server.request(Method::GET, "/v1/fs/file").query("path", b"a b/\xff&");
        assert_eq!(request.target, "/v1/fs/file?path=a+b%2F%FF%26");
        assert_eq!(server.url, "http://host/prefix");
        assert_eq!(encode("a/b ü"), "a%2Fb%20%C3%BC");
    }
}
