#!/bin/sh
# Runs the contract suite against the product with its engine behind a channel. Arguments go to nextest.
set -eu
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-$PWD/target}
cargo build -p remote-instances -p fault-agent
# The suite expects the agent that misbehaves beside the product.
folder=$target/remote-instances
mkdir -p "$folder"
ln -sf "$target/debug/remote-server" "$folder/sandbox-agent"
ln -sf "$target/debug/fault-agent" "$folder/fault-agent"
export SANDBOX_AGENT_BIN="$folder/sandbox-agent"
exec sh scripts/nextest.sh run -p sandbox-agent --test contract "$@"
