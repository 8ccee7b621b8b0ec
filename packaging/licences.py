"""Prints the licences of all components of the binary: licences.py TARGET > THIRD-PARTY-LICENSES.txt

Fails when a component has a licence that deny.toml does not allow, or when the text of a licence cannot be found.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from components import TOP, Component, crates, npm_packages, run

TEXT_NAMES = re.compile(r"(?i)^(un)?licen[cs]e|^copying|^copyright|^notice")
RULE = "=" * 100


def main(target: str) -> None:
    components = [one for one in [*toolchain(target), *crates(target), *npm_packages()] if not one.is_ours]
    allowed = set(tomllib.loads((TOP / "deny.toml").read_text())["licenses"]["allow"])
    refused = [f"{one.name} {one.version}: {one.licence or 'no licence'}" for one in components
               if not is_allowed(one.licence, allowed)]
    if refused:
        sys.exit("licences that deny.toml does not allow:\n" + "\n".join(refused))
    # Each text is printed once, however many components it applies to.
    holders: dict[str, list[Component]] = {}
    for one in components:
        for text in texts_of(one):
            holders.setdefault(text, []).append(one)
    print("Sandbox Agent contains third-party software. These are its licences, each with the components it applies to.\n")
    for text, ones in holders.items():
        print(RULE)
        for one in ones:
            print(f"{one.name} {one.version} ({one.licence})")
        print(f"{RULE}\n{text}\n")


def toolchain(target: str) -> list[Component]:
    """Returns the components from the toolchain: the standard library and, in a static binary, the C library."""
    release = re.search(r"^release: (.*)$", run("rustc", "-vV"), re.M)[1]
    sysroot = Path(run("rustc", "--print", "sysroot").strip())
    library = Component("cargo", "std", release, "MIT OR Apache-2.0", sysroot / "share/doc/rust/licenses")
    if "musl" not in target:
        return [library]
    archive = sysroot / f"lib/rustlib/{target}/lib/self-contained/libc.a"
    found = re.search(rb"\0(1\.\d+\.\d+)\0", archive.read_bytes()) if archive.exists() else None
    return [library, Component("generic", "musl", found[1].decode() if found else "unknown", "MIT", archive.parent)]


def is_allowed(licence: str, allowed: set[str]) -> bool:
    """True if an SPDX expression is allowed. AND binds tighter than OR; an exception belongs to its licence."""
    expression = licence.strip()
    if not expression:
        return False
    if "(" in expression:
        # The innermost parentheses are replaced by the word "yes", which is allowed, or "no", which is not.
        inner = re.search(r"\(([^()]*)\)", expression)
        word = "yes" if is_allowed(inner[1], allowed) else "no"
        return is_allowed(expression[:inner.start()] + word + expression[inner.end():], allowed | {"yes"})
    if " OR " in expression:
        return any(is_allowed(part, allowed) for part in expression.split(" OR "))
    if " AND " in expression:
        return all(is_allowed(part, allowed) for part in expression.split(" AND "))
    return expression in allowed


def texts_of(component: Component) -> list[str]:
    """Returns all licence texts that a component contains, or the standard text of its licence if there are none."""
    if component.name == "std":
        files = [component.folder / "MIT.txt", component.folder / "Apache-2.0.txt"]
    elif component.folder.is_dir():
        files = sorted(path for path in component.folder.iterdir() if path.is_file() and TEXT_NAMES.match(path.name))
    else:
        sys.exit(f"{component.name} {component.version} is not at {component.folder}; run make packages")
    texts = [path.read_text(errors="replace").strip() for path in files if path.exists()]
    if not texts and "MIT" in component.licence:
        texts = [f"Copyright (c) {holder_of(component)}\n\n{(TOP / 'packaging/licences/MIT.txt').read_text().strip()}"]
    if not texts and "Apache-2.0" in component.licence:
        texts = [(TOP / "LICENSE").read_text().strip()]
    if not texts:
        sys.exit(f"{component.name} {component.version} ({component.licence}) has no licence text: {component.folder}")
    return texts


def holder_of(component: Component) -> str:
    """Returns the copyright holder for an MIT licence whose text the component does not contain."""
    if component.name == "musl":
        return "2005-2020 Rich Felker, et al."
    manifest = component.folder / "package.json"
    author = json.loads(manifest.read_text()).get("author") if manifest.exists() else None
    name = author.get("name") if isinstance(author, dict) else author
    return name or f"the authors of {component.name}"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        main(sys.argv[1])
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error}")
