#!/bin/sh
# Runs two commands at the same time: side-by-side.sh COMMAND COMMAND
#
# Shows the output of the first command as it comes, then that of the second as a whole. If one of them fails, the other
# still runs to its end, so that one run shows every failure; then this script fails too.
set -u
if [ $# != 2 ]; then
    echo "usage: $0 COMMAND COMMAND" >&2
    exit 2
fi
output=$(mktemp)
first=
second=

# After an interruption, ends both commands.
finish() {
    for session in $first $second; do kill -TERM "-$session" "$session" 2>/dev/null; done
    rm -f "$output"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Each has a session of its own, so that it can be ended together with its processes.
setsid sh -c "$1" </dev/null &
first=$!
setsid sh -c "$2" </dev/null >"$output" 2>&1 &
second=$!

status=0
wait $first || status=$?
first=
wait $second || status=$?
second=
echo "--- meanwhile: $2"
cat "$output"
exit $status
