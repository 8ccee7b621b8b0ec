#!/bin/sh
# Runs cargo-nextest, and installs it first if it is missing.
set -eu
# Installed without optimization, debug information and its own updates: it only waits for tests, and building all of that
# would take minutes.
cargo nextest --version >/dev/null 2>&1 ||
    CARGO_PROFILE_DEV_DEBUG=0 cargo install --locked --debug --no-default-features --features default-no-update cargo-nextest
exec cargo nextest "$@"
