//! The file service against a real file system: one binary, one module an operation.

// What is expected here is what the tests assert; a panic is the report.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod archive_attacks;
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

/// In a mount namespace of their own, so these are in `make test-builds`.
mod privileged {
    mod devices;
}
