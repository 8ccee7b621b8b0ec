#!/bin/sh
# Runs the contract suite against the product with its engine behind a channel. Arguments go to nextest.
set -eu
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-$PWD/target}
# All of the workspace, as everywhere: a build of some packages would resolve other features and compile much of it again.
cargo build --workspace --all-targets
# The suite expects the agent that misbehaves beside the product.
folder=$target/remote-instances
mkdir -p "$folder"
ln -f "$target/debug/remote-server" "$folder/sandbox-agent"
ln -f "$target/debug/fault-agent" "$folder/fault-agent"
export SANDBOX_AGENT_BIN="$folder/sandbox-agent"
exec sh scripts/nextest.sh run --workspace --test contract "$@"
