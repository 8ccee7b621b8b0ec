#!/bin/sh
# Runs a command almost as on a new machine: fresh.sh [--state FOLDER] COMMAND [ARGUMENT...]
#
#   scripts/fresh.sh make test
#
# The command runs in a clone of the current commit, with an empty home directory, a copy of the Rust toolchain that has only
# the target of this machine, no programs from `cargo install`, and without the caller's environment variables. Only the
# settings of package registries are kept. Installed Debian packages are not changed.
#
# All of this is in one temporary folder, which is removed at the end. With --state, the given folder is used instead and
# kept: the next call with the same folder reuses its contents.
set -eu

usage() {
    echo "usage: $0 [--state FOLDER] COMMAND [ARGUMENT...]" >&2
    exit 2
}

say() { echo "fresh.sh: $*" >&2; }

state=
if [ "${1-}" = --state ]; then
    [ $# -ge 2 ] && [ -n "$2" ] || usage
    mkdir -p "$2"
    state=$(cd "$2" && pwd)
    shift 2
fi
[ $# -gt 0 ] || usage
case $1 in -*) usage ;; esac

project=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "$state" ]; then
    # Not /tmp, which is in memory on many machines: a build needs gigabytes.
    state=$(mktemp -d "${TMPDIR:-/var/tmp}/fresh.XXXXXX")
    # Files that were created with sudo need sudo to remove them.
    trap 'rm -rf "$state" 2>/dev/null || sudo rm -rf "$state"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
fi

# Clones the project, or updates an earlier clone, and checks out the current commit.
[ -z "$(git -C "$project" status --porcelain)" ] || say "uncommitted changes are not part of this run"
commit=$(git -C "$project" rev-parse HEAD)
[ -d "$state/clone" ] || git clone --quiet --no-checkout "$project" "$state/clone"
git -C "$state/clone" fetch --quiet "$project" HEAD
git -C "$state/clone" checkout --quiet --force --detach "$commit"

# Copies the settings of package registries from the user's configuration. Secrets are not copied.
carry_settings_over() {
    if [ -f "$HOME/.npmrc" ]; then
        grep -E '^ *(@[^:=]+:)?(registry|cafile|strict-ssl|(https?-|no)?proxy) *=' "$HOME/.npmrc" >"$state/home/.npmrc" ||
            rm "$state/home/.npmrc"
    fi
    for settings in .config/pip/pip.conf .pip/pip.conf; do
        [ -f "$HOME/$settings" ] || continue
        mkdir -p "$state/home/${settings%/*}"
        grep -E '^\[|^ *(index-url|extra-index-url|find-links|trusted-host|cert|proxy) *=' "$HOME/$settings" \
            >"$state/home/$settings" || true
    done
    for settings in config.toml config; do
        [ -f "$cargo/$settings" ] || continue
        awk '/^ *\[/ { carried = /^ *\[+(source|registry|registries|http|net)[].]/ } carried' "$cargo/$settings" \
            >"$state/cargo/$settings"
    done
}

# Copies the Rust toolchain, so that the command cannot change the original. The documentation is left out.
copy_toolchain() {
    command -v rustup >/dev/null || { say "this needs rustup" && exit 1; }
    # The toolchain that the project is built with.
    toolchain=$(cd "$project" && rustc --print sysroot)
    host=$("$toolchain/bin/rustc" -vV | sed -n 's/^host: //p')
    copy=$state/rustup/toolchains/$(basename "$toolchain")
    mkdir -p "$copy" "$state/cargo/bin"
    tar -C "$toolchain/" -c --exclude ./share/doc . | tar -C "$copy" -x
    cp "$(readlink -f "$(command -v rustup)")" "$state/cargo/bin/rustup"
    for proxy in cargo rustc rustdoc rustfmt cargo-fmt cargo-clippy clippy-driver; do
        ln -s rustup "$state/cargo/bin/$proxy"
    done
    in_state rustup set profile minimal 2>/dev/null
    in_state rustup default "$(basename "$toolchain")" >/dev/null 2>&1
    for target in $(in_state rustup target list --installed); do
        [ "$target" = "$host" ] || in_state rustup target remove "$target" 2>/dev/null
    done
}

# Prints the PATH without the directories in the user's home, which contain programs from cargo and other installers. The
# directory of Node.js is kept wherever it is, because a new machine has Node.js, too.
path_without_home() {
    node=$(dirname "$(command -v node)")
    kept=$state/cargo/bin
    old_ifs=$IFS
    IFS=:
    for folder in $PATH; do
        case $folder in
        "$node") ;;
        "$HOME"/* | "$cargo"/*) continue ;;
        esac
        kept=$kept:$folder
    done
    IFS=$old_ifs
    echo "$kept"
}

# Runs a command with the home, PATH and toolchain of the state folder. Of the caller's variables, only those for the
# terminal, the language, CI, proxies, certificates and package registries are kept.
in_state() (
    path=$(path_without_home)
    for name in $(awk 'BEGIN { for (name in ENVIRON) if (name ~ /^[A-Za-z_][A-Za-z0-9_]*$/) print name }'); do
        case $name in
        *TOKEN*) unset "$name" ;;
        TERM | LANG | LC_* | TZ | USER | LOGNAME | SHELL | CI | NO_COLOR) ;;
        *_proxy | *_PROXY | SSL_CERT_* | *_CA_BUNDLE | NODE_EXTRA_CA_CERTS | GIT_SSL_CAINFO) ;;
        PIP_CERT | PIP_CONFIG_FILE | PIP_DEFAULT_TIMEOUT | PIP_*INDEX_URL | PIP_FIND_LINKS | PIP_TRUSTED_HOST) ;;
        npm_config_registry | NPM_CONFIG_REGISTRY | npm_config_cafile | NPM_CONFIG_CAFILE) ;;
        CARGO_HTTP_* | CARGO_NET_* | CARGO_REGISTR* | CARGO_SOURCE_* | RUSTUP_DIST_SERVER | RUSTUP_UPDATE_ROOT) ;;
        PATH | HOME) ;;
        *) unset "$name" ;;
        esac
    done
    export PATH="$path" HOME="$state/home" RUSTUP_HOME="$state/rustup" CARGO_HOME="$state/cargo"
    "$@"
)

cargo=${CARGO_HOME:-$HOME/.cargo}
if [ ! -f "$state/ready" ]; then
    mkdir -p "$state/home" "$state/cargo"
    carry_settings_over
    copy_toolchain
    touch "$state/ready"
fi
status=0
(cd "$state/clone" && in_state "$@") || status=$?
exit $status
