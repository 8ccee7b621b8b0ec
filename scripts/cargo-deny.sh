#!/bin/sh
# Runs cargo-deny, and installs it first if it is missing.
set -eu
# Installed without optimization: the program runs for a second, but optimizing it would take minutes.
cargo deny --version >/dev/null 2>&1 || cargo install --locked --debug cargo-deny
exec cargo deny "$@"
