"""The endpoint that `headroom local up` started in this folder, if one is running."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from headroom.cli.terminal.problems import BadRequest

if TYPE_CHECKING:
    from headroom.localaws.daemon import Endpoint

STATE = Path(".headroom/local")


def running() -> tuple[Endpoint, datetime]:
    """The endpoint and the instant on its clock; raises BadRequest when none is running."""
    from headroom.localaws import daemon

    endpoint = daemon.status(STATE)
    if endpoint is None:
        raise BadRequest("No local endpoint is running here; `headroom local up` starts one.")
    return endpoint, datetime.fromisoformat(endpoint.control("clock")["now"])
