#!/bin/sh
# Brings what the benchmark measures against: the published peer from npm, and Debian's nginx.
set -eu
target=${CARGO_TARGET_DIR:-$(dirname "$0")/../target}

if [ ! -x "$target/bench-peer/node_modules/@sandbox-agent/cli/bin/sandbox-agent" ]; then
    mkdir -p "$target/bench-peer"
    npm install --prefix "$target/bench-peer" --no-audit --no-fund @sandbox-agent/cli@0.4.2
    chmod +x "$target"/bench-peer/node_modules/@sandbox-agent/cli-linux-*/bin/sandbox-agent
fi

if [ ! -x /usr/sbin/nginx ]; then
    as_root=
    [ "$(id -u)" = 0 ] || as_root=sudo
    # Installed for its binary alone: the service it would start is not wanted.
    $as_root apt-get install --yes --no-install-recommends nginx-light
    $as_root service nginx stop || true
fi
