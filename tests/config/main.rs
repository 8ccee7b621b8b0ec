//! `/v1/config`, tested against the built binary over real HTTP.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should panic")]

mod durability;
mod entries;
mod locks;
mod validation;
