#!/bin/sh
# Installs the programs that the server is compared with: another implementation from npm, and nginx from Debian.
set -eu
target=${CARGO_TARGET_DIR:-$(dirname "$0")/../target}

if [ ! -x "$target/bench-peer/node_modules/@sandbox-agent/cli/bin/sandbox-agent" ]; then
    mkdir -p "$target/bench-peer"
    npm install --prefix "$target/bench-peer" --no-audit --no-fund @sandbox-agent/cli@0.4.2
    chmod +x "$target"/bench-peer/node_modules/@sandbox-agent/cli-linux-*/bin/sandbox-agent
fi

[ -x /usr/sbin/nginx ] || sh "$(dirname "$0")/../scripts/apt.sh" nginx-light
