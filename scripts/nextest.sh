#!/bin/sh
# Runs cargo-nextest, and installs it first if it is missing.
set -eu
cargo nextest --version >/dev/null 2>&1 || cargo install --locked cargo-nextest
exec cargo nextest "$@"
