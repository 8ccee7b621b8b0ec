#!/bin/sh
# Installs Debian's Postgres for the SDK's tests, on a machine that has none. They start a server of their own.
set -eu
for initdb in /usr/lib/postgresql/*/bin/initdb; do
  [ -x "$initdb" ] && exit 0
done
exec sh "$(dirname "$0")/apt.sh" postgresql
