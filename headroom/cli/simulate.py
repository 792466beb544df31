"""`headroom simulate`: one resource under one load, with AWS's physics and rules."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from headroom.cli.output import emit


class Controller(StrEnum):
    """Who may change the volume in a simulation."""

    HEADROOM = "headroom"
    NONE = "none"


def simulate(
    scenario: Annotated[Path, typer.Argument(help="Scenario file (docs/scenario-format.md).")],
    controller: Annotated[
        Controller, typer.Option(help="Who may change the volume.")
    ] = Controller.HEADROOM,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write a report to this file.")] = None,
) -> None:
    """Run one resource under one load, and score what came of it."""
    emit({})
