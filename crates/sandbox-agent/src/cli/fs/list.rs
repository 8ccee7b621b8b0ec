//! `fs ls`: a directory, page by page.

use reqwest::header::LINK;
use serde_json::Value;

use super::text_field;
use crate::cli::client::{Request, Server};
use crate::cli::error::CliError;
use crate::cli::output::{Format, print_json, print_line};
use crate::cli::style::printable;

/// How many entries are requested per page.
const PAGE: &str = "2000";
/// The width of a time such as `2026-01-31T12:00:00.123456789Z`.
const MODIFIED_WIDTH: usize = 30;

/// How much is printed about an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    Names,
    Long,
}

/// What each entry is called.
#[derive(Debug)]
pub(super) enum Naming {
    /// By its name, when only one directory is listed.
    Name,
    /// By its path, which starts with the listed directory as the user named it, so that other commands accept it.
    Path { listed: String },
}

pub(super) async fn run(
    server: &Server,
    request: Request,
    naming: &Naming,
    detail: Detail,
    format: Format,
) -> Result<(), CliError> {
    let mut all = Vec::new();
    let mut root = None;
    let mut is_first = true;
    let mut next = Some(request.query("limit", PAGE));
    while let Some(request) = next {
        let response = request.send().await?;
        let link = response.headers().get(LINK).and_then(|link| link.to_str().ok()).and_then(next_page);
        let bytes = response.bytes().await.map_err(|error| server.failure(&error))?;
        let page: Vec<Value> = serde_json::from_slice(&bytes).map_err(std::io::Error::from)?;
        // The first entry of a listing is always in the listed directory itself.
        root = root.or_else(|| page.first().map(parent));
        match format {
            Format::Json => all.extend(page),
            Format::Text => {
                if std::mem::take(&mut is_first) && detail == Detail::Long && !page.is_empty() {
                    print_line(long_line("TYPE", "SIZE", "MODIFIED", "NAME"))?;
                }
                let root = root.as_deref().unwrap_or_default();
                page.iter().try_for_each(|entry| print_line(line(entry, &naming.of(entry, root), detail)))?;
            }
        }
        next = link.map(|target| server.request(reqwest::Method::GET, target));
    }
    if format == Format::Json { print_json(&all) } else { Ok(()) }
}

/// The path of the directory that an entry is in.
fn parent(entry: &Value) -> String {
    let path = entry["path"].as_str().unwrap_or_default();
    path.strip_suffix(entry["name"].as_str().unwrap_or_default()).unwrap_or(path).to_owned()
}

impl Naming {
    fn of(&self, entry: &Value, root: &str) -> String {
        let Self::Path { listed } = self else { return text_field(entry, "name") };
        let path = entry["path"].as_str().unwrap_or_default();
        let below = path.strip_prefix(root).unwrap_or(path);
        let separator = if listed.is_empty() || listed.ends_with('/') { "" } else { "/" };
        printable(&format!("{listed}{separator}{below}"))
    }
}

/// The URL in `<url>; rel="next"`.
fn next_page(link: &str) -> Option<String> {
    let (url, rest) = link.strip_prefix('<')?.split_once('>')?;
    rest.contains("rel=\"next\"").then(|| url.to_owned())
}

fn line(entry: &Value, name: &str, detail: Detail) -> String {
    let suffix = match entry["entryType"].as_str() {
        Some("directory") => "/",
        Some("symlink") => "@",
        _ => "",
    };
    let name = format!("{name}{suffix}");
    match detail {
        Detail::Names => name,
        Detail::Long => {
            let size = entry["size"].as_u64().unwrap_or_default().to_string();
            long_line(&text_field(entry, "entryType"), &size, &text_field(entry, "modified"), &name)
        }
    }
}

/// A line of a long listing. The columns have fixed widths, because a listing is printed page by page.
fn long_line(entry_type: &str, size: &str, modified: &str, name: &str) -> String {
    format!("{entry_type:<9}  {size:>12}  {modified:<MODIFIED_WIDTH$}  {name}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_next_page_is_taken_from_the_link() {
        let link = r#"</v1/fs/entries?limit=2&after=abc>; rel="next""#;
        assert_eq!(next_page(link).as_deref(), Some("/v1/fs/entries?limit=2&after=abc"));
        assert_eq!(next_page(r#"</x>; rel="prev""#), None);
    }

    #[test]
    fn a_path_starts_with_the_directory_as_the_user_named_it() {
        let entry = json!({"name": "f", "path": "/srv/w/a/f"});
        let named = |listed: &str| Naming::Path { listed: listed.to_owned() }.of(&entry, "/srv/w/");
        assert_eq!(
            (named(""), named("w"), named("../w/")),
            ("a/f".into(), "w/a/f".into(), "../w/a/f".into())
        );
        assert_eq!(Naming::Name.of(&entry, "/srv/w/"), "f");
        assert_eq!(parent(&json!({"name": "w", "path": "/srv/w"})), "/srv/");
        let at_root = json!({"name": "a", "path": "/a"});
        assert_eq!(Naming::Path { listed: "/".to_owned() }.of(&at_root, &parent(&at_root)), "/a");
    }
}
