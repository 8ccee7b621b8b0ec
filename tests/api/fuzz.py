"""Holds the running server against docs/openapi.json: the fuzzer's requests, then the events of the streams.

Fails on a 5xx, on a status, content type, header or body that the document does not have, on a wrong request that is
taken and on a right one that is refused. Nothing leaves the machine: agents are not installed, and what would ask the
network finds no way.
"""

import os
import subprocess
import sys
from pathlib import Path

from server import Server

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
# Far more than it takes; a run that hangs must end all the same.
PATIENCE = 600


def fuzz(server, arguments):
    """Whether schemathesis found nothing."""
    command = [
        Path(sys.executable).parent / "schemathesis",
        "--config-file", HERE / "schemathesis.toml",
        "run", REPOSITORY / "docs/openapi.json",
        "--url", server.address,
        # What was removed answers alike to every method; the contract tests call it with each.
        "--exclude-deprecated",
        *arguments,
    ]  # fmt: skip
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(HERE)}
    return subprocess.run(command, cwd=HERE, env=environment, timeout=PATIENCE, check=False).returncode == 0


def main():
    """Runs both and says how they went."""
    with Server() as server:
        found_nothing = fuzz(server, sys.argv[1:])
        log = server.stop()
    if "panicked" in log:
        print(log)
        found_nothing = False
    sys.exit(0 if found_nothing else 1)


main()
