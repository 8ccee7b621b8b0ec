//! The command line, shown as its user meets it: the built binary, real servers, real processes, real terminals.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should panic")]

#[allow(
    dead_code,
    unused_imports,
    clippy::all,
    clippy::needless_pass_by_value,
    reason = "shared with the contract suite, which uses more of it and is where it is judged"
)]
#[path = "../contract/harness/mod.rs"]
mod harness;

mod support;

mod acp;
mod api;
mod config;
mod files;
mod folders;
mod prompt;
mod prompt_connection;
mod prompt_endings;
mod prompt_permissions;
mod prompt_terminal;
mod shell;
