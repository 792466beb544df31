"""The actions that IAM knows, of the services that Headroom's roles use.

`actions.json` is written by `python -m tools.iam_actions`; its head says from what, and when.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "actions.json"


@cache
def known_actions() -> frozenset[str]:
    """Every action as policies name it, such as `ec2:ModifyVolume`."""
    services: dict[str, str] = json.loads(FILE.read_text(encoding="utf-8"))["services"]
    return frozenset(
        f"{service}:{name}" for service, names in services.items() for name in names.split()
    )
