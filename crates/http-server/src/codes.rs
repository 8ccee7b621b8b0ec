//! The closed list of error codes.
//!
//! The status and the title of a code never change: clients match on the code, people read the title, and the
//! problem's `detail` says what happened and what to do about it. A code that is not listed here cannot be sent.
//! `docs/errors.md` is generated from this file.

use http::StatusCode;

macro_rules! codes {
    ($($(#[doc = $meaning:literal])+ $name:ident = $text:literal, $status:ident, $title:literal;)+) => {
        /// Why a request failed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[doc = $meaning])+ $name,)+ }

        impl Code {
            /// All codes.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The code as it appears in `type`, after `urn:sandbox-agent:error:`.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// The HTTP status of this code.
            #[must_use]
            pub const fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status,)+ }
            }

            /// The short title, which is always the same for this code.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)+ }
            }

            /// When this error happens and what to do about it.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($meaning),+),)+ }
            }
        }
    };
}

codes! {
    /// The server id in the path is not 1 to 128 characters of `A-Z a-z 0-9 . _ ~ -`, starting with a letter or digit.
    InvalidServerId = "invalid_server_id", BAD_REQUEST, "Invalid server id";
    /// The body is not JSON encoded in UTF-8.
    InvalidJson = "invalid_json", BAD_REQUEST, "Body is not JSON";
    /// The body is JSON but not a single JSON-RPC 2.0 object.
    InvalidEnvelope = "invalid_envelope", BAD_REQUEST, "Not a JSON-RPC 2.0 message";
    /// A query parameter is missing or malformed; `parameter` names it.
    InvalidParameter = "invalid_parameter", BAD_REQUEST, "Invalid query parameter";
    /// A header is malformed; `header` names it.
    InvalidHeader = "invalid_header", BAD_REQUEST, "Invalid header";
    /// `Last-Event-ID` is not a cursor that this stream ever sent.
    InvalidCursor = "invalid_cursor", BAD_REQUEST, "Invalid cursor";
    /// The first POST to a server id must name an agent with `?agent=`.
    AgentRequired = "agent_required", BAD_REQUEST, "Agent required";
    /// No agent with this name is known.
    UnknownAgent = "unknown_agent", BAD_REQUEST, "Unknown agent";
    /// The agent has no such version, or not in the requested form.
    VersionUnavailable = "version_unavailable", BAD_REQUEST, "Version not available";
    /// The server requires a token and the request does not have it.
    Unauthorized = "unauthorized", UNAUTHORIZED, "Unauthorized";
    /// Without a token the server only answers requests to loopback host names.
    ForbiddenHost = "forbidden_host", FORBIDDEN, "Host not allowed";
    /// Without a token the server only answers pages of its own origin.
    ForbiddenOrigin = "forbidden_origin", FORBIDDEN, "Origin not allowed";
    /// Nothing is served at this path.
    NotFound = "not_found", NOT_FOUND, "Not found";
    /// No instance has this server id.
    UnknownServer = "unknown_server", NOT_FOUND, "Unknown server id";
    /// The path does not support this method; `Allow` lists the methods that it supports.
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED, "Method not allowed";
    /// The `Accept` header excludes the only content type that this endpoint sends.
    NotAcceptable = "not_acceptable", NOT_ACCEPTABLE, "Not acceptable";
    /// The server id is bound to another agent.
    AgentMismatch = "agent_mismatch", CONFLICT, "Server id is bound to another agent";
    /// A request with this JSON-RPC id is still waiting for its answer.
    DuplicateRequestId = "duplicate_request_id", CONFLICT, "Request id is taken";
    /// Another client already answered this agent request.
    AlreadyAnswered = "already_answered", CONFLICT, "Already answered";
    /// The instance is being closed.
    InstanceClosing = "instance_closing", CONFLICT, "Instance is closing";
    /// Lazy installation is off and the agent is not installed.
    AgentNotInstalled = "agent_not_installed", CONFLICT, "Agent is not installed";
    /// The endpoint was removed; the detail names its replacement.
    Removed = "removed", GONE, "Removed";
    /// The answer for this idempotency key was delivered before and is no longer stored.
    OutcomeGone = "outcome_gone", GONE, "Outcome no longer held";
    /// A precondition (`If-Match`, `If-None-Match`) failed.
    PreconditionFailed = "precondition_failed", PRECONDITION_FAILED, "Precondition failed";
    /// The path and the headers of the request are too long together; `limit` is the maximum.
    HeadTooLarge = "head_too_large", REQUEST_HEADER_FIELDS_TOO_LARGE, "Request head too large";
    /// The body is larger than this endpoint accepts; `limit` is the maximum.
    PayloadTooLarge = "payload_too_large", PAYLOAD_TOO_LARGE, "Body too large";
    /// An archive has more entries than `--max-upload-entries`.
    TooManyEntries = "too_many_entries", PAYLOAD_TOO_LARGE, "Too many entries";
    /// This endpoint does not accept the content type of the body.
    UnsupportedMediaType = "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE, "Unsupported content type";
    /// The requested range is outside the file.
    RangeNotSatisfiable = "range_not_satisfiable", RANGE_NOT_SATISFIABLE, "Range not satisfiable";
    /// The idempotency key was already used with a different body.
    IdempotencyKeyReused = "idempotency_key_reused", UNPROCESSABLE_ENTITY, "Idempotency key was used for another message";
    /// Too many requests to this instance are waiting for an answer.
    TooManyPending = "too_many_pending", TOO_MANY_REQUESTS, "Too many waiting requests";
    /// The number of running instances has reached `--max-instances`.
    TooManyInstances = "too_many_instances", TOO_MANY_REQUESTS, "Too many instances";
    /// The server failed unexpectedly; its log has the details.
    Internal = "internal", INTERNAL_SERVER_ERROR, "Internal error";
    /// The agent's process has ended; `exitCode` or `signal`, and `stderrTail`, say how, or `reason` is `server_died`.
    AgentExited = "agent_exited", BAD_GATEWAY, "Agent exited";
    /// The agent could not be started.
    SpawnFailed = "spawn_failed", BAD_GATEWAY, "Agent could not be started";
    /// The agent no longer reads its standard input.
    WriteFailed = "write_failed", BAD_GATEWAY, "Agent does not take input";
    /// The agent could not be installed.
    InstallFailed = "install_failed", BAD_GATEWAY, "Agent could not be installed";
    /// A runtime that the agent needs is missing and cannot be installed.
    RuntimeMissing = "runtime_missing", BAD_GATEWAY, "Runtime missing";
    /// The instance was closed while the request was waiting.
    InstanceClosed = "instance_closed", BAD_GATEWAY, "Instance closed";
    /// The agent's input queue has been full for ten seconds.
    AgentNotReading = "agent_not_reading", SERVICE_UNAVAILABLE, "Agent is not reading";
    /// The memory of all instances together has reached `--memory-budget`.
    MemoryBudgetExhausted = "memory_budget_exhausted", SERVICE_UNAVAILABLE, "Memory budget exhausted";
    /// The server is shutting down.
    ServerStopping = "server_stopping", SERVICE_UNAVAILABLE, "Server is stopping";
    /// The instance cannot be reached right now. Try again after `Retry-After`.
    Unavailable = "unavailable", SERVICE_UNAVAILABLE, "Temporarily unavailable";
    /// The agent did not answer in time. The answer, if it still comes, is on the stream.
    RequestTimeout = "request_timeout", GATEWAY_TIMEOUT, "No answer in time";
    /// Processes of a closed instance survive SIGKILL; `pids` lists them. The instance stays `closing` until they end.
    StillRunning = "still_running", GATEWAY_TIMEOUT, "Processes still running";
    /// There is no such file or directory.
    FileNotFound = "file_not_found", NOT_FOUND, "No such file or directory";
    /// The path names another kind of file than this operation needs.
    WrongKind = "wrong_kind", CONFLICT, "Wrong kind of file";
    /// Something already exists at the target path.
    AlreadyExists = "already_exists", CONFLICT, "Already exists";
    /// The directory is not empty and `recursive` is not set.
    NotEmpty = "not_empty", CONFLICT, "Directory not empty";
    /// The operating system denies the operation, or the path leaves `--fs-root`.
    PermissionDenied = "permission_denied", FORBIDDEN, "Permission denied";
    /// The path is empty, too long, or contains a character that is not allowed in paths.
    InvalidPath = "invalid_path", BAD_REQUEST, "Invalid path";
    /// A directory cannot be moved into its own subtree.
    MoveIntoItself = "move_into_itself", BAD_REQUEST, "Move into itself";
    /// An archive entry is unsafe or unreadable; `entry` names it. Nothing was unpacked.
    ArchiveRejected = "archive_rejected", BAD_REQUEST, "Archive rejected";
    /// The device is full.
    NoSpace = "no_space", INSUFFICIENT_STORAGE, "No space left";
    /// The entry was changed by someone else during the operation. Nothing was lost: check it and retry.
    ChangedMeanwhile = "changed_meanwhile", CONFLICT, "Changed meanwhile";
    /// The system is using the entry: it is a mount point or a running program.
    Busy = "busy", CONFLICT, "In use";
    /// The body ended before it was complete. Nothing was stored: send it again.
    IncompleteBody = "incomplete_body", BAD_REQUEST, "Body ended early";
    /// A field of the JSON body is missing or wrong; `field` names it.
    InvalidField = "invalid_field", BAD_REQUEST, "Invalid field";
    /// The system's limit on watches, open files or threads is reached. Close some, or raise the limit.
    OutOfResources = "out_of_resources", SERVICE_UNAVAILABLE, "Out of resources";
    /// A configuration entry is not valid; `field` names what is wrong with it.
    InvalidConfig = "invalid_config", BAD_REQUEST, "Invalid configuration entry";
    /// Another process has locked the stored configuration of this directory. Try again after `Retry-After`.
    ConfigLocked = "config_locked", SERVICE_UNAVAILABLE, "Configuration is locked";
    /// No configuration entry with this name is stored for this directory.
    ConfigNotFound = "config_not_found", NOT_FOUND, "No such configuration entry";
    /// The catalog has no agent with this name.
    AgentNotFound = "agent_not_found", NOT_FOUND, "No such agent";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_a_distinct_error_with_snake_case_text() {
        let mut seen = std::collections::HashSet::new();
        for code in Code::ALL {
            assert!(seen.insert(code.text()), "{} is listed twice", code.text());
            assert!(code.text().chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{}", code.text());
            assert!(code.status().is_client_error() || code.status().is_server_error(), "{}", code.text());
        }
    }
}
