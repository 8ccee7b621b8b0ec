//! The mock agent through the bridge, every message checked against the protocol's own schema.

mod conversation;
mod prompts;
mod schema;
mod sessions;
