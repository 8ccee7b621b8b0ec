#!/bin/sh
# Boots a systemd of its own and tests the unit in it: try.sh BINARY. The new systemd runs in namespaces, on a temporary
# overlay of this machine's files, so nothing outside of them is changed. Needs root or sudo, and systemd.
#
# Checks that the server starts with all restrictions of the unit, reports that it is ready, allows agents what they need and
# nothing else, and stops on request.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

if [ "${1:-}" != --inside ]; then
    binary=$(realpath "$1")
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    mkdir "$scratch/out" "$scratch/machine"
    as_root=
    [ "$(id -u)" = 0 ] || as_root=sudo
    $as_root timeout 120 unshare --mount --pid --fork --ipc --uts --cgroup --kill-child=SIGKILL \
        sh "$0" --inside "$binary" "$scratch" </dev/null >"$scratch/out/boot.log" 2>&1 || true
    cat "$scratch/out/boot.log" "$scratch/out/probe.log" 2>/dev/null
    grep -q '^all checks passed$' "$scratch/out/probe.log" && exit
    cat "$scratch/out/server.log" || true
    echo "the unit does not work" >&2
    exit 1
fi

binary=$2
scratch=$3
mount --make-rprivate /
# An overlay of this machine's files, with all changes in memory.
cd "$scratch/machine"
mount -t tmpfs tmpfs .
# Needed to enter the new mount: the shell is still in the directory below it.
cd "$PWD"
mkdir upper work root
mount -t overlay overlay -o "lowerdir=/,upperdir=upper,workdir=work" root
cd root
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t tmpfs tmpfs run
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs tmpfs dev
for node in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0 console:5:1; do
    rest=${node#*:}
    mknod -m 666 "dev/${node%%:*}" c "${rest%:*}" "${rest#*:}"
done
mkdir dev/shm dev/pts run/out before
mount -t devpts devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount --bind "$scratch/out" run/out

mkdir -p etc/sandbox-agent etc/systemd/system/sandbox-agent.service.d
install "$binary" usr/local/bin/sandbox-agent
(umask 077 && echo SANDBOX_AGENT_TOKEN=sesame >etc/sandbox-agent/environment)
cp "$here/sandbox-agent.service" etc/systemd/system/
cp "$here/probe.sh" run/
# No other unit of the machine is started.
ln -sf /dev/null etc/systemd/system/network-online.target
cat >etc/systemd/system/sandbox-agent.service.d/try.conf <<END
[Unit]
DefaultDependencies=no
[Service]
ExecStart=
ExecStart=/usr/local/bin/sandbox-agent server --port 39468 --agent shell="sh /run/probe.sh agent"
StandardOutput=file:/run/out/server.log
StandardError=file:/run/out/server.log
END
cat >etc/systemd/system/try.service <<END
[Unit]
DefaultDependencies=no
After=sandbox-agent.service
[Service]
Type=oneshot
ExecStart=/bin/sh /run/probe.sh
StandardOutput=file:/run/out/probe.log
StandardError=file:/run/out/probe.log
ExecStopPost=/bin/systemctl exit 0 --force
END
printf '[Unit]\nDefaultDependencies=no\nWants=sandbox-agent.service try.service\n' >etc/systemd/system/try.target

pivot_root . before
umount -l before
# Mounts are shared, as on a machine that systemd has booted. Otherwise the mounts that it makes for a service would not be
# visible.
mount --make-rshared /
exec /usr/bin/env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --system --unit=try.target --show-status=false
