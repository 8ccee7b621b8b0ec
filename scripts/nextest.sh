#!/bin/sh
# Runs cargo-nextest, installing it first on a machine that does not have it.
set -eu
cargo nextest --version >/dev/null 2>&1 || cargo install --locked cargo-nextest
exec cargo nextest "$@"
