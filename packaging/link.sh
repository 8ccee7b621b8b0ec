#!/bin/sh
# The linker of the static binary (`.cargo/config.toml`): the compiler's own, told what lies next to what.
#
# The system maps a program 64 KiB at a time, so one function that runs brings along whatever lies around it. What runs when
# a server starts is an eighth of the code and lay all over it. start-order.txt has the names of those functions, without
# the hashes that the compiler adds to names and changes with every version; here they become the names that the functions
# have in this build. Some stand for several functions then, and a name that is gone does no harm. Without `nm` the order is
# the compiler's; with SANDBOX_AGENT_LINK=plain it is too, and the names stay in the program.
set -eu
names=$(dirname "$0")/start-order.txt
# Where the settings of `.cargo/config.toml` are overruled, the compiler does not know which linker this is.
case ${1:-} in
-flavor) ;;
*) set -- -flavor gnu "$@" ;;
esac
# Packed relocations: a static program relocates itself when it starts, and what it reads for that is a few kilobytes
# instead of half a megabyte, in the file, in the server's memory and in that of every supervisor. Functions that are the
# same become one.
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
