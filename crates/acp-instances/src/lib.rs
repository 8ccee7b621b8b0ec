//! The engine of the server: agent processes, their messages and their logs, without HTTP.
//!
//! An **instance** is one ACP agent process under a name that a client chose. A message travels in one
//! direction:
//!
//! ```text
//! client's bytes -> envelope -> instance -> queue -> stdin     (message, instance::enqueue, instance::stdin)
//! stdout -> envelope -> log -> subscriptions                   (instance::stdout, event_log, local::subscribe)
//! ```
//!
//! The bytes of a message are never rebuilt; only the JSON-RPC envelope is read. This crate knows nothing of
//! particular agents, files or configuration: a [`Launcher`] says what to start. It knows nothing of HTTP
//! either: a **door** (a transport such as HTTP) holds an `Arc<dyn Instances>`, turns its own requests into
//! calls, and turns each [`Error`] into its own kind of answer.
//!
//! `examples/embed.rs` is a complete program that does the same as this example:
//!
//! ```no_run
//! use std::sync::Arc;
//! use acp_instances::{
//!     Answer, BoxFuture, Caller, From, Instances, Launcher, Limits, LocalInstances, Message, MessageCursor, Prepared,
//!     SendRequest, ServerId, StartFailure, Subscribe,
//! };
//! use event_log::Reservation;
//! use process_supervisor::LaunchSpec;
//!
//! struct Goose;
//!
//! impl Launcher for Goose {
//!     fn resolve<'a>(&'a self, agent: &'a str, _: &'a Caller) -> BoxFuture<'a, Result<String, StartFailure>> {
//!         Box::pin(async move { Ok(agent.to_owned()) })
//!     }
//!
//!     fn prepare<'a>(&'a self, _agent: &'a str) -> BoxFuture<'a, Result<Prepared, StartFailure>> {
//!         let spec = LaunchSpec {
//!             program: "goose".into(),
//!             arguments: vec!["acp".into()],
//!             environment: std::env::vars_os().collect(),
//!             directory: None,
//!         };
//!         Box::pin(async { Ok(Prepared::without_lease(spec)) })
//!     }
//! }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let instances: Arc<dyn Instances> = Arc::new(LocalInstances::new(Limits::default(), Arc::new(Goose)));
//! let id = ServerId::parse("demo")?;
//!
//! // Reserve memory before the message is parsed.
//! let text = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
//! let mut memory = Reservation::empty(instances.memory());
//! instances.reserve(&mut memory, text.len())?;
//! let message = Message::parse(text.into(), memory)?;
//! let request = SendRequest { agent: Some("goose".into()), ..SendRequest::new(id.clone(), message) };
//! let receipt = instances.send(request).await?;
//! if let Answer::Response(bytes) = receipt.outcome.await? {
//!     println!("{}", String::from_utf8_lossy(&bytes));
//! }
//!
//! // The log has everything that the agent sent.
//! let from = From::Messages(MessageCursor::Oldest);
//! let subscription = instances.subscribe(&id, Subscribe { from, only_answers_to: None }).await?;
//! # drop(subscription);
//! instances.close(&id).await?;
//! # Ok(())
//! # }
//! ```

mod agent_requests;
mod caller;
mod client_requests;
mod clock;
mod cursor;
mod envelope;
mod error;
mod event;
mod exit;
mod first_exchange;
#[cfg(fuzzing)]
pub mod fuzzing;
mod id_map;
mod idempotency;
mod instance;
mod instances;
mod launcher;
mod limits;
mod local;
mod message;
mod request_id;
mod server_id;
mod subscription;
mod summary;

pub use caller::{Asker, Caller, Subject};
pub use cursor::{InvalidCursor, JournalCursor, MessageCursor};
pub use envelope::{Envelope, EnvelopeError, MessageKind};
pub use error::{Error, StartFailure, StartStep};
pub use event::{Event, EventKind, FailedRequest, events};
pub use exit::{ExitCause, ExitRecord};
pub use idempotency::IdempotencyKey;
pub use instances::{CreateSpec, Instances, Shutdown, Watch, Watched};
pub use launcher::{BoxFuture, Launcher, Prepared};
pub use limits::Limits;
pub use local::LocalInstances;
pub use message::{Answer, Delivery, IdPolicy, Message, Outcome, Receipt, SendRequest, Sending, Settled};
pub use request_id::RequestId;
pub use server_id::{InvalidServerId, ServerId};
pub use subscription::{
    ChangeKind, From, InstanceChange, Selection, Subscribe, SubscribeAll, Subscription, Update,
};
pub use summary::{AgentRequest, FirstExchange, InstanceStatus, Listing, Page, Summary};

/// Compiles the examples in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
