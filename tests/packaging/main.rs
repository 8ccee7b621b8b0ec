//! The packaged product: alone in an empty root, as process 1 of a container, under systemd, behind nginx, and
//! with its licence texts and component lists.
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

/// These tests need namespaces of their own, so they run in `make test-builds`.
mod privileged {
    mod bare_root;
    mod first_process;
    mod image;
    mod root;
}
