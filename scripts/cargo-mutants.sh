#!/bin/sh
# Changes the Rust modules that .cargo/mutants.toml lists in small ways with cargo-mutants, and checks that a unit test fails
# for each change. Fails if less than 80 % of the mutants of a module are killed. The arguments go to cargo-mutants.
set -eu
# Installed like cargo-deny: see cargo-deny.sh.
cargo mutants --version >/dev/null 2>&1 || CARGO_PROFILE_DEV_DEBUG=0 cargo install --locked --debug cargo-mutants

# A target directory of its own keeps the compiled dependencies for the next run. It is outside of the copy of the sources
# that cargo-mutants changes.
export CARGO_TARGET_DIR="$PWD/target/mutants" CARGO_PROFILE_DEV_DEBUG=0
# A test that fails need not look for the simplest input that makes it fail.
export PROPTEST_MAX_SHRINK_ITERS=0 PROPTEST_FAILURE_PERSISTENCE=off
status=0
cargo mutants --output target "$@" || status=$?
# 2: a mutant survived. 3: a mutant made a test run for ever, which counts as killed.
case $status in
0 | 2 | 3) ;;
*) exit "$status" ;;
esac

cd target/mutants.out
awk -F: '
	FILENAME == "missed.txt" { missed[$1]++ }
	{ all[$1]++ }
	END {
		for (file in all) {
			killed = all[file] - missed[file]
			printf "%3d %% of %3d killed in %s\n", int(100 * killed / all[file]), all[file], file
			if (killed < 0.8 * all[file]) failed = 1
		}
		exit failed
	}
' caught.txt timeout.txt missed.txt
