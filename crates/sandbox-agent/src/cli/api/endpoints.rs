//! Every endpoint of the server. A test compares this with the OpenAPI document.

use super::endpoint::Shape::{Optional, Repeated, Required, Switch, Truth};
use super::endpoint::{Answer, Body, Endpoint, Parameter, field, header, path, query};

/// What the words before the last one stand for.
pub(super) const GROUPS: &[(&[&str], &str)] = &[
    (&["v1"], "The first version"),
    (&["v1", "acp"], "Instances of agents"),
    (&["v1", "agents"], "The server's agents"),
    (&["v1", "config"], "What is kept for a directory"),
    (&["v1", "config", "mcp"], "MCP servers"),
    (&["v1", "config", "skills"], "Skills"),
    (&["v1", "fs"], "The server's files"),
    (&["ui"], "The inspector's own files"),
];

const SERVER_ID: Parameter = path("server_id", "The instance");
const AGENT: Parameter = path("agent", "The agent's id");
const CONFIG: Parameter =
    query(Switch, "config", "config", "Start it once to see its models, modes and options");
const PATH: Parameter = query(Required, "path", "path", "The path; relative ones start at the workspace");
const PATH_OR_WORKSPACE: Parameter = query(Optional, "path", "path", "The path [default: the workspace]");
const DIRECTORY: Parameter = query(Required, "directory", "directory", "The directory it belongs to");
const MCP_NAME: Parameter = query(Required, "mcpName", "mcp-name", "The name of the MCP server");
const SKILL_NAME: Parameter = query(Required, "skillName", "skill-name", "The name of the skills");
const VIEW: Parameter = query(Optional, "view", "view", "messages, or journal for both directions");
const REPLAY: Parameter = query(Optional, "replay", "replay", "all, or none to start at the newest");
const LAST_EVENT_ID: Parameter = header("Last-Event-ID", "last-event-id", "Start behind this event");
const IF_MATCH: Parameter = header("If-Match", "if-match", "Only if it has this ETag");
const IF_NONE_MATCH: Parameter =
    header("If-None-Match", "if-none-match", "Only if it has not this ETag; * is any");
const IF_MODIFIED_SINCE: Parameter =
    header("If-Modified-Since", "if-modified-since", "Only if it has changed since this date");
const RANGE: Parameter = header("Range", "range", "Only this part, such as bytes=0-99");
const IF_RANGE: Parameter = header("If-Range", "if-range", "The part only if it has this ETag, else all");
const SERVERS: Parameter = query(Repeated, "server", "server", "Only these instances; repeatable");

const ARCHIVES: &[&str] = &["application/x-tar", "application/gzip", "application/zstd"];

const fn get(words: &'static [&'static str], path: &'static str, about: &'static str) -> Endpoint {
    Endpoint { words, method: "GET", path, about, parameters: &[], body: Body::None, answer: Answer::Json }
}

const fn other(
    method: &'static str,
    words: &'static [&'static str],
    path: &'static str,
    about: &'static str,
) -> Endpoint {
    Endpoint { method, ..get(words, path, about) }
}

/// All of them.
pub(super) const ENDPOINTS: &[Endpoint] = &[
    get(&["root"], "/", "What this is and where to go from here"),
    Endpoint { answer: Answer::Bytes, ..get(&["healthz"], "/healthz", "Whether the process lives") },
    Endpoint { answer: Answer::Bytes, ..get(&["readyz"], "/readyz", "Whether the server takes requests") },
    Endpoint {
        answer: Answer::Bytes,
        ..get(&["metrics"], "/metrics", "Measurements, as Prometheus reads them")
    },
    Endpoint { answer: Answer::Bytes, ..get(&["ui", "find"], "/ui", "The way to the inspector") },
    Endpoint {
        parameters: &[IF_NONE_MATCH],
        answer: Answer::Bytes,
        ..get(&["ui", "page"], "/ui/", "The inspector's page")
    },
    Endpoint {
        parameters: &[path("path", "The file's name"), IF_NONE_MATCH],
        answer: Answer::Bytes,
        ..get(&["ui", "file"], "/ui/{path}", "A file of the inspector")
    },
    get(&["v1", "health"], "/v1/health", "How the server is"),
    get(&["v1", "openapi"], "/v1/openapi.json", "The description of this API"),
    Endpoint { parameters: &[CONFIG], ..get(&["v1", "agents", "list"], "/v1/agents", "All agents") },
    Endpoint {
        parameters: &[AGENT, CONFIG],
        ..get(&["v1", "agents", "show"], "/v1/agents/{agent}", "One agent")
    },
    Endpoint {
        parameters: &[
            AGENT,
            field(Switch, "reinstall", "reinstall", "Install again even when it is there"),
            field(Optional, "agentVersion", "agent-version", "Version of the native agent"),
            field(Optional, "agentProcessVersion", "agent-process-version", "Version of the ACP process"),
        ],
        body: Body::Fields,
        ..other("POST", &["v1", "agents", "install"], "/v1/agents/{agent}/install", "Install an agent")
    },
    get(&["v1", "acp", "list"], "/v1/acp", "All instances"),
    Endpoint {
        parameters: &[SERVERS, VIEW, REPLAY, LAST_EVENT_ID],
        answer: Answer::Events,
        ..get(&["v1", "acp", "watch"], "/v1/acp", "What happens on many instances, as it comes")
    },
    Endpoint {
        parameters: &[SERVER_ID, VIEW, REPLAY, LAST_EVENT_ID],
        answer: Answer::Events,
        ..get(&["v1", "acp", "stream"], "/v1/acp/{server_id}", "What the agent says, as it comes")
    },
    Endpoint {
        parameters: &[
            SERVER_ID,
            query(Optional, "agent", "agent", "The agent to start, where there is no instance yet"),
            header("Prefer", "prefer", "respond-async, wait=SECONDS, or both"),
            header(
                "Idempotency-Key",
                "idempotency-key",
                "A repeat under the same key is not forwarded again",
            ),
        ],
        body: Body::Json,
        ..other("POST", &["v1", "acp", "post"], "/v1/acp/{server_id}", "Send one message to the agent")
    },
    Endpoint {
        parameters: &[SERVER_ID],
        ..other("DELETE", &["v1", "acp", "close"], "/v1/acp/{server_id}", "End an instance and its agent")
    },
    Endpoint {
        parameters: &[DIRECTORY],
        ..get(&["v1", "config", "mcp", "list"], "/v1/config/mcp/entries", "All MCP servers of a directory")
    },
    Endpoint {
        parameters: &[DIRECTORY, MCP_NAME],
        ..get(&["v1", "config", "mcp", "get"], "/v1/config/mcp", "One MCP server")
    },
    Endpoint {
        parameters: &[DIRECTORY, MCP_NAME],
        body: Body::Json,
        ..other("PUT", &["v1", "config", "mcp", "put"], "/v1/config/mcp", "Store an MCP server")
    },
    Endpoint {
        parameters: &[DIRECTORY, MCP_NAME],
        ..other("DELETE", &["v1", "config", "mcp", "delete"], "/v1/config/mcp", "Remove an MCP server")
    },
    Endpoint {
        parameters: &[DIRECTORY],
        ..get(&["v1", "config", "skills", "list"], "/v1/config/skills/entries", "All skills of a directory")
    },
    Endpoint {
        parameters: &[DIRECTORY, SKILL_NAME],
        ..get(&["v1", "config", "skills", "get"], "/v1/config/skills", "One entry")
    },
    Endpoint {
        parameters: &[DIRECTORY, SKILL_NAME],
        body: Body::Json,
        ..other("PUT", &["v1", "config", "skills", "put"], "/v1/config/skills", "Store an entry")
    },
    Endpoint {
        parameters: &[DIRECTORY, SKILL_NAME],
        ..other("DELETE", &["v1", "config", "skills", "delete"], "/v1/config/skills", "Remove an entry")
    },
    Endpoint {
        parameters: &[
            PATH_OR_WORKSPACE,
            query(Switch, "recursive", "recursive", "All below it as well"),
            query(Optional, "limit", "limit", "At most so many entries"),
            query(Optional, "after", "after", "Go on behind a page, as its Link header says"),
        ],
        ..get(&["v1", "fs", "entries"], "/v1/fs/entries", "List a directory")
    },
    Endpoint { parameters: &[PATH], ..get(&["v1", "fs", "stat"], "/v1/fs/stat", "Describe an entry") },
    Endpoint {
        parameters: &[PATH, IF_MATCH, IF_NONE_MATCH, IF_MODIFIED_SINCE, RANGE, IF_RANGE],
        answer: Answer::Bytes,
        ..get(&["v1", "fs", "read-file"], "/v1/fs/file", "Read a file")
    },
    Endpoint {
        parameters: &[PATH, IF_MATCH, IF_NONE_MATCH, IF_MODIFIED_SINCE],
        answer: Answer::Head,
        ..other("HEAD", &["v1", "fs", "head-file"], "/v1/fs/file", "Describe a file without reading it")
    },
    Endpoint {
        parameters: &[PATH, IF_MATCH, IF_NONE_MATCH],
        body: Body::Bytes(&["application/octet-stream"]),
        ..other("PUT", &["v1", "fs", "write-file"], "/v1/fs/file", "Write a file")
    },
    Endpoint {
        parameters: &[PATH, query(Switch, "recursive", "recursive", "A directory with all that is in it")],
        ..other("DELETE", &["v1", "fs", "delete-entry"], "/v1/fs/entry", "Remove an entry")
    },
    Endpoint {
        parameters: &[PATH],
        ..other("POST", &["v1", "fs", "mkdir"], "/v1/fs/mkdir", "Make a directory")
    },
    Endpoint {
        parameters: &[
            field(Required, "from", "from", "What to move"),
            field(Required, "to", "to", "Where to"),
            field(Switch, "overwrite", "overwrite", "Replace what is there"),
        ],
        body: Body::Fields,
        ..other("POST", &["v1", "fs", "move"], "/v1/fs/move", "Move an entry")
    },
    Endpoint {
        parameters: &[
            PATH_OR_WORKSPACE,
            header(
                "Content-Encoding",
                "content-encoding",
                "How the archive is packed for the way: gzip or zstd",
            ),
        ],
        body: Body::Bytes(ARCHIVES),
        ..other(
            "POST",
            &["v1", "fs", "upload-batch"],
            "/v1/fs/upload-batch",
            "Unpack an archive into a directory",
        )
    },
    Endpoint {
        parameters: &[PATH_OR_WORKSPACE, query(Optional, "format", "format", "tar, tar.gz or tar.zst")],
        answer: Answer::Bytes,
        ..get(&["v1", "fs", "download-batch"], "/v1/fs/download-batch", "A directory as an archive")
    },
    Endpoint {
        parameters: &[
            PATH_OR_WORKSPACE,
            query(Truth, "recursive", "recursive", "With all below it: true or false"),
        ],
        answer: Answer::Events,
        ..get(&["v1", "fs", "watch"], "/v1/fs/watch", "What changes in a directory, as it comes")
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::super::endpoint::{Place, Shape};
    use super::*;

    /// Method, path, and parameters as name, place and whether it must be there.
    type Described = (String, String, BTreeSet<(String, String, bool)>);

    fn documented() -> Vec<Described> {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
        let document: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let mut found = Vec::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let responses = operation["responses"].as_object().unwrap();
                if !responses.keys().any(|status| status.starts_with(['2', '3'])) {
                    // Removed: nothing to call.
                    assert!(responses.contains_key("410"), "{method} {path}");
                    continue;
                }
                let listed = operation["parameters"].as_array().into_iter().flatten();
                let parameters = listed.map(|parameter| {
                    let word = |name: &str| parameter[name].as_str().unwrap().to_owned();
                    (word("name"), word("in"), parameter["required"] == true)
                });
                found.push((method.to_uppercase(), path.clone(), parameters.collect()));
            }
        }
        found.sort();
        found
    }

    fn commanded() -> Vec<Described> {
        let mut found: Vec<Described> = Vec::new();
        for endpoint in ENDPOINTS {
            let parameters = endpoint.parameters.iter().filter_map(|parameter| {
                let place = match parameter.place {
                    Place::Path => "path",
                    Place::Query => "query",
                    Place::Header => "header",
                    Place::Field => return None,
                };
                Some((parameter.name.to_owned(), place.to_owned(), parameter.shape == Shape::Required))
            });
            let key = (endpoint.method.to_owned(), endpoint.path.to_owned());
            // An endpoint with two kinds of answer has two commands.
            match found.iter_mut().find(|(method, path, _)| (method, path) == (&key.0, &key.1)) {
                Some((_, _, known)) => known.extend(parameters),
                None => found.push((key.0, key.1, parameters.collect())),
            }
        }
        found.sort();
        found
    }

    #[test]
    fn there_is_a_command_for_every_endpoint_with_every_parameter_and_no_other() {
        let (documented, commanded) = (documented(), commanded());
        for endpoint in &documented {
            assert!(commanded.contains(endpoint), "no command does {endpoint:?}");
        }
        assert_eq!(commanded, documented);
    }

    #[test]
    fn every_group_of_commands_says_what_it_is() {
        for endpoint in ENDPOINTS {
            for length in 1..endpoint.words.len() {
                let group = &endpoint.words[..length];
                assert!(GROUPS.iter().any(|(words, _)| *words == group), "{group:?}");
            }
        }
    }
}
