#!/bin/sh
# Installs what the packaging tests check with, on a machine that does not have it: nginx, systemd's own judgement, the
# command of Kubernetes, and, into target/, its schemas.
set -eu
cd "$(dirname "$0")/.."
missing=
[ -x /usr/sbin/nginx ] || missing="$missing nginx-light"
command -v systemd-analyze >/dev/null || missing="$missing systemd"
command -v openssl >/dev/null || missing="$missing openssl"
command -v curl >/dev/null || missing="$missing curl"
command -v kubectl >/dev/null || missing="$missing kubernetes-client"
# Debian's Python comes without what makes an environment.
python3 -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
# shellcheck disable=SC2086 # one word a package
[ -z "$missing" ] || sh scripts/apt.sh $missing

wanted=tests/packaging/requirements.txt
if ! cmp -s $wanted target/kubernetes/requirements.txt; then
    python3 -m venv --clear target/kubernetes
    target/kubernetes/bin/python -m pip install --quiet --disable-pip-version-check -r $wanted
    cp $wanted target/kubernetes/requirements.txt
fi
