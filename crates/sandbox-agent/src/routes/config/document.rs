//! The configuration endpoints as the API document describes them.
//!
//! The handlers are generic over the kind of entry, and an operation has a path of its own for each, so the operations
//! are described here. Entries are kept as the text that came, so their shapes are written down here as well; the
//! contract fuzzer holds them against the rules of `sandbox-config`.

#![allow(dead_code, reason = "shapes to be described, never values")]

use std::collections::BTreeMap;

use http_server::problems;
use serde::Serialize;
use serde_json::Value;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

problems!(Reading: InvalidParameter, PermissionDenied, ConfigNotFound, Internal, NoSpace);
problems!(Storing:
    InvalidParameter, InvalidJson, InvalidConfig, IncompleteBody, PermissionDenied, PayloadTooLarge,
    UnsupportedMediaType, Internal, NoSpace);
problems!(Changing: InvalidParameter, PermissionDenied, Internal, NoSpace);

/// Describes the four operations of a kind.
macro_rules! describe {
    (
        $module:ident, $entry:ident, $entries:ident, $path:literal, $entries_path:literal, $name:literal, $what:literal,
        $get:literal, $put:literal, $delete:literal, $list:literal
    ) => {
        mod $module {
            use super::*;

            #[utoipa::path(
                get, path = $path, operation_id = $get, tag = "configuration",
                summary = concat!("Reads ", $what),
                params(
                    ("directory" = String, Query, example = "src", min_length = 1, pattern = "^[^\\u0000]+$", description = "The directory whose sessions it is for; relative to the workspace, need not exist."),
                    ($name = String, Query, example = "github", min_length = 1, max_length = 256, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$", description = "Its name."),
                ),
                responses((status = 200, description = "The entry, as it was stored.", content_type = "application/json", body = $entry), Reading)
            )]
            pub(super) fn read() {}

            #[utoipa::path(
                put, path = $path, operation_id = $put, tag = "configuration",
                summary = concat!("Stores ", $what),
                description = "Replaces one of the same name. Members that are not described are kept.",
                params(
                    ("directory" = String, Query, example = "src", min_length = 1, pattern = "^[^\\u0000]+$", description = "The directory whose sessions it is for; relative to the workspace, need not exist."),
                    ($name = String, Query, example = "github", min_length = 1, max_length = 256, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$", description = "Its name."),
                ),
                request_body(content = $entry, content_type = "application/json"),
                responses((status = 204, description = "It is stored."), Storing)
            )]
            pub(super) fn store() {}

            #[utoipa::path(
                delete, path = $path, operation_id = $delete, tag = "configuration",
                summary = concat!("Removes ", $what),
                params(
                    ("directory" = String, Query, example = "src", min_length = 1, pattern = "^[^\\u0000]+$", description = "The directory whose sessions it is for; relative to the workspace, need not exist."),
                    ($name = String, Query, example = "github", min_length = 1, max_length = 256, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$", description = "Its name."),
                ),
                responses((status = 204, description = "It is gone, or was not there."), Changing)
            )]
            pub(super) fn remove() {}

            #[utoipa::path(
                get, path = $entries_path, operation_id = $list, tag = "configuration",
                summary = concat!("Lists all of a directory: ", $what),
                params(("directory" = String, Query, example = "src", min_length = 1, pattern = "^[^\\u0000]+$", description = "The directory; relative to the workspace, need not exist.")),
                responses((status = 200, description = "The entries by their names.", content_type = "application/json", body = $entries), Changing)
            )]
            pub(super) fn list() {}
        }
    };
}

describe!(
    mcp,
    McpConfig,
    McpConfigList,
    "/v1/config/mcp",
    "/v1/config/mcp/entries",
    "mcpName",
    "an MCP server",
    "getMcpConfig",
    "putMcpConfig",
    "deleteMcpConfig",
    "listMcpConfigs"
);
describe!(
    skills,
    SkillsConfig,
    SkillsConfigList,
    "/v1/config/skills",
    "/v1/config/skills/entries",
    "skillName",
    "a set of skills",
    "getSkillsConfig",
    "putSkillsConfig",
    "deleteSkillsConfig",
    "listSkillsConfigs"
);

#[derive(utoipa::OpenApi)]
#[openapi(paths(
    mcp::read,
    mcp::store,
    mcp::remove,
    mcp::list,
    skills::read,
    skills::store,
    skills::remove,
    skills::list
))]
pub(in crate::routes) struct Document;

/// The MCP servers of a directory by their names.
#[derive(ToSchema)]
struct McpConfigList {
    entries: BTreeMap<String, McpConfig>,
}

/// The sets of skills of a directory by their names.
#[derive(ToSchema)]
struct SkillsConfigList {
    entries: BTreeMap<String, SkillsConfig>,
}

/// An MCP server: a local program, or a remote address.
#[derive(Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
enum McpConfig {
    Local(LocalMcp),
    Remote(RemoteMcp),
}

/// A program to start, spoken to over its standard input and output.
#[derive(Serialize, ToSchema)]
#[schema(as = LocalMcpConfig)]
#[serde(rename_all = "camelCase")]
struct LocalMcp {
    command: Command,
    args: Option<Vec<Word>>,
    /// Variables of its environment.
    env: Option<BTreeMap<Variable, Word>>,
    #[schema(min_length = 1, pattern = "^[^\\u0000]+$")]
    cwd: Option<String>,
    enabled: Option<bool>,
    timeout_ms: Option<u64>,
}

/// A program, or a list of the program and its first arguments.
#[derive(Serialize, ToSchema)]
#[schema(as = McpCommand)]
#[serde(untagged)]
enum Command {
    Program(#[schema(inline)] Program),
    WithArguments(#[schema(inline)] Words),
}

#[derive(Serialize, ToSchema)]
#[schema(min_length = 1, pattern = "^[^\\u0000]+$")]
struct Program(String);

#[derive(Serialize)]
struct Words;

impl PartialSchema for Words {
    fn schema() -> RefOr<Schema> {
        let program = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1));
        let words = ArrayBuilder::new()
            .prefix_items([Schema::from(program.pattern(Some("^[^\\u0000]+$")))])
            .items(Ref::from_schema_name("ProgramText"))
            .min_items(Some(1));
        RefOr::T(Schema::from(words))
    }
}

impl ToSchema for Words {}

/// Text that a program can be given.
#[derive(Serialize, ToSchema)]
#[schema(as = ProgramText, pattern = "^[^\\u0000]*$")]
struct Word(String);

/// The name of an environment variable.
#[derive(Serialize, ToSchema)]
#[schema(as = VariableName, pattern = "^[^=\\u0000]+$")]
struct Variable(String);

/// The name of a header.
#[derive(Serialize, ToSchema)]
#[schema(as = HeaderName, pattern = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")]
struct Header(String);

/// The value of a header.
#[derive(Serialize, ToSchema)]
#[schema(as = HeaderText, pattern = "^[^\\r\\n\\u0000]*$")]
struct HeaderText(String);

/// An address to connect to.
#[derive(Serialize, ToSchema)]
#[schema(as = RemoteMcpConfig)]
#[serde(rename_all = "camelCase")]
struct RemoteMcp {
    /// An `http` or `https` address.
    #[schema(
        pattern = "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#:\\s\\u0000-\\u001f\\u007f-\\u009f][^\\s\\u0000-\\u001f\\u007f-\\u009f]*$"
    )]
    url: String,
    transport: Option<Transport>,
    headers: Option<BTreeMap<Header, HeaderText>>,
    /// The variable that holds the bearer token.
    bearer_token_env_var: Option<Variable>,
    /// Headers whose values are in variables: header to variable.
    env_headers: Option<BTreeMap<Header, Variable>>,
    oauth: Option<OAuth>,
    enabled: Option<bool>,
    timeout_ms: Option<u64>,
}

/// How to talk to it.
#[derive(Serialize, ToSchema)]
#[schema(as = McpTransport)]
#[serde(rename_all = "lowercase")]
enum Transport {
    Http,
    Sse,
}

/// Settings of OAuth, or whether to use it.
#[derive(Serialize, ToSchema)]
#[schema(as = McpOAuth)]
#[serde(untagged)]
enum OAuth {
    Switch(bool),
    Settings(BTreeMap<String, Value>),
}

/// Where skills come from.
#[derive(Serialize, ToSchema)]
struct SkillsConfig {
    /// The places.
    sources: Vec<SkillSource>,
}

/// One place that skills come from.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SkillSource {
    /// What kind of place it is.
    r#type: SkillSourceType,
    /// `owner/name`, an address, or a path.
    #[schema(min_length = 1, pattern = "^[^\\u0000]+$")]
    source: String,
    /// The branch, tag or commit.
    r#ref: Option<String>,
    /// The folder inside it.
    subpath: Option<String>,
    /// Which of its skills; all when left out.
    skills: Option<Vec<SkillName>>,
}

/// The name of a skill.
#[derive(Serialize, ToSchema)]
#[schema(min_length = 1)]
struct SkillName(String);

/// The kinds of places.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum SkillSourceType {
    Github,
    Git,
    Local,
}
