#!/bin/sh
# Builds the static binary, which needs no libc where it runs.
#
#   musl.sh install            what the build needs and the machine does not have
#   musl.sh build [ARGUMENT]   that, then sandbox-agent (and an agent to test it with) in the profile `dist`, or whatever
#                              the arguments of cargo say
#   musl.sh target             the name of the target
set -eu
target=$(uname -m)-unknown-linux-musl

install() {
    # The folder tells it of every toolchain, also of one that rustup has been given and cannot add to.
    [ -d "$(rustc --print target-libdir --target "$target")" ] || rustup target add "$target"
    command -v musl-gcc >/dev/null || sh "$(dirname "$0")/apt.sh" musl-tools
}

case ${1:-build} in
install) install ;;
target) echo "$target" ;;
build)
    [ $# -eq 0 ] || shift
    [ $# -gt 0 ] || set -- --profile dist -p sandbox-agent -p fault-agent
    install
    # For the parts that are written in C.
    export "CC_$(echo "$target" | tr - _)=musl-gcc"
    exec cargo build --target "$target" "$@"
    ;;
*)
    echo "usage: $0 install | target | build [ARGUMENT...]" >&2
    exit 2
    ;;
esac
