#!/bin/sh
# Runs cargo-deny, and installs it first if it is missing.
set -eu
# Installed without optimization and debug information: the program runs for a second, but either would take much longer to
# build.
cargo deny --version >/dev/null 2>&1 || CARGO_PROFILE_DEV_DEBUG=0 cargo install --locked --debug cargo-deny
exec cargo deny "$@"
