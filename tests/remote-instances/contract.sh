#!/bin/sh
# Runs the contract suite against a server whose instances are behind a channel. Arguments are passed to nextest.
set -eu
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-$PWD/target}
# Builds the whole workspace, as everywhere: building some packages would resolve other features and recompile much.
cargo build --workspace --all-targets
# The suite expects the fault agent next to the product.
folder=$target/remote-instances
mkdir -p "$folder"
ln -f "$target/debug/remote-server" "$folder/sandbox-agent"
ln -f "$target/debug/fault-agent" "$folder/fault-agent"
export SANDBOX_AGENT_BIN="$folder/sandbox-agent"
# Without the tests that compare the memory of the process with the engine's account: here, each side of the channel has an
# account of its own, and copies of the bytes.
exec sh scripts/nextest.sh run --workspace --test contract -E 'not test(/^faults::slow_readers::/)' "$@"
