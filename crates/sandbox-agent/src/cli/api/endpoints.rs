//! All endpoints of the server. A test compares this list with the OpenAPI document.

use super::endpoint::Shape::{Boolean, Optional, Repeated, Required, Switch};
use super::endpoint::{Body, Endpoint, Parameter, ResponseKind, field, header, path, query};

/// The descriptions of the groups of commands.
pub(super) const GROUPS: &[(&[&str], &str)] = &[
    (&["v1"], "Version 1 of the API"),
    (&["v1", "acp"], "Instances of agents"),
    (&["v1", "agents"], "Agents of the server"),
    (&["v1", "config"], "Stored configuration of a directory"),
    (&["v1", "config", "mcp"], "Stored MCP servers"),
    (&["v1", "config", "skills"], "Stored skills"),
    (&["v1", "fs"], "Files of the server"),
    (&["ui"], "Static files of the inspector"),
];

const SERVER_ID: Parameter = path("server_id", "The instance");
const AGENT: Parameter = path("agent", "The agent's id");
const CONFIG: Parameter =
    query(Switch, "config", "config", "Start the agent once to find out its models, modes and options");
const PATH: Parameter = query(Required, "path", "path", "The path; relative paths start at the workspace");
const PATH_OR_WORKSPACE: Parameter = query(Optional, "path", "path", "The path [default: the workspace]");
const DIRECTORY: Parameter =
    query(Required, "directory", "directory", "The directory that the entry belongs to");
const MCP_NAME: Parameter = query(Required, "mcpName", "mcp-name", "The name of the MCP server");
const SKILL_NAME: Parameter = query(Required, "skillName", "skill-name", "The name of the set of skills");
const VIEW: Parameter =
    query(Optional, "view", "view", "messages, or journal for messages in both directions");
const REPLAY: Parameter = query(Optional, "replay", "replay", "all, or none to start at the newest event");
const LAST_EVENT_ID: Parameter =
    header("Last-Event-ID", "last-event-id", "Start after the event with this id");
const IF_MATCH: Parameter = header("If-Match", "if-match", "Only if the file has this ETag");
const IF_NONE_MATCH: Parameter =
    header("If-None-Match", "if-none-match", "Only if the file does not have this ETag; * matches any");
const IF_MODIFIED_SINCE: Parameter =
    header("If-Modified-Since", "if-modified-since", "Only if the file has changed since this date");
const RANGE: Parameter = header("Range", "range", "Only this range, such as bytes=0-99");
const IF_RANGE: Parameter =
    header("If-Range", "if-range", "Send the range only if the file has this ETag, else the whole file");
const SERVERS: Parameter = query(Repeated, "server", "server", "Only these instances; repeatable");

const STATUS: Parameter =
    query(Optional, "status", "status", "current, or all to list closed instances with a stored history too");
const HISTORY: Parameter =
    query(Optional, "history", "history", "keep, or delete to delete the stored history too");

const ARCHIVES: &[&str] = &["application/x-tar", "application/gzip", "application/zstd"];

const fn get(words: &'static [&'static str], path: &'static str, about: &'static str) -> Endpoint {
    Endpoint {
        words,
        method: "GET",
        path,
        about,
        parameters: &[],
        body: Body::None,
        response: ResponseKind::Json,
    }
}

const fn with_method(
    method: &'static str,
    words: &'static [&'static str],
    path: &'static str,
    about: &'static str,
) -> Endpoint {
    Endpoint { method, ..get(words, path, about) }
}

/// All endpoints.
pub(super) const ENDPOINTS: &[Endpoint] = &[
    get(&["root"], "/", "Show the server's name, version and links"),
    Endpoint {
        response: ResponseKind::Bytes,
        ..get(&["healthz"], "/healthz", "Check that the process is alive")
    },
    Endpoint {
        response: ResponseKind::Bytes,
        ..get(&["readyz"], "/readyz", "Check that the server accepts requests")
    },
    Endpoint {
        response: ResponseKind::Bytes,
        ..get(&["metrics"], "/metrics", "Print the metrics in the Prometheus format")
    },
    Endpoint {
        response: ResponseKind::Bytes,
        ..get(&["ui", "find"], "/ui", "Print the redirect to the inspector")
    },
    Endpoint {
        parameters: &[IF_NONE_MATCH],
        response: ResponseKind::Bytes,
        ..get(&["ui", "page"], "/ui/", "Print the inspector's page")
    },
    Endpoint {
        parameters: &[path("path", "The path of the file"), IF_NONE_MATCH],
        response: ResponseKind::Bytes,
        ..get(&["ui", "file"], "/ui/{path}", "Print a file of the inspector")
    },
    get(&["v1", "health"], "/v1/health", "Show the server's health and limits"),
    get(&["v1", "openapi"], "/v1/openapi.json", "Print the OpenAPI document"),
    Endpoint { parameters: &[CONFIG], ..get(&["v1", "agents", "list"], "/v1/agents", "List all agents") },
    Endpoint {
        parameters: &[AGENT, CONFIG],
        ..get(&["v1", "agents", "show"], "/v1/agents/{agent}", "Show one agent")
    },
    Endpoint {
        parameters: &[
            AGENT,
            field(Switch, "reinstall", "reinstall", "Install again even if the agent is installed"),
            field(Optional, "agentVersion", "agent-version", "Version of the native agent"),
            field(Optional, "agentProcessVersion", "agent-process-version", "Version of the ACP process"),
        ],
        body: Body::Fields,
        ..with_method("POST", &["v1", "agents", "install"], "/v1/agents/{agent}/install", "Install an agent")
    },
    Endpoint { parameters: &[STATUS], ..get(&["v1", "acp", "list"], "/v1/acp", "List all instances") },
    Endpoint {
        parameters: &[SERVERS, VIEW, REPLAY, LAST_EVENT_ID],
        response: ResponseKind::Events,
        ..get(&["v1", "acp", "watch"], "/v1/acp", "Stream the events of several instances")
    },
    Endpoint {
        parameters: &[SERVER_ID, VIEW, REPLAY, LAST_EVENT_ID],
        response: ResponseKind::Events,
        ..get(&["v1", "acp", "stream"], "/v1/acp/{server_id}", "Stream the events of one instance")
    },
    Endpoint {
        parameters: &[
            SERVER_ID,
            query(Optional, "agent", "agent", "The agent to start if the instance does not exist yet"),
            header("Prefer", "prefer", "respond-async, wait=SECONDS, or both"),
            header(
                "Idempotency-Key",
                "idempotency-key",
                "A repeated message with the same key is not forwarded again",
            ),
        ],
        body: Body::Json,
        ..with_method("POST", &["v1", "acp", "post"], "/v1/acp/{server_id}", "Send one message to the agent")
    },
    Endpoint {
        parameters: &[SERVER_ID, HISTORY],
        ..with_method(
            "DELETE",
            &["v1", "acp", "close"],
            "/v1/acp/{server_id}",
            "Close an instance and end its agent",
        )
    },
    Endpoint {
        parameters: &[DIRECTORY],
        ..get(
            &["v1", "config", "mcp", "list"],
            "/v1/config/mcp/entries",
            "List the MCP servers of a directory",
        )
    },
    Endpoint {
        parameters: &[DIRECTORY, MCP_NAME],
        ..get(&["v1", "config", "mcp", "get"], "/v1/config/mcp", "Show one MCP server")
    },
    Endpoint {
        parameters: &[DIRECTORY, MCP_NAME],
        body: Body::Json,
        ..with_method("PUT", &["v1", "config", "mcp", "put"], "/v1/config/mcp", "Store an MCP server")
    },
    Endpoint {
        parameters: &[DIRECTORY, MCP_NAME],
        ..with_method("DELETE", &["v1", "config", "mcp", "delete"], "/v1/config/mcp", "Remove an MCP server")
    },
    Endpoint {
        parameters: &[DIRECTORY],
        ..get(
            &["v1", "config", "skills", "list"],
            "/v1/config/skills/entries",
            "List the skills of a directory",
        )
    },
    Endpoint {
        parameters: &[DIRECTORY, SKILL_NAME],
        ..get(&["v1", "config", "skills", "get"], "/v1/config/skills", "Show one set of skills")
    },
    Endpoint {
        parameters: &[DIRECTORY, SKILL_NAME],
        body: Body::Json,
        ..with_method("PUT", &["v1", "config", "skills", "put"], "/v1/config/skills", "Store a set of skills")
    },
    Endpoint {
        parameters: &[DIRECTORY, SKILL_NAME],
        ..with_method(
            "DELETE",
            &["v1", "config", "skills", "delete"],
            "/v1/config/skills",
            "Remove a set of skills",
        )
    },
    Endpoint {
        parameters: &[
            PATH_OR_WORKSPACE,
            query(Switch, "recursive", "recursive", "Include all subdirectories"),
            query(Optional, "limit", "limit", "The maximum number of entries"),
            query(Optional, "after", "after", "The end of the previous page, from its Link header"),
        ],
        ..get(&["v1", "fs", "entries"], "/v1/fs/entries", "List a directory")
    },
    Endpoint { parameters: &[PATH], ..get(&["v1", "fs", "stat"], "/v1/fs/stat", "Describe an entry") },
    Endpoint {
        parameters: &[PATH, IF_MATCH, IF_NONE_MATCH, IF_MODIFIED_SINCE, RANGE, IF_RANGE],
        response: ResponseKind::Bytes,
        ..get(&["v1", "fs", "read-file"], "/v1/fs/file", "Read a file")
    },
    Endpoint {
        parameters: &[PATH, IF_MATCH, IF_NONE_MATCH, IF_MODIFIED_SINCE],
        response: ResponseKind::Head,
        ..with_method("HEAD", &["v1", "fs", "head-file"], "/v1/fs/file", "Describe a file without reading it")
    },
    Endpoint {
        parameters: &[PATH, IF_MATCH, IF_NONE_MATCH],
        body: Body::Bytes(&["application/octet-stream"]),
        ..with_method("PUT", &["v1", "fs", "write-file"], "/v1/fs/file", "Write a file")
    },
    Endpoint {
        parameters: &[PATH, query(Switch, "recursive", "recursive", "Remove a directory with its contents")],
        ..with_method("DELETE", &["v1", "fs", "delete-entry"], "/v1/fs/entry", "Remove an entry")
    },
    Endpoint {
        parameters: &[PATH],
        ..with_method("POST", &["v1", "fs", "mkdir"], "/v1/fs/mkdir", "Create a directory")
    },
    Endpoint {
        parameters: &[
            field(Required, "from", "from", "The path to move"),
            field(Required, "to", "to", "The new path"),
            field(Switch, "overwrite", "overwrite", "Replace an existing file"),
        ],
        body: Body::Fields,
        ..with_method("POST", &["v1", "fs", "move"], "/v1/fs/move", "Move an entry")
    },
    Endpoint {
        parameters: &[
            PATH_OR_WORKSPACE,
            header("Content-Encoding", "content-encoding", "The compression of the body: gzip or zstd"),
        ],
        body: Body::Bytes(ARCHIVES),
        ..with_method(
            "POST",
            &["v1", "fs", "upload-batch"],
            "/v1/fs/upload-batch",
            "Unpack an archive into a directory",
        )
    },
    Endpoint {
        parameters: &[PATH_OR_WORKSPACE, query(Optional, "format", "format", "tar, tar.gz or tar.zst")],
        response: ResponseKind::Bytes,
        ..get(&["v1", "fs", "download-batch"], "/v1/fs/download-batch", "Download a directory as an archive")
    },
    Endpoint {
        parameters: &[
            PATH_OR_WORKSPACE,
            query(Boolean, "recursive", "recursive", "Include all subdirectories: true or false"),
        ],
        response: ResponseKind::Events,
        ..get(&["v1", "fs", "watch"], "/v1/fs/watch", "Stream the changes in a directory")
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::super::endpoint::{Location, Shape};
    use super::*;

    /// Method, path, and parameters as name, location and whether it is required.
    type Operation = (String, String, BTreeSet<(String, String, bool)>);

    fn documented() -> Vec<Operation> {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
        let document: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let mut found = Vec::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let responses = operation["responses"].as_object().unwrap();
                if !responses.keys().any(|status| status.starts_with(['2', '3'])) {
                    // A removed endpoint has no command.
                    assert!(responses.contains_key("410"), "{method} {path}");
                    continue;
                }
                let listed = operation["parameters"].as_array().into_iter().flatten();
                let parameters = listed.map(|parameter| {
                    let text = |name: &str| parameter[name].as_str().unwrap().to_owned();
                    (text("name"), text("in"), parameter["required"] == true)
                });
                found.push((method.to_uppercase(), path.clone(), parameters.collect()));
            }
        }
        found.sort();
        found
    }

    fn callable() -> Vec<Operation> {
        let mut found: Vec<Operation> = Vec::new();
        for endpoint in ENDPOINTS {
            let parameters = endpoint.parameters.iter().filter_map(|parameter| {
                let location = match parameter.location {
                    Location::Path => "path",
                    Location::Query => "query",
                    Location::Header => "header",
                    Location::Field => return None,
                };
                Some((parameter.name.to_owned(), location.to_owned(), parameter.shape == Shape::Required))
            });
            let key = (endpoint.method.to_owned(), endpoint.path.to_owned());
            // An endpoint with two kinds of responses has two commands.
            match found.iter_mut().find(|(method, path, _)| (method, path) == (&key.0, &key.1)) {
                Some((_, _, known)) => known.extend(parameters),
                None => found.push((key.0, key.1, parameters.collect())),
            }
        }
        found.sort();
        found
    }

    #[test]
    fn the_commands_have_exactly_the_documented_endpoints_and_parameters() {
        let (documented, callable) = (documented(), callable());
        for endpoint in &documented {
            assert!(callable.contains(endpoint), "no command calls {endpoint:?}");
        }
        assert_eq!(callable, documented);
    }

    #[test]
    fn every_group_of_commands_has_a_description() {
        for endpoint in ENDPOINTS {
            for length in 1..endpoint.words.len() {
                let group = &endpoint.words[..length];
                assert!(GROUPS.iter().any(|(words, _)| *words == group), "{group:?}");
            }
        }
    }
}
