#!/bin/sh
# Installs Debian's Chromium for the browser tests, on a machine that has none.
set -eu
[ -x /usr/bin/chromium ] && exit 0
exec sh "$(dirname "$0")/apt.sh" chromium
