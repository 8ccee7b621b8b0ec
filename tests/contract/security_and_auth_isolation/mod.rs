//! Section 3 of the contract: which clients may use the server, and which secrets agents must not learn.

mod cors;
mod exposure;
mod secrets;
mod settings;
mod token;
