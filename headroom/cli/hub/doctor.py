"""`headroom hub doctor`: whether a hub keeps what arrives, with a fix for each finding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Annotated

import typer

from headroom.cli.commands.doctor import report
from headroom.cli.doctor import loop
from headroom.cli.doctor.deployed import HubStack, stack_named
from headroom.cli.doctor.findings import Check, Fact, Finding, examine
from headroom.cli.sources.account import account
from headroom.cli.sources.options import AccountOptions, JsonOption
from headroom.settings import Names

REDEPLOY = "deploy the hub's stack again"


def doctor(
    stack: Annotated[
        str, typer.Option("--stack", help="CloudFormation stack of the hub.")
    ] = "HeadroomHub",
    prefix: Annotated[str, typer.Option("--prefix", help="Prefix of the hub.")] = "headroom-hub",
    as_json: JsonOption = False,
    *,
    where: AccountOptions,
) -> int:
    """Examine a hub: whether it is complete, stores what arrives, and notifies somebody if it does not.

    Run it with credentials of the hub's account. Changes nothing in AWS. Exit code 0 if all is well, 2 if
    there are findings.
    """
    here = replace(account(**asdict(where)), names=Names(prefix))
    found = HubStack(stacks=(stack_named(here.client("cloudformation"), stack),), place=here)
    return report([examine(name, check, found) for name, check in CHECKS], found, as_json=as_json)


def _stack(hub: HubStack) -> Iterator[Finding | Fact]:
    (stack,) = hub.stacks
    if stack.status not in loop.COMPLETE:
        yield Finding(problem=f"stack {stack.name} is {stack.status or 'not there'}", fix=REDEPLOY)
    elif hub.output("TopicArn") is None:
        yield Finding(
            problem=f"stack {stack.name} has no output TopicArn of the prefix {hub.account.names.prefix}",
            fix=f"name the hub's prefix with --prefix, or {REDEPLOY}",
        )
    else:
        yield Fact(text=f"{stack.name} is {stack.status}, {len(stack.resources)} resources")


CHECKS: tuple[tuple[str, Check[HubStack]], ...] = (
    ("stack", _stack),
    ("rule", loop.triggers),
    ("queue", loop.queues),
    ("alarms", loop.alarms),
    ("notifications", loop.people),
)
