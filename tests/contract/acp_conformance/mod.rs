//! The mock agent through the server, with every message checked against the protocol's own schema.

mod conversation;
mod prompts;
mod schema;
mod sessions;
