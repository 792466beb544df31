"""`headroom plan --all`, once its options are read."""

from __future__ import annotations

import os
from pathlib import Path

from headroom.cli.fleet import page, tables
from headroom.cli.fleet.options import FleetOptions
from headroom.cli.fleet.places import places, tags_of
from headroom.cli.fleet.planning import Request, planned
from headroom.cli.fleet.resume import Finished
from headroom.cli.sources.options import DeploymentOptions
from headroom.cli.terminal.files import refuse_unwritable, save
from headroom.cli.terminal.output import emit, err, out, say
from headroom.cli.terminal.problems import FAILED, OK
from headroom.domain.resources import Kind

CHANGES_DUE = 2


def plan_all(
    options: DeploymentOptions, fleet: FleetOptions, policy: Path | None, *, as_json: bool,
    second_opinion: bool,
) -> int:  # fmt: skip
    """Plan for the whole fleet; 2 when changes are due or possible, 1 after an error, else 0."""
    for path in filter(None, (fleet.csv, fleet.html)):
        refuse_unwritable(path)
    request = Request(
        tags=tags_of(fleet.tag), kinds=frozenset(fleet.kind or Kind),
        as_if_auto=fleet.as_if is not None, deep=fleet.deep,
        processes=fleet.processes or os.cpu_count() or 1, second_opinion=second_opinion,
    )  # fmt: skip
    everywhere = tuple(
        places(options.account, policy, kinds=set(request.kinds), stack=options.stack)
    )
    try:
        with Finished(fleet.resume, request.work(everywhere)) as finished:
            found = planned(everywhere, request, finished)
    except KeyboardInterrupt:
        if fleet.resume is not None:
            say(f"Give --resume {fleet.resume} again to go on from here.", err())
        raise
    if fleet.csv is not None:
        save(tables.as_csv(found), fleet.csv)
    if fleet.html is not None:
        page.write_plan(found, fleet.html)
    for path in filter(None, (fleet.csv, fleet.html)):
        err().print(f"Written: {path}", style="dim", soft_wrap=True)
    if as_json:
        emit(found.to_json())
    else:
        tables.show(found, out())
    total = found.totals
    if total["due"] or total["possible"]:
        return CHANGES_DUE
    return FAILED if total["failed"] else OK
