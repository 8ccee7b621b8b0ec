//! Which clients may use the server.
//!
//! With a token, the token decides. Without one, two headers that a web page cannot forge decide: `Host` (against DNS
//! rebinding) and `Origin` (against cross-site requests, including those of a page that an agent serves on another
//! port). This module knows no routes except the prefixes that need the token.

use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};

use crate::{Code, Problem};

/// Headers that pages of an allowed origin may send.
const ALLOW_HEADERS: &str =
    "Authorization, Content-Type, Last-Event-ID, Prefer, Idempotency-Key, If-Match, If-None-Match, Range";
/// Headers that pages of an allowed origin may read.
const EXPOSE_HEADERS: &str = "Preference-Applied, ETag, Retry-After, Content-Range";
const ALLOW_METHODS: &str = "GET, HEAD, POST, PUT, DELETE, OPTIONS";
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// A bearer token, compared in constant time and never printed.
#[derive(Clone)]
pub struct Token(Box<str>);

impl Token {
    /// A token of visible ASCII characters.
    ///
    /// # Errors
    /// [`ExposureError::InvalidToken`] when the text is empty or not allowed in a header.
    pub fn new(text: &str) -> Result<Self, ExposureError> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ExposureError::InvalidToken);
        }
        Ok(Self(text.into()))
    }

    fn matches(&self, given: &str) -> bool {
        constant_time_eq(self.0.as_bytes(), given.as_bytes())
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token(hidden)")
    }
}

/// An origin that may use the server from a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Any page. Only allowed with a token.
    Any,
    /// `scheme://host[:port]`, lower case.
    Exact(String),
}

impl std::str::FromStr for Origin {
    type Err = ExposureError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "*" {
            return Ok(Self::Any);
        }
        let text = text.trim_end_matches('/').to_ascii_lowercase();
        match text.split_once("://") {
            Some((scheme, host)) if !scheme.is_empty() && !host.is_empty() && !host.contains('/') => {
                Ok(Self::Exact(text))
            }
            _ => Err(ExposureError::InvalidOrigin(text)),
        }
    }
}

/// Why these settings are unsafe or invalid.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ExposureError {
    /// Anyone on the network could use the agents.
    #[error(
        "refusing to listen on {0} without a token: anyone who can reach it could run commands on this machine. \
         Set a token with --token-file or SANDBOX_AGENT_TOKEN, listen on 127.0.0.1, or pass --no-token to allow it"
    )]
    OpenToTheNetwork(String),
    /// The token is empty or has characters that are not allowed in a header.
    #[error("the token must be one or more visible ASCII characters without spaces")]
    InvalidToken,
    /// The text is not an origin.
    #[error("`{0}` is not an origin; write it as https://example.com or http://localhost:3000")]
    InvalidOrigin(String),
    /// Any web page that a user opens could use the agents.
    #[error("--cors-allow-origin '*' needs a token: without one, any web page could use the agents")]
    AnyOriginWithoutToken,
}

/// The access rules of a server.
#[derive(Debug, Clone, Default)]
pub struct Exposure {
    /// The bearer token, if one is set.
    pub token: Option<Token>,
    /// True when the server listens only on a loopback address.
    pub loopback_only: bool,
    /// Origins that may use the server from a browser, in addition to its own.
    pub origins: Vec<Origin>,
}

impl Exposure {
    /// Checks whether a request is allowed. Called before routing, so that clients without the token cannot find out
    /// which paths exist.
    ///
    /// # Errors
    /// 401 `unauthorized`, 403 `forbidden_host`, 403 `forbidden_origin`.
    pub fn admit(&self, request: &Parts) -> Result<(), Problem> {
        if let Some(token) = &self.token {
            if needs_token(request.uri.path()) && !is_preflight(request) {
                return check_token(token, &request.headers);
            }
            return Ok(());
        }
        let host = host_of(request);
        if self.loopback_only && !host.is_none_or(is_loopback_host) {
            return Err(Problem::new(
                Code::ForbiddenHost,
                "without a token this server only answers requests to localhost; use that name, or set a token",
            ));
        }
        self.check_origin(&request.headers, host)
    }

    fn check_origin(&self, headers: &HeaderMap, host: Option<&str>) -> Result<(), Problem> {
        if let Some(origin) = headers.get(header::ORIGIN) {
            if is_own_origin(origin, host) || self.allows(origin) {
                return Ok(());
            }
        } else if !headers.get(SEC_FETCH_SITE).is_some_and(|site| site == "cross-site" || site == "same-site")
        {
            return Ok(());
        }
        Err(Problem::new(
            Code::ForbiddenOrigin,
            "without a token this server only answers its own pages; allow the page's origin with \
             --cors-allow-origin, or set a token",
        ))
    }

    /// The response to a CORS preflight; `None` for other requests.
    #[must_use]
    pub fn preflight(&self, request: &Parts) -> Option<http::Response<axum::body::Body>> {
        if !is_preflight(request) {
            return None;
        }
        let mut response = http::Response::new(axum::body::Body::empty());
        *response.status_mut() = http::StatusCode::NO_CONTENT;
        if request.headers.get(header::ORIGIN).is_some_and(|origin| self.allows(origin)) {
            let headers = response.headers_mut();
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(ALLOW_METHODS));
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(ALLOW_HEADERS));
            headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        }
        Some(response)
    }

    /// Adds the CORS headers with which an allowed page may read the response, including errors.
    pub fn add_cors_headers(&self, origin: Option<&HeaderValue>, response: &mut HeaderMap) {
        if self.origins.is_empty() {
            return;
        }
        response.append(header::VARY, HeaderValue::from_static("Origin"));
        if let Some(origin) = origin.filter(|origin| self.allows(origin)) {
            response.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            response.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSE_HEADERS));
        }
    }

    fn allows(&self, origin: &HeaderValue) -> bool {
        self.origins.iter().any(|allowed| match allowed {
            Origin::Any => true,
            Origin::Exact(text) => origin.to_str().is_ok_and(|given| given.eq_ignore_ascii_case(text)),
        })
    }

    /// Checks that the rules are safe for the address the server will listen on.
    ///
    /// # Errors
    /// [`ExposureError`] says what to change.
    pub fn check(&self, address: &str, open: OpenNetwork) -> Result<(), ExposureError> {
        if self.token.is_some() {
            return Ok(());
        }
        if self.origins.contains(&Origin::Any) {
            return Err(ExposureError::AnyOriginWithoutToken);
        }
        if !self.loopback_only && open == OpenNetwork::Refused {
            return Err(ExposureError::OpenToTheNetwork(address.to_owned()));
        }
        Ok(())
    }
}

/// Whether a server without a token may listen on the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenNetwork {
    /// `--no-token` was given.
    Allowed,
    /// `--no-token` was not given.
    Refused,
}

/// Compares every byte even after a difference, so that the time reveals at most the length.
pub(crate) fn constant_time_eq(one: &[u8], other: &[u8]) -> bool {
    let difference = one.iter().zip(other).fold(0, |difference, (one, other)| difference | (one ^ other));
    difference == 0 && one.len() == other.len()
}

fn needs_token(path: &str) -> bool {
    path == "/v1" || path.starts_with("/v1/") || path == "/metrics"
}

fn is_preflight(request: &Parts) -> bool {
    request.method == Method::OPTIONS
        && request.headers.contains_key(header::ORIGIN)
        && request.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

fn check_token(token: &Token, headers: &HeaderMap) -> Result<(), Problem> {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = given.and_then(|text| {
        let (scheme, rest) = text.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| rest.trim())
    });
    let (detail, challenge) = match bearer {
        Some(given) if token.matches(given) => return Ok(()),
        Some(_) => ("the bearer token is wrong", r#"Bearer realm="sandbox-agent", error="invalid_token""#),
        None => ("send `Authorization: Bearer <token>`", r#"Bearer realm="sandbox-agent""#),
    };
    Err(Problem::new(Code::Unauthorized, detail)
        .header(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge)))
}

fn host_of(request: &Parts) -> Option<&str> {
    request
        .uri
        .authority()
        .map(http::uri::Authority::as_str)
        .or_else(|| request.headers.get(header::HOST).map(|value| value.to_str().unwrap_or("?")))
}

/// True when a `Host` (with or without a port) names this machine.
fn is_loopback_host(host: &str) -> bool {
    if let Some(rest) = host.strip_prefix('[') {
        // What follows the bracket has to be a port: `[::1].example` is a name that any DNS server may resolve.
        let Some((address, port)) = rest.split_once(']') else { return false };
        return is_port_or_nothing(port)
            && address.parse::<std::net::Ipv6Addr>().is_ok_and(|address| address.is_loopback());
    }
    let (name, port) = host.split_at(host.find(':').unwrap_or(host.len()));
    let name = name.trim_end_matches('.');
    is_port_or_nothing(port)
        && (name.eq_ignore_ascii_case("localhost")
            || name.to_ascii_lowercase().ends_with(".localhost")
            || name.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback()))
}

fn is_port_or_nothing(text: &str) -> bool {
    text.is_empty()
        || text.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// True when an origin is this server, under the name that the client used. The server speaks plain HTTP.
fn is_own_origin(origin: &HeaderValue, host: Option<&str>) -> bool {
    let (Ok(origin), Some(host)) = (origin.to_str(), host) else { return false };
    let Some(rest) = origin.strip_prefix("http://") else { return false };
    without_default_port(rest).eq_ignore_ascii_case(without_default_port(host))
}

fn without_default_port(host: &str) -> &str {
    host.strip_suffix(":80").unwrap_or(host)
}

#[cfg(test)]
#[path = "exposure_tests.rs"]
mod tests;
