//! Section 3: who may talk to the server, and what an agent must not learn from it.

mod cors;
mod exposure;
mod secrets;
mod settings;
mod token;
