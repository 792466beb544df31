"""`headroom hub doctor`: whether a hub keeps what arrives, with a fix for each finding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Annotated

import typer

from headroom.cli.commands.doctor import report
from headroom.cli.doctor import loop, notifying, parts
from headroom.cli.doctor.deployed import HubStack, stack_named
from headroom.cli.doctor.findings import Check, Fact, Finding, examine
from headroom.cli.sources.account import account
from headroom.cli.sources.options import AccountOptions, JsonOption
from headroom.cli.terminal.problems import Problem
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
    deployed = stack_named(here.client("cloudformation"), stack)
    if not deployed.status:
        raise Problem(
            f"There is no stack {stack} in {here.region} of {here.account_id}: deploy a hub there, name its "
            "stack with --stack, or use the credentials of the hub's account."
        )
    found = HubStack(stacks=(deployed,), place=here)
    return report([examine(name, check, found) for name, check in CHECKS], found, as_json=as_json)


def _stack(hub: HubStack) -> Iterator[Finding | Fact]:
    (stack,) = hub.stacks
    if stack.status not in loop.COMPLETE:
        yield Finding(problem=f"stack {stack.name} is {stack.status}", fix=REDEPLOY)
    elif hub.output("TopicArn") is None:
        yield Finding(
            problem=f"stack {stack.name} has no output TopicArn of the prefix {hub.account.names.prefix}",
            fix=f"name the hub's prefix with --prefix, or {REDEPLOY}",
        )
    else:
        yield Fact(text=f"{stack.name} is {stack.status}, {len(stack.resources)} resources")


def _storing(hub: HubStack) -> Iterator[Finding | Fact]:
    """The bus lets the organization in, and the stream and the bucket behind it exist."""
    events, firehose, s3 = hub.client("events"), hub.client("firehose"), hub.client("s3")
    for bus in hub.of("AWS::Events::EventBus"):
        found = parts.there(lambda: events.describe_event_bus(Name=bus.physical))  # noqa: B023
        if found is None:
            yield Finding(problem=f"the bus {bus.physical} was deleted", fix=loop.RESTORE)
        elif not found.get("Policy"):
            yield Finding(
                problem=f"the bus {bus.physical} has no policy: no other account may forward events",
                fix=loop.RESTORE,
            )
    for stream in hub.of("AWS::KinesisFirehose::DeliveryStream"):
        name = stream.physical
        found = parts.there(lambda: firehose.describe_delivery_stream(DeliveryStreamName=name))  # noqa: B023
        state = "" if found is None else found["DeliveryStreamDescription"]["DeliveryStreamStatus"]
        if state != "ACTIVE":
            yield Finding(
                problem=f"the stream {name} is {state or 'missing'}: no record is stored",
                fix=loop.RESTORE,
            )
    for bucket in hub.of("AWS::S3::Bucket"):
        if parts.there(lambda: s3.head_bucket(Bucket=bucket.physical)) is None:  # noqa: B023
            yield Finding(
                problem=f"the bucket {bucket.physical} was deleted: no record is stored",
                fix=loop.RESTORE,
            )


CHECKS: tuple[tuple[str, Check[HubStack]], ...] = (
    ("stack", _stack),
    ("parts", parts.parts),
    ("storage", _storing),
    ("rule", loop.triggers),
    ("deliveries", parts.deliveries),
    ("queue", loop.queues),
    ("alarms", notifying.alarms),
    ("notifications", notifying.people),
)
