#!/bin/sh
# Runs fuzz targets, each for a bounded time: fuzz.sh [TARGET...]; all of them by default.
#
# FUZZ_SECONDS is the time for each target (default: 60). A target that fails leaves its input in fuzz/artifacts/.
#
# Sanitizers are not used, because the code has almost no `unsafe` and a memory checker would find little. Without them, no
# nightly toolchain is needed: coverage comes from flags that a stable compiler accepts.
set -eu
cd "$(dirname "$0")/.."
seconds=${FUZZ_SECONDS:-60}
cargo fuzz --version >/dev/null 2>&1 || cargo install --locked cargo-fuzz
# libFuzzer is C++.
command -v c++ >/dev/null || sh scripts/apt.sh g++
[ $# -gt 0 ] || set -- $(cargo fuzz list)

# The targets create and remove thousands of files per second, so these are in memory where that is possible.
if [ -d /dev/shm ] && [ -w /dev/shm ]; then place=/dev/shm; else place=${TMPDIR:-/tmp}; fi
TMPDIR=$(mktemp -d "$place/fuzz.XXXXXX")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

cargo fuzz build --sanitizer none
for target in "$@"; do
    # libFuzzer writes new inputs to the first folder; it only reads the second one, the committed corpus.
    mkdir -p "$TMPDIR/found"
    cargo fuzz run --sanitizer none "$target" "$TMPDIR/found" "fuzz/corpus/$target" -- \
        -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1
    rm -rf "$TMPDIR/found"
done
