"""`headroom doctor`: whether a deployment is complete and healthy, with a fix for each finding."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from headroom.cli.doctor import (
    competitors,
    fleet,
    loop,
    notifying,
    parts,
    permissions,
    resource_alarms,
    rules,
)
from headroom.cli.doctor.contact import Recorder, bundle, recorded
from headroom.cli.doctor.deployed import Deployed, DeployedStacks, deployed
from headroom.cli.doctor.findings import Check, Examined, examine
from headroom.cli.sources.deployment import deployment
from headroom.cli.sources.options import DeploymentOptions, JsonOption
from headroom.cli.terminal.files import refuse_unwritable, save
from headroom.cli.terminal.output import emit, err, say
from headroom.cli.terminal.problems import OK

FOUND = 2
"""Exit code where something was found, as of `headroom plan --all`."""

CHECKS: tuple[tuple[str, Check[Deployed]], ...] = (
    ("stacks", loop.stacks),
    ("tables", parts.tables),
    ("functions", loop.functions),
    ("parts", parts.parts),
    ("permissions", permissions.permissions),
    ("triggers", loop.triggers),
    ("deliveries", parts.deliveries),
    ("queues", loop.queues),
    ("sweep", loop.sweep),
    ("alarms", notifying.alarms),
    ("alarms on single resources", resource_alarms.resource_alarms),
    ("notifications", notifying.people),
    ("policy", rules.policy),
    ("records", rules.records),
    ("pauses and breakers", rules.stops),
    ("limits", rules.limits),
    ("prices", rules.prices),
    ("enrolment", fleet.enrolment),
    ("free space", fleet.free_space),
    ("telemetry tags", fleet.telemetry),
    ("other automations", competitors.competitors),
)
"""In the order in which an owner would fix them."""


def doctor(
    loop_stack: Annotated[
        str | None,
        typer.Option(
            "--loop-stack",
            help="CloudFormation stack that holds the functions. Default: HeadroomLoop beside "
            "HeadroomState, else the stack of the tables.",
        ),
    ] = None,
    contact: Annotated[
        Path | None,
        typer.Option(
            "--contact",
            help="Also write a redacted bundle for the maintainers to this file. Nothing is sent.",
        ),
    ] = None,
    as_json: JsonOption = False,
    *,
    where: DeploymentOptions,
) -> int:
    """Examine a deployment: is it complete and healthy, and what to do where it is not.

    Changes nothing in AWS. What the caller may not read is a finding that names the permission.
    `--contact` writes the findings and the structure of AWS's responses to a file, without ids,
    names, tag values or account numbers.

    Exit code 0 if all is well, 2 if there are findings, 1 if no deployment could be found
    or the input is invalid.
    """
    here, recorder = deployment(where), Recorder()
    is_local = here.account.is_local
    if contact is not None:
        refuse_unwritable(contact)
        here = recorded(here, recorder)
    found = deployed(here, loop_stack, is_local=is_local)
    examined = [examine(name, check, found) for name, check in CHECKS]
    if contact is not None:
        content = bundle(examined, recorder.answers, found.now)
        save(json.dumps(content, indent=2, ensure_ascii=False) + "\n", contact)
        say(f"Wrote {contact}. Nothing was sent. Read it before you send it.", err())
    return report(examined, found, as_json=as_json)


def report(examined: Sequence[Examined], found: DeployedStacks, *, as_json: bool) -> int:
    """Print what was found; the exit code says whether it was anything."""
    place = f"account {found.account.account_id}, {found.account.region}"
    count = sum(len(each.findings) for each in examined)
    if as_json:
        emit({"account": found.account.account_id, "region": found.account.region,
              "at": found.now, "healthy": not count, "findings": count,
              "checks": [_object(each) for each in examined]})  # fmt: skip
    else:
        for each in examined:
            _print(each)
        many = "1 finding" if count == 1 else f"{count} findings"
        say(f"{many} in {place}." if count else f"All is well in {place}.")
    return FOUND if count else OK


def _object(examined: Examined) -> dict[str, object]:
    return {
        "check": examined.name, "ok": not examined.findings,
        "findings": [{"problem": f.problem, "fix": f.fix} for f in examined.findings],
        "facts": [fact.text for fact in examined.facts],
    }  # fmt: skip


def _print(examined: Examined) -> None:
    facts = "; ".join(fact.text for fact in examined.facts)
    if not examined.findings:
        say(f"ok       {examined.name}" + (f": {facts}" if facts else ""))
        return
    for finding in examined.findings:
        say(f"FINDING  {examined.name}: {finding.problem}.", style="bold")
        say(f"         Fix: {finding.fix}.")
    if facts:
        say(f"         {facts}")
