//! The product as it is packaged: alone in an empty root, first process of a container, under systemd, behind nginx,
//! and with the papers it travels with.
//!
//! `make test-dist` runs this against the static binary. Without it, the binaries of the ordinary build are tested, each
//! with the libraries it loads.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should panic")]

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
