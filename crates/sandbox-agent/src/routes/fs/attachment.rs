//! Headers that keep what an agent wrote from running in the inspector's origin: never rendered, never sniffed,
//! and powerless if a browser does both.

use std::fmt::Write as _;
use std::path::Path;

use http::{HeaderMap, HeaderName, HeaderValue, header};

/// Marks a response as a file to keep, under a name.
pub(super) fn mark(headers: &mut HeaderMap, media_type: &'static str, name: &str) {
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CONTENT_DISPOSITION, disposition(name));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    headers.insert(
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    );
    // Kept if the client likes, but asked about each time: agents change files all the time.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
}

/// The last name of a path, for the file that the client saves.
pub(super) fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(|| "root".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// RFC 6266: a plain name for everybody, and the exact one for those that can read it.
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
    // Visible ASCII only, by construction.
    HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static("attachment"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_header() {
        assert_eq!(disposition("a b.txt"), "attachment; filename=\"a b.txt\"");
        assert_eq!(
            disposition("ü\"\r\nX: y"),
            "attachment; filename=\"____X_ y\"; filename*=UTF-8''%C3%BC%22%0D%0AX%3A%20y"
        );
        assert_eq!(name_of(Path::new("/")), "root");
        assert_eq!(name_of(Path::new("/a/b.html")), "b.html");
    }
}
