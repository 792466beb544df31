"""`headroom assess`: what Headroom would have done for a whole fleet, before anything is deployed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from headroom.adapters.cloudwatch import LONGEST_DAYS
from headroom.cli.fleet import assessment_page
from headroom.cli.fleet.assessing import Request, assessed
from headroom.cli.fleet.options import (
    CsvOption,
    HtmlOption,
    KindOption,
    ProcessesOption,
    ResumeOption,
    TagOption,
)
from headroom.cli.fleet.places import places, tags_of
from headroom.cli.fleet.resume import Finished
from headroom.cli.sources.options import AccountOptions, JsonOption
from headroom.cli.terminal.files import refuse_unwritable, save
from headroom.cli.terminal.output import emit, err, out, say
from headroom.cli.terminal.problems import FAILED, OK
from headroom.domain.resources import Kind

USUAL_DAYS = 14
"""CloudWatch keeps minutes for 15 days; what is older is coarser."""


def assess(
    days: Annotated[
        int, typer.Option(min=1, max=LONGEST_DAYS, help="How many days back.")
    ] = USUAL_DAYS,
    tag: TagOption = None,
    kind: KindOption = None,
    policy: Annotated[
        Path | None,
        typer.Option(help="Policy file. Default: the published policy, else the default one."),
    ] = None,
    as_json: JsonOption = False,
    csv: CsvOption = None,
    html: HtmlOption = None,
    resume: ResumeOption = None,
    processes: ProcessesOption = None,
    *,
    options: AccountOptions,
) -> int:
    """Show on one page what Headroom would do for a whole fleet, before anything is deployed.

    Starvation found and ended, dollars up and down, what stays blocked and by which guardrail, and
    what running Headroom costs. Needs read-only credentials and no deployment. --region and --profile
    may name several, with commas. Exit code 1 if a resource cannot be read.
    """
    for path in filter(None, (csv, html)):
        refuse_unwritable(path)
    request = Request(
        days=days, tags=tags_of(tag), kinds=frozenset(kind or Kind),
        processes=processes or os.cpu_count() or 1,
    )  # fmt: skip
    everywhere = tuple(places(options, policy, kinds=set(request.kinds), stack=None))
    try:
        with Finished(resume, request.work(everywhere)) as finished:
            found = assessed(everywhere, request, finished)
    except KeyboardInterrupt:
        if resume is not None:
            say(f"Give --resume {resume} again to go on from here.", err())
        raise
    if csv is not None:
        save(assessment_page.as_csv(found.rows), csv)
    if html is not None:
        save(assessment_page.render(found), html)
    for path in filter(None, (csv, html)):
        err().print(f"Written: {path}", style="dim", soft_wrap=True)
    if as_json:
        emit(found.to_json())
    else:
        assessment_page.show(found, out())
    return FAILED if found.totals["failed"] else OK
