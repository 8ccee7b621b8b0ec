//! The data that lists of instances contain.

use crate::caller::Subject;
use crate::exit::ExitRecord;
use crate::request_id::RequestId;
use crate::server_id::ServerId;

/// The status of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstanceStatus {
    /// The agent is being installed or started.
    Starting,
    /// The agent runs.
    Running,
    /// The agent is being ended.
    Closing,
    /// The agent has ended; its log can still be read.
    Exited,
    /// The instance was closed; the journal still has its history.
    Closed,
}

/// One instance in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The id that a client chose.
    pub server_id: ServerId,
    /// The agent that it is bound to.
    pub agent: String,
    /// The status of the instance.
    pub status: InstanceStatus,
    /// The process id of the agent while it runs, if the process is on this machine.
    pub pid: Option<u32>,
    /// When the instance was created, in milliseconds since the Unix epoch.
    pub created_at_ms: u64,
    /// When a message was last sent or received, in milliseconds since the Unix epoch.
    pub last_activity_ms: u64,
    /// The sequence number of the newest event; 0 if there is none.
    pub last_sequence: u64,
    /// How many client requests wait for the agent's answer.
    pub client_requests: usize,
    /// The agent's unanswered requests, oldest first.
    pub agent_requests: Vec<AgentRequest>,
    /// How many subscriptions read the messages, if known.
    pub readers: Option<usize>,
    /// How the process ended, if it has.
    pub exit: Option<ExitRecord>,
    /// The authenticated name of the client that created the instance.
    pub created_by: Option<Subject>,
}

/// An unanswered agent request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRequest {
    /// The request's JSON-RPC id.
    pub id: RequestId,
    /// The sequence number of the event that carried the request.
    pub sequence: u64,
}

/// Which instances to list.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// List only these instances, if set.
    pub only: Option<Vec<ServerId>>,
    /// Start after this id.
    pub after: Option<ServerId>,
    /// Also list closed instances whose history the journal has.
    pub with_past: bool,
    /// The most instances to return; 0 means the maximum of the implementation.
    pub limit: usize,
}

/// Some instances, ordered by id.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// The instances.
    pub instances: Vec<Summary>,
    /// The id after which the next page starts; `None` if this page is the last.
    pub next: Option<ServerId>,
}

/// The first client request of a process that got a result, and that result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirstExchange {
    /// No request has got a result.
    None {
        /// True if a waiting request may still get one.
        is_open: bool,
    },
    /// Both messages, in their original bytes.
    Answered {
        /// The request.
        request: bytes::Bytes,
        /// The response.
        response: bytes::Bytes,
    },
    /// At least one of the two messages was too large to be retained.
    NotRetained,
}
