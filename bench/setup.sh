#!/bin/sh
# Installs the programs that the benchmark compares with: the published peer from npm, and Debian's nginx.
set -eu
target=${CARGO_TARGET_DIR:-$(dirname "$0")/../target}

if [ ! -x "$target/bench-peer/node_modules/@sandbox-agent/cli/bin/sandbox-agent" ]; then
    mkdir -p "$target/bench-peer"
    npm install --prefix "$target/bench-peer" --no-audit --no-fund @sandbox-agent/cli@0.4.2
    chmod +x "$target"/bench-peer/node_modules/@sandbox-agent/cli-linux-*/bin/sandbox-agent
fi

[ -x /usr/sbin/nginx ] || sh "$(dirname "$0")/../scripts/apt.sh" nginx-light
