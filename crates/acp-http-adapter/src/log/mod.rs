//! What an instance has said and heard, as far as it is still held.
//!
//! Events are framed once, when they come in, many to one allocation; every reader then sends slices of that
//! same memory. Each reader walks the log with a cursor of its own, so nobody waits for anybody.

mod entry;
mod event_log;
mod frame;
mod ring;

pub(crate) use entry::{Entry, EventKind, Slot};
pub(crate) use event_log::EventLog;
pub(crate) use frame::Framer;
pub(crate) use ring::Ring;
