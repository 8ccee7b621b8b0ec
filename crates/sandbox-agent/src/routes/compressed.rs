//! Files that are embedded in the binary, compressed with gzip: sent unchanged to clients that accept gzip,
//! decompressed for the others.

use std::borrow::Cow;
use std::io::Read;

use axum::body::Body;
use axum::response::IntoResponse;
use flate2::read::GzDecoder;
use http::{HeaderMap, Response, header};
use http_server::{Code, Problem};

/// A response with the file whose compressed bytes are given.
pub(super) fn respond(bytes: Cow<'static, [u8]>, request_headers: &HeaderMap) -> Response<Body> {
    if accepts_gzip(request_headers) {
        let body = match bytes {
            Cow::Borrowed(bytes) => Body::from(bytes),
            Cow::Owned(bytes) => Body::from(bytes),
        };
        return ([(header::CONTENT_ENCODING, "gzip")], body).into_response();
    }
    let mut plain = Vec::new();
    match GzDecoder::new(bytes.as_ref()).read_to_end(&mut plain) {
        Ok(_) => Body::from(plain).into_response(),
        Err(error) => {
            tracing::error!(%error, "an embedded file cannot be decompressed");
            Problem::new(Code::Internal, "internal error; see the server's log").into_response()
        }
    }
}

fn accepts_gzip(request_headers: &HeaderMap) -> bool {
    let accepted =
        request_headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or("");
    accepted.split(',').any(|coding| {
        let (name, parameters) = coding.split_once(';').unwrap_or((coding, ""));
        let refused = parameters.trim().strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0));
        name.trim().eq_ignore_ascii_case("gzip") && !refused
    })
}
