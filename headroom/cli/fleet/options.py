"""The options of `headroom plan --all`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from headroom.domain.resources import Kind


class AsIf(StrEnum):
    """Which mode every resource counts as having."""

    AUTO = "auto"


TagOption = Annotated[
    list[str] | None,
    typer.Option(help="Only resources with this tag (KEY=VALUE); repeat it to require several."),
]
KindOption = Annotated[list[Kind] | None, typer.Option(help="Only this kind. Repeatable.")]
CsvOption = Annotated[
    Path | None, typer.Option("--csv", help="Write a line per resource to this file.")
]
HtmlOption = Annotated[Path | None, typer.Option(help="Write a page to this file.")]
ResumeOption = Annotated[
    Path | None,
    typer.Option(help="Keep finished resources in this file, and go on from it if it is there."),
]
ProcessesOption = Annotated[
    int | None, typer.Option(min=1, help="Number of processes. Default: one per core.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetOptions:
    """What a plan for the whole fleet is about, and where it goes."""

    all: Annotated[bool, typer.Option("--all", help="Plan for every resource.")] = False
    tag: TagOption = None
    kind: KindOption = None
    as_if: Annotated[
        AsIf | None,
        typer.Option(help="With --all: plan as if every resource that is not off were enrolled."),
    ] = None
    deep: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="With --all: maximum number of resources that the engine decides about, biggest first. "
            "Default: about all that could change.",
        ),
    ] = None
    csv: CsvOption = None
    html: HtmlOption = None
    resume: ResumeOption = None
    processes: ProcessesOption = None
