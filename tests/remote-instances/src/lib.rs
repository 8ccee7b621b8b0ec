//! A second implementation of [`acp_instances::Instances`]: remote, over a channel.
//!
//! It proves that a door needs nothing but the trait. The near side, [`RemoteInstances`], is what a door holds: a sender
//! of commands and a memory account of its own. The far side, [`FarSide`], owns the engine that runs the processes. The
//! binary `remote-server` is the whole product with this pair between its doors and its engine, and the contract suite
//! runs against it: see `contract.sh`.
//!
//! Memory does not cross. The bytes of messages, answers and events are copied, and charged to the account of the side
//! that holds them. Names, numbers and errors cross as values.
//!
//! It is no transport: there is no encoding, and the two sides are tasks of one process.

mod command;
mod far;
mod near;
mod streams;
mod wire;

#[cfg(test)]
mod tests;

pub use far::FarSide;
pub use near::RemoteInstances;
