//! The product as it is packaged: alone in an empty root, first process of a container, under systemd, behind nginx,
//! and with the papers it travels with.
//!
//! `SANDBOX_AGENT_PACKAGED` names a folder with a static `sandbox-agent` and `fault-agent` to be tested; `make
//! test-dist` does that. Without it the binaries of the ordinary build are taken, each with the libraries it loads.

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

mod blocks;
mod image;
mod kubernetes;
mod nginx;
mod page;
mod papers;
mod systemd;

/// In namespaces of their own, so these are in `make test-builds`.
mod privileged {
    mod bare_root;
    mod first_process;
    mod image;
    mod root;
}
