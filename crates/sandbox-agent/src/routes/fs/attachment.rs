//! Headers that prevent files written by an agent from running in the inspector's origin: the browser saves them
//! instead of rendering them, does not sniff their type, and would render them in a sandbox.

use std::fmt::Write as _;
use std::path::Path;

use http::{HeaderMap, HeaderName, HeaderValue, header};

/// Marks a response as a file to be saved under this name.
pub(super) fn set_headers(headers: &mut HeaderMap, media_type: &'static str, name: &str) {
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CONTENT_DISPOSITION, disposition(name));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    headers.insert(
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    );
    // The client may store it but must revalidate it each time: agents change files all the time.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
}

/// The last component of a path, as the name of the saved file.
pub(super) fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| "root".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The value of `Content-Disposition` (RFC 6266): an ASCII name for all clients, and the exact name for clients that
/// support `filename*`.
fn disposition(name: &str) -> HeaderValue {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '.' | '_' | '-' | '+' | ',');
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let mut text = format!("attachment; filename=\"{plain}\"");
    if plain != name {
        text.push_str("; filename*=UTF-8''");
        for byte in name.bytes() {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-') {
                text.push(char::from(byte));
            } else {
                // Writing to a string cannot fail.
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    // The text is visible ASCII by construction.
    HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static("attachment"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_cannot_inject_headers() {
        assert_eq!(disposition("a b.txt"), "attachment; filename=\"a b.txt\"");
        assert_eq!(
            disposition("ü\"\r\nX: y"),
            "attachment; filename=\"____X_ y\"; filename*=UTF-8''%C3%BC%22%0D%0AX%3A%20y"
        );
        assert_eq!(file_name(Path::new("/")), "root");
        assert_eq!(file_name(Path::new("/a/b.html")), "b.html");
    }
}
