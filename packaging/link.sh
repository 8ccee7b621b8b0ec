#!/bin/sh
# The linker of the static binary (`.cargo/config.toml`): the compiler's own linker, with an order for the functions.
#
# The system maps a program 64 KiB at a time, so each function that runs also maps the code around it. The functions that run
# at the start of a server are an eighth of the code, and were spread over all of it. start-order.txt has the names of these
# functions, without the hashes that the compiler adds and that change with every version; this script finds their full names
# in this build. A name may match several functions, and one that no longer exists is ignored. Without `nm` the compiler's
# order is used. With SANDBOX_AGENT_LINK=plain it is used too, and the binary keeps its symbols.
set -eu
names=$(dirname "$0")/start-order.txt
# If the settings of `.cargo/config.toml` are overridden, the compiler does not pass the flavor of the linker.
case ${1:-} in
-flavor) ;;
*) set -- -flavor gnu "$@" ;;
esac
# Packed relocations: a static program relocates itself when it starts. Packed, its relocations are a few kilobytes instead
# of half a megabyte, in the file and in the memory of the server and of every supervisor. --icf merges identical functions.
set -- "$@" --pack-dyn-relocs=relr --icf=all
[ "${SANDBOX_AGENT_LINK:-}" != plain ] || exec rust-lld "$@"
command -v nm >/dev/null || exec rust-lld "$@" --strip-all

order=$(mktemp)
trap 'rm -f "$order"' EXIT
for argument; do
    case $argument in
    *.o | *.a | *.rlib) nm --defined-only --format=posix "$argument" 2>/dev/null || true ;;
    esac
done |
    sed -nE 's/^([^ ]+) [tTwW] .*/\1/p' |
    sh "$(dirname "$0")/plain-names.sh" |
    awk 'FNR == NR { place[$1] = FNR; next } $1 in place { print place[$1], $2 }' "$names" - |
    sort -n | cut -d ' ' -f 2 >"$order"
rust-lld "$@" --strip-all --symbol-ordering-file="$order" --no-warn-symbol-ordering
