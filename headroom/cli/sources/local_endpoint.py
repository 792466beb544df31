"""The endpoint that `headroom local up` started in this folder, if one is running."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from headroom.cli.terminal.problems import BadRequest

STATE = Path(".headroom/local")


def running() -> tuple[str, datetime]:
    """Its URL and the instant on its clock; raises BadRequest when none is running."""
    from headroom.localaws import daemon

    endpoint = daemon.status(STATE)
    if endpoint is None:
        raise BadRequest("No local endpoint is running here; `headroom local up` starts one.")
    return endpoint.url, datetime.fromisoformat(endpoint.control("clock")["now"])
