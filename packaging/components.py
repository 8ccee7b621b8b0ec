"""Lists the components of the binary: the crates linked into it, and the npm packages of the embedded inspector.

Asks `cargo` and reads npm's lock file; nothing is downloaded. Build and test dependencies are left out.
"""

import functools
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
PACKAGES = TOP / "packages"
PRODUCT = "sandbox-agent"


@dataclass(frozen=True)
class Component:
    """One component of the binary."""

    kind: str  # cargo or npm
    name: str
    version: str
    licence: str  # an SPDX expression
    folder: Path  # the folder of its source on this machine
    is_ours: bool = False
    checksum: str | None = None  # SHA-256 of a crate's archive
    integrity: str | None = None  # npm's "sha512-BASE64"
    needs: tuple[str, ...] = ()  # package URLs of its dependencies

    @property
    def address(self) -> str:
        """The component's package URL."""
        return package_url(self.kind, self.name, self.version)


def package_url(kind: str, name: str, version: str) -> str:
    return f"pkg:{kind}/{name.replace('@', '%40')}@{version}"


def version() -> str:
    """Returns the version of the product."""
    return next(p["version"] for p in metadata("--no-deps")["packages"] if p["name"] == PRODUCT)


def crates(target: str) -> list[Component]:
    """Returns every crate that is linked into the binary for `target`, including our own."""
    listed = run("cargo", "tree", "--locked", "-p", PRODUCT, "-e", "normal,no-proc-macro", "--target", target,
                 "--prefix", "none", "--format", "{p}").splitlines()
    linked = {tuple(line.split()[:2]) for line in listed if line}
    described = metadata("--filter-platform", target)
    packages = {package["id"]: package for package in described["packages"]
                if (package["name"], "v" + package["version"]) in linked}
    edges = {node["id"]: node["deps"] for node in described["resolve"]["nodes"]}
    checksums = archive_checksums()
    found = []
    for identity, package in packages.items():
        needed = [packages[edge["pkg"]] for edge in edges[identity] if is_normal(edge) and edge["pkg"] in packages]
        found.append(Component(
            "cargo", package["name"], package["version"], spdx(package["license"] or ""),
            Path(package["manifest_path"]).parent, is_ours=package["source"] is None,
            checksum=checksums.get((package["name"], package["version"])),
            needs=tuple(sorted(package_url("cargo", one["name"], one["version"]) for one in needed))))
    return sorted(found, key=lambda one: (one.name, one.version))


def npm_packages(workspace: str = "inspector") -> list[Component]:
    """Returns every npm package that a workspace needs at run time, including itself and our other packages."""
    lock = json.loads((PACKAGES / "package-lock.json").read_text())["packages"]
    needs: dict[str, list[str]] = {}
    waiting = [workspace]
    while waiting:
        at = waiting.pop()
        if at in needs:
            continue
        wanted = [name for kind in ("dependencies", "peerDependencies", "optionalDependencies") for name in lock[at].get(kind, {})]
        needs[at] = [place for name in wanted if (place := locate(lock, at, name))]
        waiting += needs[at]
    names = {at: at.rpartition("node_modules/")[2] for at in needs}
    address = {at: package_url("npm", names[at], lock[at]["version"]) for at in needs}
    return sorted((Component("npm", names[at], lock[at]["version"], lock[at].get("license", ""), PACKAGES / at,
                             is_ours="node_modules/" not in at, integrity=lock[at].get("integrity"),
                             needs=tuple(sorted({address[place] for place in needs[at]})))
                   for at in needs), key=lambda one: (one.name, one.version))


def locate(lock: dict, at: str, name: str) -> str | None:
    """Returns the path at which Node.js finds a package that the package at `at` imports. Follows links."""
    while True:
        place = f"{at}/node_modules/{name}" if at else f"node_modules/{name}"
        if place in lock:
            return lock[place]["resolved"] if lock[place].get("link") else place
        if not at:
            return None
        at = at.rpartition("/node_modules/")[0] if "/node_modules/" in at else ""


def spdx(licence: str) -> str:
    """Returns the expression in the notation of the SPDX standard: older crates write a slash instead of OR."""
    return " ".join(licence.replace("/", " OR ").split())


def is_normal(edge: dict) -> bool:
    return any(kind["kind"] is None for kind in edge["dep_kinds"])


@functools.cache
def metadata(*arguments: str) -> dict:
    return json.loads(run("cargo", "metadata", "--locked", "--format-version", "1", *arguments))


def archive_checksums() -> dict[tuple[str, str], str]:
    """Returns the checksums in Cargo.lock. Needs no parser: each package is a block of `key = "value"` lines."""
    checksums = {}
    for block in (TOP / "Cargo.lock").read_text().split("[[package]]\n")[1:]:
        lines = (line.split(" = ", 1) for line in block.splitlines() if " = " in line)
        values = {key: value.strip('"') for key, value in lines}
        if "checksum" in values:
            checksums[values["name"], values["version"]] = values["checksum"]
    return checksums


def run(*command: str) -> str:
    return subprocess.run(command, cwd=TOP, check=True, stdout=subprocess.PIPE, text=True).stdout
