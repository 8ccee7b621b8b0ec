"""Runs the built server on a free port, with a workspace, a token and nothing else."""

import os
import subprocess
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
BINARY = Path(os.environ.get("SANDBOX_AGENT_BIN", REPOSITORY / "target/debug/sandbox-agent"))
TOKEN = "fuzz"


class Server:
    """A server that runs during its `with` block."""

    def __init__(self, *arguments):
        self.folder = tempfile.TemporaryDirectory(prefix="sandbox-agent-api-")
        self.root = Path(self.folder.name, "workspace")
        self.root.joinpath("src").mkdir(parents=True)
        self.root.joinpath("notes.txt").write_text("some notes\n")
        self.root.joinpath("src/main.txt").write_text("more\n")
        self.root.joinpath("link").symlink_to("notes.txt")
        registry = Path(self.folder.name, "registry.json")
        registry.write_text('{"version":"1","agents":[]}')
        self.log = Path(self.folder.name, "log")
        # A port without a listener is the proxy, so that requests to the network fail.
        nowhere = {name: "http://127.0.0.1:9" for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")}
        command = [
            BINARY, "server", "--port", "0", "--data-dir", Path(self.folder.name, "data"),
            "--fs-root", self.root, "--workspace", self.root,
            "--require-preinstall", "--acp-registry-url", registry.as_uri(),
            "--max-instances", "8", "--request-timeout", "5s",
            *arguments,
        ]  # fmt: skip
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                env={**os.environ, **nowhere, "HOME": self.folder.name, "SANDBOX_AGENT_TOKEN": TOKEN},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            self.process.wait()
            raise SystemExit(f"the server did not start: {self.log.read_text()}")
        self.address = line.removeprefix("listening on ").strip()

    def stop(self):
        """Stops the server with SIGTERM and returns its log."""
        if self.process.poll() is not None:
            raise SystemExit(f"the server exited unexpectedly: {self.log.read_text()}")
        self.process.terminate()
        if self.process.wait(timeout=30) != 0:
            raise SystemExit(f"the server did not exit successfully: {self.log.read_text()}")
        return self.log.read_text()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()
