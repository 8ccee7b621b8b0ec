//! `/ui/`: the inspector's static files, embedded in the binary.
//!
//! They need no token because they contain no secrets: the page requests all its data from `/v1`, like any other
//! client.

use axum::body::Body;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::response::IntoResponse;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use http_server::{Code, Problem, Routes};
use rust_embed::{EmbeddedFile, RustEmbed};

use super::compressed;

/// The built inspector, or a page that says how to build it. `build.rs` chooses and compresses the files.
#[derive(RustEmbed)]
#[folder = "$INSPECTOR_FILES"]
struct Files;

/// The content security policy: only the page's own scripts, and nothing from other sites. Requests may go to any
/// server, because the page can inspect other servers too.
const POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    media-src data: blob:; connect-src *; object-src 'none'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

pub(super) fn routes() -> Routes {
    Routes::new().get("/ui", redirect).get("/ui/", page).get("/ui/{*path}", file)
}

/// Redirects to the inspector
#[cfg_attr(test, utoipa::path(
    get, path = "/ui", operation_id = "findInspector", tag = "inspector", security(()),
    responses(
        (status = 308, description = "The inspector is at `ui/`.", headers(("Location" = String, description = "A relative URL."))),
        super::health::document::Open
    )
))]
async fn redirect() -> impl IntoResponse {
    // The location is relative, so that it also works behind a proxy that adds a path prefix.
    (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, "ui/"), (header::CACHE_CONTROL, "no-cache")])
}

/// Sends the inspector's page
#[cfg_attr(test, utoipa::path(
    get, path = "/ui/", operation_id = "getInspector", tag = "inspector", security(()),
    params(("If-None-Match" = Option<String>, Header, nullable = false, description = "The version that the client has.")),
    responses(
        (status = 200, description = "The page.", content_type = "text/html", body = String),
        (status = 304, description = "The client already has this version."),
        super::health::document::Open
    )
))]
async fn page(headers: HeaderMap) -> Response<Body> {
    serve("index.html", &headers)
}

/// Sends a file of the inspector
#[cfg_attr(test, utoipa::path(
    get, path = "/ui/{path}", operation_id = "getInspectorFile", tag = "inspector", security(()),
    params(
        ("path" = String, Path, description = "The path of the file; may contain slashes."),
        ("If-None-Match" = Option<String>, Header, nullable = false, description = "The version that the client has."),
    ),
    responses(
        (status = 200, description = "The file, with its own content type.", content_type = "*/*", body = String),
        (status = 304, description = "The client already has this version."),
        document::FileProblems
    )
))]
async fn file(path: Result<Path<String>, PathRejection>, headers: HeaderMap) -> Response<Body> {
    // A path that cannot be decoded is not found.
    path.map_or_else(|_| serve("", &headers), |Path(path)| serve(&path, &headers))
}

fn serve(path: &str, request_headers: &HeaderMap) -> Response<Body> {
    let Some(file) = Files::get(path) else {
        let detail = format!("the inspector has no file {path}; it starts at /ui/");
        return Problem::new(Code::NotFound, detail).into_response();
    };
    let tag = tag_of(&file);
    let mut response = if is_known(request_headers, &tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        compressed::respond(file.data, request_headers)
    };
    let headers = response.headers_mut();
    headers.insert(header::ETAG, tag);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type(path)));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching(path)));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

fn tag_of(file: &EmbeddedFile) -> HeaderValue {
    let hash = file.metadata.sha256_hash();
    let text: String = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    HeaderValue::from_str(&format!("W/\"{text}\"")).unwrap_or(HeaderValue::from_static("W/\"\""))
}

fn is_known(request_headers: &HeaderMap, tag: &HeaderValue) -> bool {
    request_headers.get_all(header::IF_NONE_MATCH).iter().any(|known| known == tag)
}

/// Files in `assets/` have a hash in their name and never change. The page that refers to them does.
fn caching(path: &str) -> &'static str {
    if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" }
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("json") => "application/json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
pub(super) mod document {
    use http_server::Code;
    use http_server::document::{ResponseMap, open};

    #[derive(utoipa::OpenApi)]
    #[openapi(paths(super::redirect, super::page, super::file))]
    pub(in crate::routes) struct Document;

    pub(super) struct FileProblems;

    impl utoipa::IntoResponses for FileProblems {
        fn responses() -> ResponseMap {
            open(&[Code::NotFound])
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]
mod tests {
    use super::*;

    fn asking(name: header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    #[test]
    fn the_page_is_revalidated_html_without_foreign_scripts() {
        let response = serve("index.html", &HeaderMap::new());
        assert_eq!(response.status(), StatusCode::OK);
        let header = |name: &str| response.headers().get(name).unwrap().to_str().unwrap().to_owned();
        assert_eq!(header("content-type"), "text/html; charset=utf-8");
        assert_eq!(header("cache-control"), "no-cache");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert!(header("content-security-policy").contains("script-src 'self';"));
        assert!(!header("content-security-policy").contains("unsafe"));
    }

    #[test]
    fn compressed_bytes_are_sent_only_to_clients_that_accept_gzip() {
        let encoding = |accepted: &str| {
            serve("index.html", &asking(header::ACCEPT_ENCODING, accepted))
                .headers()
                .get(header::CONTENT_ENCODING)
                .cloned()
        };
        assert_eq!(encoding("br, gzip").unwrap(), "gzip");
        assert_eq!(encoding("gzip;q=0, identity"), None);
        assert_eq!(encoding("br"), None);
    }

    #[test]
    fn a_page_that_the_client_has_is_not_sent_again() {
        let tag = serve("index.html", &HeaderMap::new()).headers().get(header::ETAG).unwrap().clone();
        let again = serve("index.html", &asking(header::IF_NONE_MATCH, tag.to_str().unwrap()));
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    }

    #[test]
    fn an_unknown_file_is_a_problem() {
        assert_eq!(serve("../Cargo.toml", &HeaderMap::new()).status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn only_files_with_a_hash_in_their_name_are_cached_forever() {
        assert!(caching("assets/index-abc.js").contains("immutable"));
        assert_eq!(caching("index.html"), "no-cache");
    }
}
