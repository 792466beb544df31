"""Which engine versions support I/O-Optimized.

Source: Aurora User Guide, "Storage configurations for Amazon Aurora DB clusters" (checked 2026-10).
"""

from __future__ import annotations

import re

_MINIMUM_VERSIONS = {
    "aurora-postgresql": ((13, 10), (14, 7), (15, 2), (16, 1), (17, 4)),
    "aurora-mysql": ((3, 3, 1),),
}
"""The first version of each release line that supports I/O-Optimized; all later lines do."""


def supports_io_optimized(engine: str, engine_version: str) -> bool:
    """Whether AWS documents I/O-Optimized for the version; False for one that is not understood."""
    lines = _MINIMUM_VERSIONS.get(engine)
    text = engine_version.rpartition("mysql_aurora.")[2]
    found = re.match(r"\d+(?:\.\d+)*", text)
    if lines is None or found is None:
        return False
    number = tuple(int(part) for part in found[0].split("."))
    if engine == "aurora-mysql" and number[0] >= 8:  # 8.4 is a separate release line
        return number >= (8, 4, 7)
    line = next((first for first in lines if first[0] == number[0]), None)
    return number[0] > lines[-1][0] if line is None else number >= line
