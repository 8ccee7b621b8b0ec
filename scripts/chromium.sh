#!/bin/sh
# Installs Debian's Chromium for the browser tests, on a machine that has none.
set -eu
[ -x /usr/bin/chromium ] && exit 0
apt-get update
apt-get install -y --no-install-recommends chromium
