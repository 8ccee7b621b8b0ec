#!/bin/sh
# Tests every operation of docs/openapi.json against the built server with schemathesis, which is installed into target/
# first. Arguments are passed to schemathesis, such as --include-operation-id listEntries.
set -eu
cd "$(dirname "$0")/.."
python=$PWD/target/schemathesis/bin/python
wanted=tests/api/requirements.txt
if ! cmp -s "$wanted" target/schemathesis/requirements.txt; then
    python3 -m venv --clear target/schemathesis
    "$python" -m pip install --quiet --disable-pip-version-check -r "$wanted"
    cp "$wanted" target/schemathesis/requirements.txt
fi
exec "$python" tests/api/fuzz.py "$@"
