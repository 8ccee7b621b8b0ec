//! `/v1/fs`, shown against the built binary over real HTTP: one module an endpoint or a promise.

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
mod watching;
mod writing;

/// In a mount namespace of their own, so these are in `make test-builds`.
mod privileged {
    mod full_disk;
}
