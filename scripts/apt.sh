#!/bin/sh
# Installs Debian packages, as root or with sudo: apt.sh PACKAGE...
#
# For their programs alone: no service is started by it.
set -eu
as_root=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "Only root can install the Debian packages that are missing here: apt-get install $*" >&2
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
# A new machine may just be updating itself: wait for it.
wait=DPkg::Lock::Timeout=300
$as_root apt-get -o $wait update
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -o $wait install -y --no-install-recommends "$@"
