#!/bin/sh
# Writes a new start-order.txt: the list of the functions that run while a server starts, answers a few requests, and shuts
# down. Run it when `make bench` shows that an idle server uses more memory. It takes about five minutes.
#
# The server starts no agent, because valgrind does not support a system call that this needs.
set -eu
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || sh scripts/apt.sh valgrind
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target/start-order}"
CARGO_PROFILE_DIST_STRIP=none SANDBOX_AGENT_LINK=plain sh scripts/musl.sh build --profile dist -p sandbox-agent
binary=$CARGO_TARGET_DIR/$(sh scripts/musl.sh target)/dist/sandbox-agent
port=24681
url=http://127.0.0.1:$port

traces=$(mktemp -d)
server=
trap 'kill $server 2>/dev/null || true; rm -rf "$traces"' EXIT
SANDBOX_AGENT_TOKEN=trace valgrind --quiet --tool=callgrind --demangle=no --callgrind-out-file="$traces/calls" \
    "$binary" server --port $port --data-dir "$traces/data" </dev/null &
server=$!

ask() {
    curl --silent --fail --output /dev/null --header 'Authorization: Bearer trace' "$@"
}
tries=0
until ask $url/healthz; do
    tries=$((tries + 1))
    [ $tries -lt 120 ] || { echo "the server did not start" >&2 && exit 1; }
    sleep 0.5
done
ask $url/v1/acp
ask $url/ui/
ask $url/metrics
kill $server
wait $server
server=

sed -nE "s/^c?fn=\([0-9]+\) ([_a-zA-Z][^ ']*)('[0-9]+)?$/\1/p" "$traces/calls" |
    sh packaging/plain-names.sh | cut -d ' ' -f 1 | awk '!seen[$0]++' >"$traces/order"
count=$(wc -l <"$traces/order")
[ "$count" -gt 500 ] || { echo "only $count functions were found; the list was not changed" >&2 && exit 1; }
cp "$traces/order" packaging/start-order.txt
echo "$count functions"
