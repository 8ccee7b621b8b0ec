#!/bin/sh
# Runs cargo-deny, installing it first on a machine that does not have it.
set -eu
cargo deny --version >/dev/null 2>&1 || cargo install --locked cargo-deny
exec cargo deny "$@"
