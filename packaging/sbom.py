"""Prints the bill of materials of a package as a CycloneDX document.

    sbom.py binary TARGET    the binary: crates, components of the toolchain, and the embedded inspector
    sbom.py npm WORKSPACE    an npm package

The output is reproducible: it has no serial number, and the only time in it is SOURCE_DATE_EPOCH, if that is set.
"""

import base64
import datetime
import json
import os
import sys

from components import PRODUCT, Component, crates, npm_packages
from licences import toolchain


def binary(target: str) -> dict:
    linked, inside, brought = crates(target), npm_packages("inspector"), toolchain(target)
    product = next(one for one in linked if one.name == PRODUCT)
    # These components are in the binary, but no crate depends on them.
    unnamed = [*(one.address for one in brought), *(one.address for one in inside if one.name == "inspector")]
    return document(product, [*linked, *inside, *brought], {product.address: unnamed}, target)


def npm(workspace: str) -> dict:
    packages = npm_packages(workspace)
    return document(next(one for one in packages if one.name == workspace), packages, {}, None)


def document(product: Component, parts: list[Component], more_needs: dict[str, list[str]], target: str | None) -> dict:
    components = {one.address: one for one in parts}
    itself = {**describe(product), "type": "application" if target else "library"}
    if target:
        itself["properties"] = [{"name": "target", "value": target}]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {**time(), "component": itself},
        "components": [describe(components[address]) for address in sorted(components) if address != product.address],
        "dependencies": [
            {"ref": address, "dependsOn": sorted([*components[address].needs, *more_needs.get(address, [])])}
            for address in sorted(components)
        ],
    }


def time() -> dict:
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is None:
        return {}
    return {"timestamp": datetime.datetime.fromtimestamp(int(epoch), datetime.UTC).isoformat().replace("+00:00", "Z")}


def describe(one: Component) -> dict:
    described = {"type": "library", "bom-ref": one.address, "name": one.name, "version": one.version, "purl": one.address}
    if " " in one.licence:
        described["licenses"] = [{"expression": one.licence}]
    elif one.licence:
        described["licenses"] = [{"license": {"id": one.licence}}]
    if one.checksum:
        described["hashes"] = [{"alg": "SHA-256", "content": one.checksum}]
    elif one.integrity and one.integrity.startswith("sha512-"):
        content = base64.b64decode(one.integrity.removeprefix("sha512-")).hex()
        described["hashes"] = [{"alg": "SHA-512", "content": content}]
    return described


if __name__ == "__main__":
    kinds = {"binary": binary, "npm": npm}
    if len(sys.argv) != 3 or sys.argv[1] not in kinds:
        sys.exit(__doc__)
    json.dump(kinds[sys.argv[1]](sys.argv[2]), sys.stdout, indent=1)
    print()
