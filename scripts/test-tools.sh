#!/bin/sh
# Installs the tools for the tests that are missing: Debian packages, and in target/ the program that checks files for
# Kubernetes. Needs root and apt only if a Debian package is missing.
set -eu
cd "$(dirname "$0")/.."
missing=
[ -x /usr/sbin/nginx ] || missing="$missing nginx-light"
[ -x /usr/bin/chromium ] || missing="$missing chromium"
command -v systemd-analyze >/dev/null || missing="$missing systemd"
command -v openssl >/dev/null || missing="$missing openssl"
command -v curl >/dev/null || missing="$missing curl"
command -v kubectl >/dev/null || missing="$missing kubernetes-client"
# Debian installs PostgreSQL's server programs outside of the PATH, in one folder per version.
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$missing postgresql"
# Debian's Python comes without venv, which the tests use, and without pip, which installs agents written in Python.
python3 -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
python3 -c 'import pip' 2>/dev/null || missing="$missing python3-pip"
# shellcheck disable=SC2086 # one word per package
[ -z "$missing" ] || sh scripts/apt.sh $missing

wanted=tests/packaging/requirements.txt
if ! cmp -s $wanted target/kubernetes/requirements.txt; then
    python3 -m venv --clear target/kubernetes
    target/kubernetes/bin/python -m pip install --quiet --disable-pip-version-check -r $wanted
    cp $wanted target/kubernetes/requirements.txt
fi
