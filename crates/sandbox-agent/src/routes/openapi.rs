//! `/v1/openapi.json`: the API document, embedded in the binary.
//!
//! It is the file `docs/openapi.json`. A test generates it from the handlers and types and compares the two (see
//! `document.rs`), so the binary does not contain the code that generates it.

use std::borrow::Cow;

use axum::body::Body;
use http::{HeaderMap, HeaderValue, Response, header};
use http_server::Routes;

/// The document, compressed by `build.rs`.
static DOCUMENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/openapi.json.gz"));

pub(super) fn routes() -> Routes {
    Routes::new().get("/v1/openapi.json", document)
}

/// Describes this API
///
/// This document.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/openapi.json", operation_id = "getOpenApi", tag = "server",
    responses(
        (status = 200, description = "An OpenAPI 3.1 document.", content_type = "application/json", body = inline(std::collections::HashMap<String, serde_json::Value>)),
        super::health::document::Protected
    )
))]
async fn document(headers: HeaderMap) -> Response<Body> {
    let mut response = super::compressed::respond(Cow::Borrowed(DOCUMENT), &headers);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    response
}

#[cfg(test)]
#[derive(utoipa::OpenApi)]
#[openapi(paths(document))]
pub(super) struct Document;
