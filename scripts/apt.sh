#!/bin/sh
# Installs Debian packages, as root or with sudo: apt.sh PACKAGE...
#
# The services of the packages are not started.
set -eu
as_root=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "Debian packages are missing, and only root can install them: apt-get install $*" >&2
        exit 1
    fi
    as_root=sudo
fi
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' | $as_root tee $policy >/dev/null
    $as_root chmod +x $policy
    trap '$as_root rm $policy' EXIT
fi
# A new machine may be updating itself, so this waits for apt's lock.
wait=DPkg::Lock::Timeout=300
$as_root apt-get -o $wait update
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -o $wait install -y --no-install-recommends "$@"
