//! The first client request of a process that got a result, and that result.
//!
//! ACP's first request is `initialize`, and a process can be initialised only once. A door (a transport) that
//! connects several clients to one process answers the later clients with the first one's result. The engine
//! does not look at methods: it retains the first exchange, whatever its method was.

use bytes::Bytes;

use crate::client_requests::{ClientRequest, ClientRequests};
use crate::summary::FirstExchange;

/// Longer messages are not retained.
const MAX_BYTES: usize = 1 << 20;

/// The first exchange of the current process.
#[derive(Debug, Default)]
pub(crate) enum FirstExchangeState {
    /// No request has got a result yet. The waiting requests keep their messages, up to a total number of
    /// bytes.
    #[default]
    Open,
    Answered {
        request: Bytes,
        response: Bytes,
    },
    NotRetained,
}

impl FirstExchangeState {
    /// Called when a request goes to the agent: keeps its message while it may become the first exchange.
    pub(crate) fn on_request(&self, request: &mut ClientRequest, line: &Bytes) {
        if matches!(self, Self::Open) && line.len() <= MAX_BYTES {
            request.line = Some(line.clone());
        }
    }

    /// Called when the agent has answered a request.
    pub(crate) fn on_response(&mut self, request: &ClientRequest, response: &Bytes, is_error: bool) {
        if !matches!(self, Self::Open) || is_error {
            return;
        }
        *self = match &request.line {
            Some(line) if response.len() <= MAX_BYTES => Self::Answered {
                request: Bytes::copy_from_slice(line.strip_suffix(b"\n").unwrap_or(line)),
                response: Bytes::copy_from_slice(response),
            },
            _ => Self::NotRetained,
        };
    }

    /// True once no waiting request needs to keep its message.
    pub(crate) const fn is_decided(&self) -> bool {
        !matches!(self, Self::Open)
    }

    pub(crate) fn describe(&self, requests: &ClientRequests) -> FirstExchange {
        match self {
            Self::Open => FirstExchange::None { is_open: !requests.is_empty() },
            Self::Answered { request, response } => {
                FirstExchange::Answered { request: request.clone(), response: response.clone() }
            }
            Self::NotRetained => FirstExchange::NotRetained,
        }
    }

    /// How many bytes of the memory account the exchange takes.
    pub(crate) const fn bytes(&self) -> usize {
        match self {
            Self::Answered { request, response } => request.len() + response.len(),
            Self::Open | Self::NotRetained => 0,
        }
    }
}
