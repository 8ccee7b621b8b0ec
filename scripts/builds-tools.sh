#!/bin/sh
# Checks that `make test-builds` can run on this machine, then installs the tools that are missing.
#
# The tests need root or sudo, and the right to create namespaces. Without these, the script fails with a message before
# anything is installed or built.
set -eu
cd "$(dirname "$0")/.."
# Debian has root's programs in these directories, which are not in the PATH of other users.
PATH=$PATH:/usr/sbin:/sbin
if [ "$(id -u)" = 0 ]; then
    allowed() { unshare --mount --pid --fork --net --ipc --uts --cgroup true; }
else
    # Tests in namespaces run without sudo; the container engine and systemd run with sudo.
    allowed() { sudo true && unshare --user --map-root-user --mount --pid --fork --net true; }
fi
if ! allowed 2>/dev/null; then
    echo "These tests need root or sudo and the right to create namespaces; one of them is missing." >&2
    exit 1
fi

missing=
command -v dockerd >/dev/null || missing="$missing docker.io"
command -v slirp4netns >/dev/null || missing="$missing slirp4netns"
command -v debootstrap >/dev/null || missing="$missing debootstrap debian-archive-keyring"
command -v ip >/dev/null || missing="$missing iproute2"
[ -x /lib/systemd/systemd ] || missing="$missing systemd"
command -v curl >/dev/null || missing="$missing curl"
command -v pgrep >/dev/null || missing="$missing procps"
command -v python3 >/dev/null || missing="$missing python3"
# shellcheck disable=SC2086 # one word per package
[ -z "$missing" ] || sh scripts/apt.sh $missing
sh scripts/musl.sh install
sh scripts/nextest.sh --version >/dev/null
