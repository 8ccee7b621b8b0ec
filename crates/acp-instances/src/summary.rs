//! Instances as lists show them.

use crate::caller::Subject;
use crate::exit::ExitRecord;
use crate::request_id::RequestId;
use crate::server_id::ServerId;

/// How far an instance is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstanceStatus {
    /// Its agent is being installed or started.
    Starting,
    /// Its agent runs.
    Running,
    /// Its agent is being ended.
    Closing,
    /// Its agent has ended; its log can still be read.
    Exited,
}

/// One instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The id that a client chose.
    pub server_id: ServerId,
    /// The agent that it is bound to.
    pub agent: String,
    /// How far it is.
    pub status: InstanceStatus,
    /// The agent's process id while it runs, where the process is on this machine.
    pub pid: Option<u32>,
    /// When the instance was created, in milliseconds since 1970.
    pub created_at_ms: u64,
    /// When a message last passed, in milliseconds since 1970.
    pub last_activity_ms: u64,
    /// The sequence number of the newest event; 0 when there is none.
    pub last_sequence: u64,
    /// How many requests of clients wait for the agent.
    pub client_requests: usize,
    /// The agent's own unanswered requests, oldest first.
    pub agent_requests: Vec<AgentRequest>,
    /// How many subscriptions read its messages, where that is known.
    pub readers: Option<usize>,
    /// How its process ended.
    pub exit: Option<ExitRecord>,
    /// Who created it.
    pub created_by: Option<Subject>,
}

/// An unanswered request of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRequest {
    /// Its JSON-RPC id.
    pub id: RequestId,
    /// The sequence number of the event that it is.
    pub sequence: u64,
}

/// Which instances to list.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Only these, where some are named.
    pub only: Option<Vec<ServerId>>,
    /// Start behind this id.
    pub after: Option<ServerId>,
    /// At most so many; 0 is as many as the implementation gives at once.
    pub limit: usize,
}

/// Some instances, in order of id.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// The instances.
    pub instances: Vec<Summary>,
    /// Where the next page starts, when there is one.
    pub next: Option<ServerId>,
}

/// The first client request of a process that got a result, and that result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirstExchange {
    /// No request has got a result.
    None {
        /// True while a request waits that may still get one.
        is_open: bool,
    },
    /// Both messages in their own bytes.
    Answered {
        /// The request.
        request: bytes::Bytes,
        /// The response.
        response: bytes::Bytes,
    },
    /// Either message was too large to be retained.
    NotRetained,
}
