"""`headroom hub redeliver`: puts events that a hub did not take on its bus again."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import typer
from botocore.exceptions import BotoCoreError, ClientError

from headroom.adapters.actions import EVENT_SOURCE
from headroom.cli.sources.account import account
from headroom.cli.sources.options import AccountOptions
from headroom.cli.terminal.output import say
from headroom.cli.terminal.problems import FAILED, OK, BadRequest, Problem
from headroom.settings import BUS_ARN

AT_ONCE = 10
"""Messages of one ReceiveMessage and entries of one PutEvents."""


def redeliver(
    queue: Annotated[str, typer.Option("--queue", help="URL of the queue of undelivered events.")],
    bus: Annotated[str, typer.Option("--bus", help="ARN of the hub's event bus.")],
    *,
    where: AccountOptions,
) -> int:
    """Send undelivered events to the hub's bus again. Run it in the deployment's account.

    The stack's output HubRedelivery is the whole command. What the bus refuses stays in the queue.
    """
    region = region_of(bus)
    here = account(region=where.region, profile=where.profile, endpoint_url=where.endpoint_url,
                   local=where.local)  # fmt: skip
    sqs, events = here.client("sqs"), here.client("events", region=region)
    sent = refused = 0
    try:
        while messages := _received(sqs, queue):
            answers = events.put_events(Entries=[_entry(m["Body"], bus) for m in messages])
            for message, answer in zip(messages, answers["Entries"], strict=True):
                if "ErrorCode" in answer:
                    refused += 1
                    continue
                sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
                sent += 1
            if refused:
                break
    except (ClientError, BotoCoreError, ValueError, KeyError) as problem:
        raise Problem(f"After {sent} events: {problem}") from None
    say(f"Redelivered {sent} events." + (f" The bus refused {refused}." if refused else ""))
    return FAILED if refused else OK


def region_of(bus: str) -> str:
    """The Region of a bus, by its ARN: EventBridge takes events for it there alone."""
    if not re.fullmatch(BUS_ARN, bus):
        raise BadRequest(f"{bus!r} is not the ARN of an event bus.")
    return bus.split(":")[3]


def _received(sqs: Any, queue: str) -> list[dict[str, Any]]:
    answer = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=AT_ONCE, WaitTimeSeconds=1)
    return list(answer.get("Messages", []))


def _entry(body: str, bus: str) -> Mapping[str, Any]:
    """The event as it was, but for its id and Region; the bus gives it this account again."""
    event = json.loads(body)
    if event["source"] != EVENT_SOURCE:
        raise ValueError("the queue holds events that are not Headroom's")
    return {
        "Time": datetime.fromisoformat(event["time"]), "Source": event["source"],
        "Resources": event["resources"], "DetailType": event["detail-type"],
        "Detail": json.dumps(event["detail"]), "EventBusName": bus,
    }  # fmt: skip
