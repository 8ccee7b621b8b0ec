//! Conditional requests (RFC 9110, section 13): which version of a file a client has or expects.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, header};
use http_server::{Code, Problem};
use sandbox_fs::{ETag, Precondition};

/// The resolution of an HTTP date. A file that changed within the last second may change again without getting a new
/// date.
const DATE_RESOLUTION: Duration = Duration::from_secs(1);

/// The tags of an `If-Match` or `If-None-Match` header.
#[derive(Debug, PartialEq, Eq)]
enum Tags {
    Any,
    /// Each tag with its strength.
    Listed(Vec<(ETag, Strength)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strength {
    Strong,
    Weak,
}

/// How to answer a GET, according to its conditions.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReadDecision {
    /// Send the file.
    Send,
    /// Answer 304: the client has this version.
    NotModified,
}

/// The version of a file.
pub(super) struct Version<'a> {
    pub(super) etag: &'a ETag,
    pub(super) modified: Option<SystemTime>,
}

/// Evaluates the conditions of a GET or HEAD.
///
/// # Errors
/// 412 when `If-Match` fails, 400 when a header is malformed.
pub(super) fn evaluate_read(headers: &HeaderMap, version: &Version<'_>) -> Result<ReadDecision, Problem> {
    if let Some(tags) = tags(headers, &header::IF_MATCH)? {
        let holds = match &tags {
            Tags::Any => true,
            Tags::Listed(list) => {
                list.iter().any(|(tag, strength)| *strength == Strength::Strong && tag == version.etag)
            }
        };
        if !holds {
            return Err(Problem::new(
                Code::PreconditionFailed,
                format!("the file's version is now {}; omit `If-Match` to read it", version.etag),
            ));
        }
    }
    let known = match tags(headers, &header::IF_NONE_MATCH)? {
        Some(Tags::Any) => true,
        Some(Tags::Listed(list)) => list.iter().any(|(tag, _)| tag == version.etag),
        // A date counts only if there is no tag. A malformed date is ignored.
        None => match (date(headers, header::IF_MODIFIED_SINCE), version.modified) {
            (Some(since), Some(modified)) => whole_seconds(modified) <= whole_seconds(since),
            _ => false,
        },
    };
    Ok(if known { ReadDecision::NotModified } else { ReadDecision::Send })
}

/// True when a range may be sent: `If-Range` is absent or names exactly this version.
pub(super) fn allows_range(headers: &HeaderMap, version: &Version<'_>) -> bool {
    let Some(value) = headers.get(header::IF_RANGE) else { return true };
    if let Some(tag) = value.to_str().ok().and_then(ETag::parse) {
        return tag == *version.etag;
    }
    match (date(headers, header::IF_RANGE), version.modified) {
        (Some(date), Some(modified)) => {
            whole_seconds(date) == whole_seconds(modified)
                && modified.elapsed().is_ok_and(|age| age > DATE_RESOLUTION)
        }
        _ => false,
    }
}

/// The precondition of a PUT.
///
/// # Errors
/// 400 when a header is malformed or not supported for PUT.
pub(super) fn write_precondition(headers: &HeaderMap) -> Result<Precondition, Problem> {
    match (tags(headers, &header::IF_MATCH)?, tags(headers, &header::IF_NONE_MATCH)?) {
        (None, None) => Ok(Precondition::None),
        (Some(Tags::Any), None) => Ok(Precondition::MustExist),
        (Some(Tags::Listed(list)), None) => {
            let strong = list.into_iter().filter(|(_, strength)| *strength == Strength::Strong);
            Ok(Precondition::MustMatch(strong.map(|(tag, _)| tag).collect()))
        }
        (None, Some(Tags::Any)) => Ok(Precondition::MustNotExist),
        (None, Some(Tags::Listed(_))) => Err(invalid_header(
            &header::IF_NONE_MATCH,
            "only `If-None-Match: *` is supported here; use `If-Match` for versions",
        )),
        (Some(_), Some(_)) => Err(invalid_header(
            &header::IF_MATCH,
            "`If-Match` and `If-None-Match` cannot be combined here; send one of them",
        )),
    }
}

fn tags(headers: &HeaderMap, name: &HeaderName) -> Result<Option<Tags>, Problem> {
    let mut list = Vec::new();
    let mut present = false;
    for value in headers.get_all(name) {
        present = true;
        let text = value.to_str().ok().map(str::trim);
        if text == Some("*") {
            return Ok(Some(Tags::Any));
        }
        let parsed = text.and_then(parse_list).ok_or_else(|| {
            invalid_header(
                name,
                format!("`{name}` must be `*` or a list of quoted tags, as in \"1-2\", \"3-4\""),
            )
        })?;
        list.extend(parsed);
    }
    Ok(present.then_some(Tags::Listed(list)))
}

/// Parses `"a", W/"b"`. The quotes may contain commas.
fn parse_list(text: &str) -> Option<Vec<(ETag, Strength)>> {
    let mut list = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.is_empty() {
            return (!list.is_empty()).then_some(list);
        }
        let (strength, quoted) = match rest.strip_prefix("W/") {
            Some(quoted) => (Strength::Weak, quoted),
            None => (Strength::Strong, rest),
        };
        let end = quoted.strip_prefix('"')?.find('"')? + 2;
        list.push((ETag::parse(&quoted[..end])?, strength));
        rest = quoted[end..].trim_start_matches([' ', '\t']);
        if !rest.is_empty() && !rest.starts_with(',') {
            return None;
        }
    }
}

fn date(headers: &HeaderMap, name: HeaderName) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(name)?.to_str().ok()?).ok()
}

fn whole_seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |duration| duration.as_secs())
}

/// The problem for a header that is malformed or not supported.
pub(super) fn invalid_header(name: &HeaderName, detail: impl Into<String>) -> Problem {
    Problem::new(Code::InvalidHeader, detail).with("header", name.as_str())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn with(pairs: &[(HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    fn tag(text: &str) -> ETag {
        ETag::parse(text).unwrap()
    }

    #[test]
    fn lists_of_tags_are_parsed_strictly() {
        let list = parse_list(r#" "a,b" , W/"c","d" "#).unwrap();
        assert_eq!(
            list.iter().map(|(tag, _)| tag.to_string()).collect::<Vec<_>>(),
            [r#""a,b""#, r#""c""#, r#""d""#]
        );
        assert_eq!(list[1].1, Strength::Weak);
        for bad in ["", "a", "\"a", "\"a\" \"b\"", "*, \"a\"", "w/\"a\"", ","] {
            assert_eq!(parse_list(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_weak_tag_can_prevent_a_download_but_not_permit_a_write() {
        let etag = tag("\"a\"");
        let version = Version { etag: &etag, modified: None };
        let read = |pairs| evaluate_read(&with(pairs), &version);
        assert_eq!(read(&[(header::IF_NONE_MATCH, "W/\"a\"")]), Ok(ReadDecision::NotModified));
        assert_eq!(read(&[(header::IF_NONE_MATCH, "\"b\"")]), Ok(ReadDecision::Send));
        assert_eq!(read(&[(header::IF_MATCH, "W/\"a\"")]).unwrap_err().code(), Code::PreconditionFailed);
        assert_eq!(read(&[(header::IF_MATCH, "\"b\", \"a\"")]), Ok(ReadDecision::Send));
        let write = |pairs| write_precondition(&with(pairs));
        assert_eq!(write(&[(header::IF_MATCH, "W/\"a\"")]), Ok(Precondition::MustMatch(vec![])));
        assert_eq!(write(&[(header::IF_NONE_MATCH, "*")]), Ok(Precondition::MustNotExist));
        assert_eq!(write(&[(header::IF_MATCH, "*")]), Ok(Precondition::MustExist));
        assert!(write(&[(header::IF_NONE_MATCH, "\"a\"")]).is_err());
        assert!(write(&[(header::IF_NONE_MATCH, "*"), (header::IF_MATCH, "*")]).is_err());
    }

    #[test]
    fn a_range_of_another_version_is_not_sent() {
        let etag = tag("\"a\"");
        let modified = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let version = Version { etag: &etag, modified: Some(modified) };
        let allows = |value| allows_range(&with(&[(header::IF_RANGE, value)]), &version);
        assert!(allows_range(&HeaderMap::new(), &version));
        assert!(allows("\"a\""));
        assert!(allows("Sun, 06 Nov 1994 08:49:37 GMT"));
        for other in ["\"b\"", "W/\"a\"", "Sun, 06 Nov 1994 08:49:38 GMT", "nonsense"] {
            assert!(!allows(other), "{other}");
        }
    }
}
