#!/bin/sh
# Runs a command where `docker` works: with-engine.sh COMMAND [ARGUMENT...]
#
# With an engine of its own, in namespaces of its own: containers, networks, mounts and the engine itself end with the
# command, and no other engine of the machine notices. Its images stay below target/container for the next time.
#
# The images that the Dockerfile begins with are not fetched. Debian's packages and this machine's Node.js and Rust make
# images of the same names. The toolchain is taken as it is, with the target of the static binary in it:
# scripts/builds-tools.sh installs that and the rest of what is used here.
set -eu
[ "${1-}" = --inside ] || cd "$(dirname "$0")/../.."
here=tests/container
place=$PWD/target/container

# Outside: the namespaces, and a way from there to the package registries.
outside() {
    mkdir -p "$place"
    as_root=
    [ "$(id -u)" = 0 ] || as_root="sudo --preserve-env"
    $as_root unshare --net --mount sh $here/with-engine.sh --inside "$@" &
    inside=$!
    trap 'kill $inside 2>/dev/null || true' EXIT
    trap 'exit 130' INT TERM
    if [ -n "$as_root" ]; then
        # sudo is in between.
        until child=$(cat /proc/$inside/task/$inside/children) && [ -n "$child" ]; do sleep 0.1; done
        set -- "${child% }"
    else
        set -- $inside
    fi
    until [ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.1; done
    # It leaves when the namespace does.
    $as_root slirp4netns --configure --mtu=1400 --disable-host-loopback "$1" tap0 >"$place/network.log" 2>&1 &
    network=$!
    status=0
    wait $inside || status=$?
    $as_root kill $network 2>/dev/null || true
    exit $status
}

# Inside: the engine, the images to begin with, the command.
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
    # Processes are in a namespace, too, so that all of them end.
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
            echo "the engine does not start:" >&2
            tail -n 20 "$place/engine.log" >&2
            exit 1
        fi
        sleep 0.1
    done
    forget_containers
    make_base_images
    status=0
    "$@" || status=$?
    # Base images and results stay; the stages in between are larger than all of them.
    forget_containers
    docker image prune --force >/dev/null
    kill $engine
    wait $engine || true
    exit $status
}

# Also those of a run that was cut short.
forget_containers() {
    docker container ls --all --quiet | xargs --no-run-if-empty docker container rm --force >/dev/null
    docker volume ls --quiet | xargs --no-run-if-empty docker volume rm --force >/dev/null
}

make_base_images() {
    dockerfile=packaging/docker/Dockerfile
    rust=$(sed -n 's/^FROM \(rust:[^ ]*\).*/\1/p' $dockerfile | sort -u)
    node=$(sed -n 's/^FROM \(node:[^ ]*\).*/\1/p' $dockerfile | sort -u)
    suite=bookworm
    case $rust$node in *$suite*$suite*) ;; *) echo "the images to begin with are not of $suite" >&2 && exit 1 ;; esac
    if ! docker image inspect base:debian >/dev/null 2>&1; then
        rm -rf "$place/debian"
        debootstrap --variant=minbase --include=ca-certificates $suite "$place/debian" >"$place/debian.log"
        # Certificates that the machine trusts beside Debian's.
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
