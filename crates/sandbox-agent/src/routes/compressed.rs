//! Files that are in the binary, compressed: sent as they are to whoever takes gzip, unpacked for the others.

use std::borrow::Cow;
use std::io::Read;

use axum::body::Body;
use axum::response::IntoResponse;
use flate2::read::GzDecoder;
use http::{HeaderMap, Response, header};
use http_server::{Code, Problem};

/// A response with the file that these are the compressed bytes of.
pub(super) fn respond(bytes: Cow<'static, [u8]>, asked: &HeaderMap) -> Response<Body> {
    if accepts_gzip(asked) {
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
            tracing::error!(%error, "an embedded file cannot be unpacked");
            Problem::new(Code::Internal, "the server made a mistake; its log has the rest").into_response()
        }
    }
}

fn accepts_gzip(asked: &HeaderMap) -> bool {
    let accepted = asked.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or("");
    accepted.split(',').any(|coding| {
        let (name, parameters) = coding.split_once(';').unwrap_or((coding, ""));
        let refused = parameters.trim().strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0));
        name.trim().eq_ignore_ascii_case("gzip") && !refused
    })
}
