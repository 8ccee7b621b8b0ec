//! The first request of a process that got a result.
//!
//! ACP's first request is `initialize`, and a process can be initialised once. A door that connects several clients to
//! one process answers the later ones with the first one's result. The engine reads no methods: it retains the first
//! exchange, whatever that was.

use bytes::Bytes;

use crate::client_requests::{ClientRequest, ClientRequests};
use crate::summary::FirstExchange;

/// Longer messages are not retained.
const MAX_BYTES: usize = 1 << 20;

/// What is retained of the present process.
#[derive(Debug, Default)]
pub(crate) enum FirstExchangeState {
    /// No request has got a result. Waiting requests keep their message, so many bytes together.
    #[default]
    Open,
    Answered {
        request: Bytes,
        response: Bytes,
    },
    NotRetained,
}

impl FirstExchangeState {
    /// A request goes to the agent. Its message is kept while it may become the first exchange.
    pub(crate) fn on_request(&self, request: &mut ClientRequest, line: &Bytes) {
        if matches!(self, Self::Open) && line.len() <= MAX_BYTES {
            request.line = Some(line.clone());
        }
    }

    /// The agent answered a request.
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

    /// What it takes of the memory account.
    pub(crate) const fn bytes(&self) -> usize {
        match self {
            Self::Answered { request, response } => request.len() + response.len(),
            Self::Open | Self::NotRetained => 0,
        }
    }
}
