#!/bin/sh
# Builds the static binary, which needs no libc at run time.
#
#   musl.sh install            installs the missing tools of the build
#   musl.sh build [ARGUMENT]   installs them, then runs `cargo build` with these arguments; default: sandbox-agent and a
#                              test agent in the profile `dist`
#   musl.sh target             prints the name of the target
set -eu
target=$(uname -m)-unknown-linux-musl

install() {
    # Looks for the target's folder, because rustup cannot list or add targets of a linked toolchain.
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
    # The compiler for dependencies that are written in C.
    export "CC_$(echo "$target" | tr - _)=musl-gcc"
    exec cargo build --target "$target" "$@"
    ;;
*)
    echo "usage: $0 install | target | build [ARGUMENT...]" >&2
    exit 2
    ;;
esac
