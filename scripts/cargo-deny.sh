#!/bin/sh
# Runs cargo-deny, and installs it first if it is missing.
set -eu
# Not optimized: it runs for a second, and optimizing it takes minutes.
cargo deny --version >/dev/null 2>&1 || cargo install --locked --debug cargo-deny
exec cargo deny "$@"
