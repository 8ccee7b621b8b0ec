//! The file service against a real file system: one test binary with one module per operation.

// Tests report failures by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod archive_attacks;
mod archive_files;
mod archives_in;
mod archives_out;
mod confinement;
mod listing;
mod memory;
mod moving;
mod moving_model;
mod permissions;
mod reading;
mod removing;
mod resolution;
mod support;
mod watching;
mod writing;

/// These tests need mount namespaces of their own, so they run in `make test-builds`.
mod privileged {
    mod devices;
}
