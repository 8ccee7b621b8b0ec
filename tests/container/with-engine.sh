#!/bin/sh
# Runs a command with a working `docker`: with-engine.sh COMMAND [ARGUMENT...]
#
# The engine is private and runs in its own namespaces: containers, networks, mounts and the engine itself end with the
# command, and other engines of the machine are not affected. Its images are kept in target/container for the next run.
#
# The Dockerfile's base images are not downloaded. Images with the same names are built from Debian's packages and this
# machine's Node.js and Rust toolchain, which must include the target of the static binary: scripts/builds-tools.sh
# installs that and the other tools that this script uses.
set -eu
[ "${1-}" = --inside ] || cd "$(dirname "$0")/../.."
here=tests/container
place=$PWD/target/container

# Outside: creates the namespaces, and connects them to the package registries.
outside() {
    mkdir -p "$place"
    as_root=
    [ "$(id -u)" = 0 ] || as_root="sudo --preserve-env"
    $as_root unshare --net --mount sh $here/with-engine.sh --inside "$@" &
    inside=$!
    trap 'kill $inside 2>/dev/null || true' EXIT
    trap 'exit 130' INT TERM
    if [ -n "$as_root" ]; then
        # The direct child is sudo; its child is the script.
        until child=$(cat /proc/$inside/task/$inside/children) && [ -n "$child" ]; do sleep 0.1; done
        set -- "${child% }"
    else
        set -- $inside
    fi
    until [ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.1; done
    # The program that connects the namespace; it exits when the namespace does.
    $as_root slirp4netns --configure --mtu=1400 --disable-host-loopback "$1" tap0 >"$place/network.log" 2>&1 &
    network=$!
    status=0
    wait $inside || status=$?
    $as_root kill $network 2>/dev/null || true
    exit $status
}

# Inside: starts the engine, builds the base images, and runs the command.
inside() {
    until ip -brief address show tap0 2>/dev/null | grep -q '\.'; do sleep 0.1; done
    ip link set lo up
    mount -t tmpfs none /run
    resolver=$(readlink -f /etc/resolv.conf)
    mkdir -p "$(dirname "$resolver")"
    touch "$resolver"
    echo 'nameserver 10.0.2.3' >/run/nameserver
    mount --bind /run/nameserver "$resolver"
    mkdir -p /etc/docker
    mount -t tmpfs none /etc/docker
    # The process namespace makes all processes end with the command.
    exec unshare --pid --fork --kill-child --mount-proc sh $here/with-engine.sh --with-processes "$@"
}

with_processes() {
    unset DOCKER_HOST DOCKER_CONTEXT DOCKER_BUILDKIT
    dockerd --data-root "$place/engine" >"$place/engine.log" 2>&1 &
    engine=$!
    tries=0
    until docker version >/dev/null 2>&1; do
        tries=$((tries + 1))
        if [ $tries -gt 300 ]; then
            echo "the engine did not start:" >&2
            tail -n 20 "$place/engine.log" >&2
            exit 1
        fi
        sleep 0.1
    done
    forget_containers
    make_base_images
    status=0
    "$@" || status=$?
    # Keeps base images and results for the next run, but not the intermediate stages, which are larger.
    forget_containers
    docker image prune --force >/dev/null
    kill $engine
    wait $engine || true
    exit $status
}

# Also removes the containers of an interrupted run.
forget_containers() {
    docker container ls --all --quiet | xargs --no-run-if-empty docker container rm --force >/dev/null
    docker volume ls --quiet | xargs --no-run-if-empty docker volume rm --force >/dev/null
}

make_base_images() {
    dockerfile=packaging/docker/Dockerfile
    rust=$(sed -n 's/^FROM \(rust:[^ ]*\).*/\1/p' $dockerfile | sort -u)
    node=$(sed -n 's/^FROM \(node:[^ ]*\).*/\1/p' $dockerfile | sort -u)
    suite=bookworm
    case $rust$node in *$suite*$suite*) ;; *) echo "the base images are not based on $suite" >&2 && exit 1 ;; esac
    if ! docker image inspect base:debian >/dev/null 2>&1; then
        rm -rf "$place/debian"
        debootstrap --variant=minbase --include=ca-certificates $suite "$place/debian" >"$place/debian.log"
        # The machine's additional trusted certificates.
        cp -R /usr/local/share/ca-certificates "$place/debian/usr/local/share/"
        chroot "$place/debian" update-ca-certificates >/dev/null 2>&1
        rm -rf "$place"/debian/var/cache/apt/archives/*.deb "$place"/debian/var/lib/apt/lists/*
        tar -C "$place/debian" -c . | docker import - base:debian >/dev/null
        rm -rf "$place/debian"
    fi
    npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
    tar -ch -C $here/images node.Dockerfile -C "$PWD/packages/node_modules/node/bin" node -C "$(dirname "$npm")" npm |
        docker build --quiet -f node.Dockerfile -t "$node" - >/dev/null
    tar -c -C $here/images rust.Dockerfile -C "$(dirname "$(readlink -f "$(command -v rustup)")")" rustup \
        -C "$(rustc --print sysroot)" bin lib libexec |
        docker build --quiet -f rust.Dockerfile -t "$rust" - >/dev/null
}

case ${1-} in
--inside) shift && inside "$@" ;;
--with-processes) shift && with_processes "$@" ;;
'') echo "usage: $0 COMMAND [ARGUMENT...]" >&2 && exit 2 ;;
*) outside "$@" ;;
esac
