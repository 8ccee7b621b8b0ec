//! `fs ls`: a directory, page by page.

use reqwest::header::LINK;
use serde_json::Value;

use super::text_field;
use crate::cli::client::{Request, Server};
use crate::cli::error::CliError;
use crate::cli::output::{Format, print_json, print_line};

/// How many entries are requested per page.
const PAGE: &str = "2000";

/// How much is printed about an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    Names,
    Long,
}

pub(super) async fn run(
    server: &Server,
    request: Request,
    detail: Detail,
    format: Format,
) -> Result<(), CliError> {
    let mut all = Vec::new();
    let mut next = Some(request.query("limit", PAGE));
    while let Some(request) = next {
        let response = request.send().await?;
        let link = response.headers().get(LINK).and_then(|link| link.to_str().ok()).and_then(next_page);
        let bytes = response.bytes().await.map_err(|error| server.failure(&error))?;
        let page: Vec<Value> = serde_json::from_slice(&bytes).map_err(std::io::Error::from)?;
        match format {
            Format::Json => all.extend(page),
            Format::Text => page.iter().try_for_each(|entry| print_line(line(entry, detail)))?,
        }
        next = link.map(|target| server.request(reqwest::Method::GET, target));
    }
    if format == Format::Json { print_json(&all) } else { Ok(()) }
}

/// The URL in `<url>; rel="next"`.
fn next_page(link: &str) -> Option<String> {
    let (url, rest) = link.strip_prefix('<')?.split_once('>')?;
    rest.contains("rel=\"next\"").then(|| url.to_owned())
}

fn line(entry: &Value, detail: Detail) -> String {
    let suffix = match entry["entryType"].as_str() {
        Some("directory") => "/",
        Some("symlink") => "@",
        _ => "",
    };
    let name = format!("{}{suffix}", text_field(entry, "name"));
    match detail {
        Detail::Names => name,
        Detail::Long => {
            let size = entry["size"].as_u64().unwrap_or_default();
            format!(
                "{:<9}  {size:>12}  {}  {name}",
                text_field(entry, "entryType"),
                text_field(entry, "modified")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_taken_from_the_link() {
        let link = r#"</v1/fs/entries?limit=2&after=abc>; rel="next""#;
        assert_eq!(next_page(link).as_deref(), Some("/v1/fs/entries?limit=2&after=abc"));
        assert_eq!(next_page(r#"</x>; rel="prev""#), None);
    }
}
