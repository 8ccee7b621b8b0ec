//! Messages and events of an agent, classified by their envelope. Their content is not parsed here.

use std::fmt;

use serde_json::Value;

use crate::cli::client::Event;

/// A message or an event of an agent.
#[derive(Debug)]
pub(super) enum Incoming {
    /// The answer to a request of this client.
    Answer(u64, Result<Value, RpcError>),
    /// A request of this client that will get no answer, with the problem.
    Failed(u64, Value),
    /// An agent request.
    Request { id: Value, method: String, params: Value },
    /// A notification from the agent.
    Notification { method: String, params: Value },
    /// An agent request was answered, by this or another client.
    Answered(Value),
    /// The agent's process ended.
    Exited(Value),
    /// Some messages were lost.
    Gap,
}

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RpcError {
    pub(super) code: i64,
    pub(super) message: String,
    data: Value,
}

impl RpcError {
    /// The agent requires authentication.
    pub(super) const AUTH_REQUIRED: i64 = -32000;
    /// The session does not exist.
    pub(super) const NOT_FOUND: i64 = -32002;

    /// The answer to a request that this client does not support.
    pub(super) fn unknown_method(method: &str) -> Self {
        Self { code: -32601, message: format!("this client has no method {method}"), data: Value::Null }
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.message, self.code)?;
        match &self.data {
            Value::Null => Ok(()),
            Value::String(text) => write!(formatter, ": {text}"),
            data => write!(formatter, ": {data}"),
        }
    }
}

/// Parses an event; `None` if it does not matter to a prompt.
pub(super) fn read(event: &Event) -> Option<Incoming> {
    let data: Value = serde_json::from_str(&event.data).ok()?;
    match event.name.as_str() {
        "message" => read_message(data),
        "answered" => Some(Incoming::Answered(data["id"].clone())),
        "failed" => Some(Incoming::Failed(data["id"].as_u64()?, data["problem"].clone())),
        "exit" => Some(Incoming::Exited(data)),
        "gap" => Some(Incoming::Gap),
        _ => None,
    }
}

/// Classifies a JSON-RPC message.
pub(super) fn read_message(mut message: Value) -> Option<Incoming> {
    if !message.is_object() {
        return None;
    }
    let id = message.get("id").cloned();
    let params = message["params"].take();
    match (message["method"].as_str(), id) {
        (Some(method), Some(id)) => Some(Incoming::Request { id, method: method.to_owned(), params }),
        (Some(method), None) => Some(Incoming::Notification { method: method.to_owned(), params }),
        (None, id) => {
            let outcome = match message["error"].take() {
                Value::Null => Ok(message["result"].take()),
                mut error => Err(RpcError {
                    code: error["code"].as_i64().unwrap_or_default(),
                    message: error["message"].as_str().unwrap_or("no reason was given").to_owned(),
                    data: error["data"].take(),
                }),
            };
            Some(Incoming::Answer(id?.as_u64()?, outcome))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, data: &str) -> Option<Incoming> {
        read(&Event { name: name.into(), data: data.into(), ..Event::default() })
    }

    #[test]
    fn messages_are_classified_by_their_envelope() {
        assert!(matches!(event("message", r#"{"id":3,"result":{"a":1}}"#), Some(Incoming::Answer(3, Ok(_)))));
        let Some(Incoming::Answer(4, Err(error))) =
            event("message", r#"{"id":4,"error":{"code":-32000,"message":"log in","data":"first"}}"#)
        else {
            panic!("an error response is an answer")
        };
        assert_eq!(error.to_string(), "log in (-32000): first");
        assert!(matches!(event("message", r#"{"id":"x","method":"m"}"#), Some(Incoming::Request { .. })));
        assert!(matches!(event("message", r#"{"method":"m"}"#), Some(Incoming::Notification { .. })));
        assert!(event("message", r#"{"id":null,"error":{"code":1,"message":"?"}}"#).is_none());
        assert!(matches!(event("failed", r#"{"id":1,"problem":{}}"#), Some(Incoming::Failed(1, _))));
        assert!(event("unparsed", r#"{"line":"x"}"#).is_none());
        for invalid in ["no json", "[1]", "null", "7"] {
            assert!(event("message", invalid).is_none(), "{invalid}");
        }
    }
}
