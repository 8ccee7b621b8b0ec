"""Checks a running server against docs/openapi.json: a fuzzer sends requests and validates the responses and streams.

Fails on a 5xx, on a status, content type, header or body that is not documented, on an accepted invalid request and on
a refused valid one. Nothing leaves the machine: agents are not installed, and requests to the network fail.
"""

import os
import subprocess
import sys
from pathlib import Path

from server import Server

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
# In seconds. Far longer than a run takes: only a run that hangs is ended.
TIMEOUT = 600


def fuzz(server, arguments):
    """Runs schemathesis; returns true if it found nothing."""
    command = [
        Path(sys.executable).parent / "schemathesis",
        "--config-file", HERE / "schemathesis.toml",
        "run", REPOSITORY / "docs/openapi.json",
        "--url", server.address,
        # Removed endpoints answer every method in the same way; the contract tests cover them.
        "--exclude-deprecated",
        *arguments,
    ]  # fmt: skip
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(HERE)}
    return subprocess.run(command, cwd=HERE, env=environment, timeout=TIMEOUT, check=False).returncode == 0


def main():
    """Runs the fuzzer and exits with its result."""
    with Server() as server:
        found_nothing = fuzz(server, sys.argv[1:])
        log = server.stop()
    if "panicked" in log:
        print(log)
        found_nothing = False
    sys.exit(0 if found_nothing else 1)


main()
