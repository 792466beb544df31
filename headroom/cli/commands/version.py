"""`headroom version`."""

from __future__ import annotations

import platform
from importlib.metadata import version as installed

from headroom import __version__
from headroom.cli.sources.options import JsonOption
from headroom.cli.terminal.output import emit, out


def version(as_json: JsonOption = False) -> None:
    """Show the versions of Headroom, Python and boto3."""
    versions = {"headroom": __version__, "python": platform.python_version(),
            "boto3": installed("boto3")}  # fmt: skip
    if as_json:
        emit(versions)
    else:
        out().print(
            f"headroom {versions['headroom']} (Python {versions['python']}, boto3 {versions['boto3']})"
        )
