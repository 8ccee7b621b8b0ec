#!/bin/sh
# Installs what the packaging tests check with, on a machine that does not have it: nginx, and systemd's own judgement.
set -eu
missing=
[ -x /usr/sbin/nginx ] || missing="$missing nginx-light"
command -v systemd-analyze >/dev/null || missing="$missing systemd"
command -v openssl >/dev/null || missing="$missing openssl"
command -v curl >/dev/null || missing="$missing curl"
[ -n "$missing" ] || exit 0
as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
$as_root apt-get update
# For the programs alone: no service is to be started by them.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' | $as_root tee $policy >/dev/null
    $as_root chmod +x $policy
    trap '$as_root rm $policy' EXIT
fi
# shellcheck disable=SC2086 # one word a package
$as_root apt-get install -y --no-install-recommends $missing
