//! How the API document describes this crate's endpoints: the operations and the data of the events.
//!
//! Nothing in here runs in a server; see `http_server::document`. The server writes messages and events as
//! text and does not use these types, so a test compares the types with what the server sends.

#![allow(dead_code, reason = "shapes to be described, never values")]

use http_server::document::event_of;
use serde::Serialize;
use serde_json::Value;
use utoipa::openapi::schema::{AnyOfBuilder, ObjectBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{OpenApi, PartialSchema, ToSchema};

use crate::wire::{ExitReport, InstanceList, WireInstance};

/// The operations of this crate.
#[derive(Debug, OpenApi)]
#[openapi(
    paths(
        crate::http::list::list,
        crate::http::get::stream,
        crate::http::post::post,
        crate::http::delete::delete
    ),
    components(schemas(
        crate::http::PathId,
        JsonRpcMessage,
        JsonRpcCall,
        JsonRpcResponse,
        JsonRpcSuccess,
        JsonRpcFailure,
        JsonRpcError,
        JsonRpcVersion,
        JsonRpcId,
        GapEvent,
        UnparsedEvent,
        AnsweredEvent,
        FailedEvent,
        JournalSuspendedEvent,
        JournalResumedEvent,
        ExitReport,
        WireInstance,
        InstanceList,
        InstanceEvent,
        InstanceChange
    ))
)]
pub struct AcpDocument;

/// A JSON-RPC id: a string, a number or null. `1` is not `"1"`.
#[derive(Debug)]
pub(crate) struct JsonRpcId;

impl PartialSchema for JsonRpcId {
    fn schema() -> RefOr<Schema> {
        let kinds = [Type::String, Type::Number, Type::Null];
        let object = ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::SchemaType::from_iter(kinds))
            .description(Some("A JSON-RPC id. `1` is not `\"1\"`."));
        RefOr::T(Schema::Object(object.build()))
    }
}

impl ToSchema for JsonRpcId {}

/// One JSON-RPC 2.0 message, in either direction. The server reads only the envelope and forwards the bytes unchanged.
#[derive(Debug)]
pub(crate) struct JsonRpcMessage;

impl PartialSchema for JsonRpcMessage {
    fn schema() -> RefOr<Schema> {
        let either = AnyOfBuilder::new()
            .item(Ref::from_schema_name("JsonRpcCall"))
            .item(Ref::from_schema_name("JsonRpcResponse"))
            .description(Some(
                "One JSON-RPC 2.0 message, in either direction. The server reads the envelope alone.",
            ));
        RefOr::T(Schema::from(either))
    }
}

impl ToSchema for JsonRpcMessage {}

/// One event of an instance's stream.
#[derive(Debug)]
pub(crate) struct StreamEvent;

impl PartialSchema for StreamEvent {
    fn schema() -> RefOr<Schema> {
        event_of(&[
            ("message", "JsonRpcMessage"),
            ("sent", "JsonRpcMessage"),
            ("gap", "GapEvent"),
            ("unparsed", "UnparsedEvent"),
            ("answered", "AnsweredEvent"),
            ("failed", "FailedEvent"),
            ("exit", "ExitReport"),
            ("journal_suspended", "JournalSuspendedEvent"),
            ("journal_resumed", "JournalResumedEvent"),
        ])
    }
}

impl ToSchema for StreamEvent {}

/// One event of the stream of several instances.
#[derive(Debug)]
pub(crate) struct ManyStreamEvent;

impl PartialSchema for ManyStreamEvent {
    fn schema() -> RefOr<Schema> {
        event_of(&[
            ("instances", "InstanceList"),
            ("opened", "InstanceChange"),
            ("closed", "InstanceChange"),
            ("gap", "GapEvent"),
            ("message", "InstanceEvent"),
            ("sent", "InstanceEvent"),
            ("unparsed", "InstanceEvent"),
            ("answered", "InstanceEvent"),
            ("failed", "InstanceEvent"),
            ("exit", "InstanceEvent"),
            ("journal_suspended", "InstanceEvent"),
            ("journal_resumed", "InstanceEvent"),
        ])
    }
}

impl ToSchema for ManyStreamEvent {}

/// The version of JSON-RPC.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) enum JsonRpcVersion {
    /// The only supported version.
    #[serde(rename = "2.0")]
    Two,
}

/// A request if it has an `id`, otherwise a notification.
#[derive(Debug, ToSchema)]
pub(crate) struct JsonRpcCall {
    pub(crate) jsonrpc: JsonRpcVersion,
    /// A message with an id must be answered.
    #[schema(required = false)]
    pub(crate) id: JsonRpcId,
    /// The method to call.
    pub(crate) method: String,
    /// The parameters of the method.
    #[schema(required = false)]
    pub(crate) params: Value,
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct JsonRpcResponse;

impl PartialSchema for JsonRpcResponse {
    fn schema() -> RefOr<Schema> {
        let either = AnyOfBuilder::new()
            .item(Ref::from_schema_name("JsonRpcSuccess"))
            .item(Ref::from_schema_name("JsonRpcFailure"))
            .description(Some("The answer to a request."));
        RefOr::T(Schema::from(either))
    }
}

impl ToSchema for JsonRpcResponse {}

/// An answer with a result.
#[derive(Debug, ToSchema)]
pub(crate) struct JsonRpcSuccess {
    pub(crate) jsonrpc: JsonRpcVersion,
    /// The id of the request.
    pub(crate) id: JsonRpcId,
    /// The result of the request.
    pub(crate) result: Value,
}

/// An answer with an error.
#[derive(Debug, ToSchema)]
pub(crate) struct JsonRpcFailure {
    pub(crate) jsonrpc: JsonRpcVersion,
    /// The id of the request; null if it could not be parsed.
    pub(crate) id: JsonRpcId,
    /// The error.
    pub(crate) error: JsonRpcError,
}

/// Why a request failed, as reported by the agent or the server.
#[derive(Debug, ToSchema)]
pub(crate) struct JsonRpcError {
    /// The error code.
    pub(crate) code: i64,
    /// A short description.
    pub(crate) message: String,
    /// Additional information.
    #[schema(required = false)]
    pub(crate) data: Value,
}

/// `event: journal_suspended`: the journal cannot be written, so later events are lost if the server dies.
#[derive(Debug, ToSchema)]
pub(crate) struct JournalSuspendedEvent {
    /// Why the journal cannot be written.
    pub(crate) reason: String,
}

/// `event: journal_resumed`: the journal is written again.
#[derive(Debug, ToSchema)]
pub(crate) struct JournalResumedEvent {}

/// `event: gap`: messages that this reader should have received are no longer stored.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GapEvent {
    /// The instance; only on the stream of several instances.
    #[schema(required = false, nullable = false)]
    pub(crate) server_id: Option<String>,
    /// The number of the last event before the gap.
    pub(crate) after: u64,
    /// The number of the first event after the gap; 0 if there is none yet.
    pub(crate) next: u64,
}

/// `event: unparsed`: a line from the agent that is not a JSON-RPC message.
#[derive(Debug, ToSchema)]
pub(crate) struct UnparsedEvent {
    /// The first 200 characters of the line.
    pub(crate) line: String,
    /// Why the line is not a message.
    pub(crate) error: String,
    /// The length of the line in bytes.
    pub(crate) bytes: u64,
}

/// `event: answered`: a client answered an agent request.
#[derive(Debug, ToSchema)]
pub(crate) struct AnsweredEvent {
    /// The id of the agent request.
    pub(crate) id: JsonRpcId,
    /// The number of the event with the request.
    pub(crate) event: u64,
}

/// `event: failed`: a request whose client does not wait for the answer will get none.
#[derive(Debug, ToSchema)]
pub(crate) struct FailedEvent {
    /// The id of the request.
    pub(crate) id: JsonRpcId,
    /// The reason.
    #[schema(value_type = http_server::Problem)]
    pub(crate) problem: http_server::Problem,
}

/// An event of one instance, on the stream of several instances.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InstanceEvent {
    /// The instance.
    pub(crate) server_id: String,
    /// The number of the event on the instance's own stream, if it has one.
    #[schema(required = false, nullable = false)]
    pub(crate) event: Option<u64>,
    /// When the event happened, in milliseconds since 1970. Missing for a retained request.
    #[schema(required = false, nullable = false)]
    pub(crate) at_ms: Option<u64>,
    /// The data of the event on the instance's own stream.
    pub(crate) data: Value,
}

/// `event: opened` and `event: closed`, on the stream of several instances.
#[derive(Debug, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InstanceChange {
    /// The instance.
    pub(crate) server_id: String,
    /// The agent of the instance.
    pub(crate) agent: String,
}
