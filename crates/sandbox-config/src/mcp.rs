//! An MCP server for a directory's sessions: a local program, or a remote address.
//!
//! The rules are those of the published types, plus checks for values that can never work: an invalid header name,
//! a variable name with `=`. Other fields are kept without validation, including those of the other kind.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::Error;
use crate::entry::{Entry, Sealed, Section, check_arguments};
use crate::json::{Field, Object};

/// A validated MCP entry.
#[derive(Clone)]
pub struct McpEntry {
    kind: McpKind,
    json: Box<RawValue>,
}

/// The two kinds of MCP server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpKind {
    /// `"type":"local"`: a program to start, which communicates over its standard input and output.
    Local,
    /// `"type":"remote"`: an address to connect to.
    Remote,
}

impl McpEntry {
    /// The kind of server that the entry describes.
    #[must_use]
    pub fn kind(&self) -> McpKind {
        self.kind
    }
}

impl Entry for McpEntry {
    fn as_json(&self) -> &str {
        self.json.get()
    }
}

impl Sealed for McpEntry {
    const SECTION: Section = Section::Mcp;

    fn check(value: &RawValue) -> Result<Self, Error> {
        let object = Field::root(value).object()?;
        let kind = check_type(&object)?;
        match kind {
            McpKind::Local => check_local(&object)?,
            McpKind::Remote => check_remote(&object)?,
        }
        optional(&object, "enabled", |field| field.boolean().map(drop))?;
        optional(&object, "timeoutMs", |field| field.whole_number().map(drop))?;
        Ok(Self { kind, json: value.to_owned() })
    }
}

impl Serialize for McpEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

impl fmt::Debug for McpEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("McpEntry").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// Checks `type`. A missing type is never guessed, since readers depend on it; but the error names the likely
/// type.
fn check_type(object: &Object<'_>) -> Result<McpKind, Error> {
    let Some(field) = object.optional("type") else {
        let likely = match (object.optional("command"), object.optional("url")) {
            (Some(_), None) => "; with a command it is \"local\"",
            (None, Some(_)) => "; with a url it is \"remote\"",
            _ => "",
        };
        return Err(object.missing("type", format!("is required, \"local\" or \"remote\"{likely}")));
    };
    Ok(if field.one_of(&["local", "remote"])? == "local" { McpKind::Local } else { McpKind::Remote })
}

fn check_local(object: &Object<'_>) -> Result<(), Error> {
    check_command(&object.required("command")?)?;
    optional(object, "args", check_arguments)?;
    optional(object, "env", |field| {
        for (name, value) in field.object()?.members() {
            check_variable_name(&value, name)?;
            if value.string()?.contains('\0') {
                return Err(value.error("must not contain a NUL character"));
            }
        }
        Ok(())
    })?;
    optional(object, "cwd", |field| field.filled_string().map(drop))
}

/// Checks a command: a program, or a list of the program and its first arguments. The first version of the
/// types allowed both.
fn check_command(field: &Field<'_>) -> Result<(), Error> {
    if field.raw().get().starts_with('"') {
        return field.filled_string().map(drop);
    }
    let items = field.array().map_err(|_| field.error("must be a string or an array of strings"))?;
    let program = items.first().ok_or_else(|| field.error("must not be empty"))?;
    program.filled_string()?;
    check_arguments(field)
}

fn check_remote(object: &Object<'_>) -> Result<(), Error> {
    check_url(&object.required("url")?)?;
    optional(object, "transport", |field| field.one_of(&["http", "sse"]).map(drop))?;
    optional(object, "headers", |field| {
        for (name, value) in field.object()?.members() {
            check_header_name(&value, name)?;
            if value.string()?.contains(['\r', '\n', '\0']) {
                return Err(value.error("must not contain a line break or a NUL character"));
            }
        }
        Ok(())
    })?;
    optional(object, "envHeaders", |field| {
        for (name, value) in field.object()?.members() {
            check_header_name(&value, name)?;
            check_variable_name(&value, &value.string()?)?;
        }
        Ok(())
    })?;
    optional(object, "bearerTokenEnvVar", |field| check_variable_name(field, &field.string()?))?;
    optional(object, "oauth", |field| match field.raw().get() {
        "true" | "false" => Ok(()),
        _ => field.object().map(drop).map_err(|_| field.error("must be an object or a boolean")),
    })
}

fn optional(
    object: &Object<'_>,
    key: &str,
    check: impl FnOnce(&Field<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    object.optional(key).map_or(Ok(()), |field| check(&field))
}

/// Checks that the URL is http or https. Both transports are HTTP, so any other scheme is a mistake that
/// would become visible only when an agent fails to connect.
fn check_url(field: &Field<'_>) -> Result<(), Error> {
    let url = field.string()?;
    let after_scheme = url.split_once("://").and_then(|(scheme, rest)| {
        ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)).then_some(rest)
    });
    let has_host =
        after_scheme.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', '?', '#', ':']));
    if !has_host || url.contains(|character: char| character.is_whitespace() || character.is_control()) {
        return Err(field.error("must be an http or https URL"));
    }
    Ok(())
}

/// Checks that a name is an RFC 9110 token.
fn check_header_name(field: &Field<'_>, name: &str) -> Result<(), Error> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        return Err(field.error("is not a header name"));
    }
    Ok(())
}

fn check_variable_name(field: &Field<'_>, name: &str) -> Result<(), Error> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(field.error("is not the name of an environment variable"));
    }
    Ok(())
}

#[cfg(test)]
#[path = "mcp_tests.rs"]
mod tests;
