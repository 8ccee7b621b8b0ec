//! A second implementation of [`acp_instances::Instances`]: remote, over a channel.
//!
//! It shows that a door (a transport such as HTTP) needs nothing but the trait. A door holds the near side,
//! [`RemoteInstances`]: a sender of commands and its own memory account. The far side, [`FarSide`], owns the
//! engine that runs the processes. The binary `remote-server` is the whole product with this pair between its
//! doors and its engine, and the contract suite runs against it: see `contract.sh`.
//!
//! No memory is shared. The bytes of messages, answers and events are copied, and charged to the account of the
//! side that holds them. Names, numbers and errors are passed as values.
//!
//! It is not a transport: there is no encoding, and the two sides are tasks of one process.

mod command;
mod far;
mod near;
mod streams;
mod wire;

#[cfg(test)]
mod tests;

pub use far::FarSide;
pub use near::RemoteInstances;
