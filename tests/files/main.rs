//! `/v1/fs`, tested against the built binary over real HTTP, with one module per endpoint or guarantee.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should panic")]

mod access;
mod archive_attacks;
mod archives;
mod changing;
mod confinement;
mod cut_off;
mod listing;
mod memory;
mod preconditions;
mod reading;
mod settings;
mod system_limits;
mod unread;
mod watching;
mod writing;

/// These tests need mount namespaces of their own, so they run in `make test-builds`.
mod privileged {
    mod full_disk;
}
