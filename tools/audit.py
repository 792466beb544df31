"""A CycloneDX list of what is packed beside the functions' code, and what is known against it.

Writes build/sbom.cdx.json from the packed wheels and their pins, without any network. Then pip-audit
asks for known vulnerabilities: what it finds fails; that it is missing or reaches no database warns.
Source: CycloneDX 1.6 JSON reference (2026-11).
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any

PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+) \\$")
HASH = re.compile(r"^ +--hash=sha256:([0-9a-f]{64})( \\)?$")
VULNERABLE = 1
"""pip-audit's exit code for findings, and for everything that stopped it too."""


class Mismatch(RuntimeError):
    """What is packed is not what is pinned."""


def pins(text: str) -> dict[str, tuple[str, list[str]]]:
    """Version and SHA-256 hashes by normalised name; a pin without a hash has none."""
    found: dict[str, tuple[str, list[str]]] = {}
    name = ""
    for line in text.splitlines():
        if pin := PIN.match(line):
            name = normalised(pin[1])
            found[name] = (pin[2], [])
        elif digest := HASH.match(line):
            found[name][1].append(digest[1])
    return found


def normalised(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def sbom(wheels: Path, pinned: Mapping[str, tuple[str, list[str]]]) -> dict[str, Any]:
    """The CycloneDX document; raises Mismatch where a wheel is not pinned with its hash, or missing."""
    components = sorted(_components(wheels, pinned), key=lambda one: str(one["purl"]))
    missing = pinned.keys() - {normalised(one["name"]) for one in components}
    if missing:
        raise Mismatch(f"pinned and not packed: {', '.join(sorted(missing))}")
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": {"component": {"type": "application", "name": "headroom-functions"}},
        "components": components,
    }  # fmt: skip


def _components(
    wheels: Path, pinned: Mapping[str, tuple[str, list[str]]]
) -> Iterator[dict[str, Any]]:
    for folder in wheels.glob("*.dist-info"):
        about = message_from_bytes((folder / "METADATA").read_bytes())
        name, version = str(about["Name"]), str(about["Version"])
        known, hashes = pinned.get(normalised(name), ("", []))
        if version != known or not hashes:
            raise Mismatch(f"{name} {version} is packed, and not pinned with its hash")
        yield {
            "type": "library", "name": name, "version": version,
            "purl": f"pkg:pypi/{normalised(name)}@{version}",
            "hashes": [{"alg": "SHA-256", "content": one} for one in hashes],
            "licenses": [{"license": {"name": _licence(about)}}],
        }  # fmt: skip


def _licence(about: Message) -> str:
    said = about["License-Expression"] or about["License"]
    classes = [
        c.rpartition(" :: ")[2] for c in about.get_all("Classifier") or () if c[:7] == "License"
    ]
    return str(said or ", ".join(classes) or "unknown").splitlines()[0]


def vulnerabilities(requirements: Path, command: str) -> int:
    """What pip-audit says of the pins: 0, or VULNERABLE; warns where it cannot say."""
    asked = [command, "--requirement", str(requirements), "--require-hashes", "--disable-pip",
             "--progress-spinner", "off", "--format", "json", "--timeout", "20"]  # fmt: skip
    try:
        done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=300)
        answer = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as problem:
        print(f"warning: known vulnerabilities were not looked up: {type(problem).__name__}")
        return 0
    found = [
        f"{each['name']} {each['version']}: {one['id']}, fixed in "
        f"{', '.join(one['fix_versions']) or 'no version'}"
        for each in answer["dependencies"]
        for one in each.get("vulns", ())
    ]
    print("\n".join(found) or "no known vulnerability in what is packed beside the functions")
    return VULNERABLE if found else 0


def main() -> int:
    """Write the list, then look up what is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requirements", type=Path, default=Path("requirements-lambda.txt"))
    parser.add_argument("--wheels", type=Path, default=Path("build/wheels"))
    parser.add_argument("--into", type=Path, default=Path("build/sbom.cdx.json"))
    parser.add_argument("--pip-audit", default="pip-audit")
    said = parser.parse_args()
    try:
        document = sbom(said.wheels, pins(said.requirements.read_text(encoding="utf-8")))
    except Mismatch as problem:
        print(f"{problem}; run make setup", file=sys.stderr)
        return VULNERABLE
    said.into.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{len(document['components'])} packages are listed in {said.into}")
    return vulnerabilities(said.requirements, said.pip_audit)


if __name__ == "__main__":
    sys.exit(main())
