#!/bin/sh
# Links the static binary: runs the compiler's own linker, and gives it an order for the functions. Cargo calls this script
# because `.cargo/config.toml` names it as the linker.
#
# The system maps a program 64 KiB at a time, so each function that runs also maps the code around it. The functions that run
# when a server starts are an eighth of the code; without an order they would be spread over all of it. start-order.txt has
# the names of these functions, without the hashes that the compiler adds and that change with every version. This script
# finds their full names in this build. A name may match several functions; a name that no longer exists is ignored. Without
# `nm`, the functions stay in the compiler's order. With SANDBOX_AGENT_LINK=plain they do too, and the symbols are kept.
set -eu
names=$(dirname "$0")/start-order.txt
# The linker needs a flavor. The compiler does not pass one if the settings of `.cargo/config.toml` are overridden.
case ${1:-} in
-flavor) ;;
*) set -- -flavor gnu "$@" ;;
esac
# --pack-dyn-relocs packs the relocations, which a static program applies to itself when it starts: they take a few kilobytes
# instead of half a megabyte, in the file and in the memory of the server and of every supervisor. --icf merges identical
# functions.
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
