//! The command line as its users see it: the built binary, real servers, real processes, real terminals.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should panic")]

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
