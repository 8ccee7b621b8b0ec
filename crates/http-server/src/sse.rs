//! The headers and comments that all streams of server-sent events share.

use axum::body::Body;
use http::{HeaderName, HeaderValue, Response, header};

/// Sent at once, so that proxies forward the headers immediately.
pub const GREETING: &[u8] = b": connected\n\n";
/// Sent while there are no events, so that a broken connection is noticed.
pub const HEARTBEAT: &[u8] = b": heartbeat\n\n";

/// A response that no proxy buffers, caches or rewrites.
pub fn response(events: Body) -> Response<Body> {
    let mut response = Response::new(events);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}
