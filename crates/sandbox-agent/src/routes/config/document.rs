//! How the API document describes the configuration endpoints.
//!
//! The handlers are generic over the kind of entry, and each kind has its own paths, so the operations are described
//! here. Entries are stored as the text that was sent, so their schemas are written here as well; the contract fuzzer
//! checks them against the rules of `sandbox-config`.

#![allow(dead_code, reason = "only used for their schemas")]

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
    UnsupportedMediaType, Internal, ConfigLocked, NoSpace);
problems!(Changing: InvalidParameter, PermissionDenied, Internal, ConfigLocked, NoSpace);
problems!(Listing: InvalidParameter, PermissionDenied, Internal, NoSpace);

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
                    ("directory" = String, Query, example = "src", min_length = 1, pattern = "^[^\\u0000]+$", description = "The directory that the entry belongs to. Relative paths start at the workspace. It need not exist."),
                    ($name = String, Query, example = "github", min_length = 1, max_length = 256, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$", description = "The name of the entry."),
                ),
                responses((status = 200, description = "The entry as it was stored.", content_type = "application/json", body = $entry), Reading)
            )]
            pub(super) fn read() {}

            #[utoipa::path(
                put, path = $path, operation_id = $put, tag = "configuration",
                summary = concat!("Stores ", $what),
                description = "Replaces an entry with the same name. Unknown members are kept.",
                params(
                    ("directory" = String, Query, example = "src", min_length = 1, pattern = "^[^\\u0000]+$", description = "The directory that the entry belongs to. Relative paths start at the workspace. It need not exist."),
                    ($name = String, Query, example = "github", min_length = 1, max_length = 256, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$", description = "The name of the entry."),
                ),
                request_body(content = $entry, content_type = "application/json"),
                responses((status = 204, description = "The entry is stored."), Storing)
            )]
            pub(super) fn store() {}

            #[utoipa::path(
                delete, path = $path, operation_id = $delete, tag = "configuration",
                summary = concat!("Removes ", $what),
                params(
                    ("directory" = String, Query, example = "src", min_length = 1, pattern = "^[^\\u0000]+$", description = "The directory that the entry belongs to. Relative paths start at the workspace. It need not exist."),
                    ($name = String, Query, example = "github", min_length = 1, max_length = 256, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$", description = "The name of the entry."),
                ),
                responses((status = 204, description = "The entry is removed, or did not exist."), Changing)
            )]
            pub(super) fn remove() {}

            #[utoipa::path(
                get, path = $entries_path, operation_id = $list, tag = "configuration",
                summary = concat!("Lists the entries of a directory: ", $what),
                params(("directory" = String, Query, example = "src", min_length = 1, pattern = "^[^\\u0000]+$", description = "The directory. Relative paths start at the workspace. It need not exist.")),
                responses((status = 200, description = "The entries, keyed by name.", content_type = "application/json", body = $entries), Listing)
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

/// The MCP servers of a directory, keyed by name.
#[derive(ToSchema)]
struct McpConfigList {
    entries: BTreeMap<String, McpConfig>,
}

/// The sets of skills of a directory, keyed by name.
#[derive(ToSchema)]
struct SkillsConfigList {
    entries: BTreeMap<String, SkillsConfig>,
}

/// An MCP server: a local program or a remote URL.
#[derive(Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
enum McpConfig {
    Local(LocalMcp),
    Remote(RemoteMcp),
}

/// A program that is started and used over its standard input and output.
#[derive(Serialize, ToSchema)]
#[schema(as = LocalMcpConfig)]
#[serde(rename_all = "camelCase")]
struct LocalMcp {
    command: Command,
    args: Option<Vec<Word>>,
    /// Environment variables for the program.
    env: Option<BTreeMap<Variable, Word>>,
    #[schema(min_length = 1, pattern = "^[^\\u0000]+$")]
    cwd: Option<String>,
    enabled: Option<bool>,
    timeout_ms: Option<u64>,
}

/// A program, or a list with the program and its first arguments.
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

/// Text that can be passed to a program.
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

/// A URL to connect to.
#[derive(Serialize, ToSchema)]
#[schema(as = RemoteMcpConfig)]
#[serde(rename_all = "camelCase")]
struct RemoteMcp {
    /// An `http` or `https` URL.
    #[schema(
        pattern = "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#:\\s\\u0000-\\u001f\\u007f-\\u009f][^\\s\\u0000-\\u001f\\u007f-\\u009f]*$"
    )]
    url: String,
    transport: Option<Transport>,
    headers: Option<BTreeMap<Header, HeaderText>>,
    /// The environment variable that contains the bearer token.
    bearer_token_env_var: Option<Variable>,
    /// Headers whose values come from environment variables: header name to variable name.
    env_headers: Option<BTreeMap<Header, Variable>>,
    oauth: Option<OAuth>,
    enabled: Option<bool>,
    timeout_ms: Option<u64>,
}

/// The transport of the MCP server.
#[derive(Serialize, ToSchema)]
#[schema(as = McpTransport)]
#[serde(rename_all = "lowercase")]
enum Transport {
    Http,
    Sse,
}

/// OAuth settings, or whether to use OAuth.
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
    /// The sources.
    sources: Vec<SkillSource>,
}

/// One source of skills.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SkillSource {
    /// The kind of source.
    r#type: SkillSourceType,
    /// `owner/name`, a URL, or a path.
    #[schema(min_length = 1, pattern = "^[^\\u0000]+$")]
    source: String,
    /// The branch, tag or commit.
    r#ref: Option<String>,
    /// The directory inside the source.
    subpath: Option<String>,
    /// The skills to use; default: all.
    skills: Option<Vec<SkillName>>,
}

/// The name of a skill.
#[derive(Serialize, ToSchema)]
#[schema(min_length = 1)]
struct SkillName(String);

/// The kinds of sources.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum SkillSourceType {
    Github,
    Git,
    Local,
}
