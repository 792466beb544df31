"""`headroom hub redeliver`: puts events that a hub did not take on its bus again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any

import typer
from botocore.exceptions import BotoCoreError, ClientError

from headroom.adapters.actions import EVENT_SOURCE
from headroom.cli.sources.account import Account, account
from headroom.cli.sources.options import AccountOptions
from headroom.cli.terminal.output import say
from headroom.cli.terminal.problems import FAILED, OK, BadRequest, Problem
from headroom.settings import BUS_ARN

AT_ONCE = 10
"""Messages of one ReceiveMessage and entries of one PutEvents."""
Messages = list[dict[str, Any]]
Send = Callable[[Messages], Messages]
"""Sends messages and answers for each of them, with an ErrorCode where it was refused."""


def redeliver(
    queue: Annotated[str, typer.Option("--queue", help="URL of the queue of undelivered events.")],
    bus: Annotated[
        str | None,
        typer.Option("--bus", help="ARN of the hub's event bus, from a deployment's account."),
    ] = None,
    stream: Annotated[
        str | None,
        typer.Option("--stream", help="Name of the hub's stream, from the hub's account."),
    ] = None,
    *,
    where: AccountOptions,
) -> int:
    """Send undelivered events again: to the hub's bus, or from the hub's own queue to its stream.

    The whole command is an output of the stack: HubRedelivery of a deployment, Redelivery of a hub. Events that
    are refused stay in the queue.
    """
    if (bus is None) == (stream is None):
        raise BadRequest("Give either --bus or --stream.")
    if bus is not None:
        region_of(bus)
    here = account(region=where.region, profile=where.profile, endpoint_url=where.endpoint_url,
                   local=where.local)  # fmt: skip
    send = _to_stream(here, stream) if stream is not None else _to_bus(here, bus or "")
    sqs = here.client("sqs")
    sent = refused = 0
    try:
        while messages := _received(sqs, queue):
            for message, answer in zip(messages, send(messages), strict=True):
                if "ErrorCode" in answer:
                    refused += 1
                    continue
                sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
                sent += 1
            if refused:
                break
    except (ClientError, BotoCoreError, ValueError, KeyError) as problem:
        raise Problem(f"After {sent} events: {problem}") from None
    by = "bus" if stream is None else "stream"
    say(f"Redelivered {sent} events." + (f" The {by} refused {refused}." if refused else ""))
    return FAILED if refused else OK


def _to_bus(here: Account, bus: str) -> Send:
    events = here.client("events", region=region_of(bus))
    return lambda messages: events.put_events(Entries=[_entry(m["Body"], bus) for m in messages])[
        "Entries"
    ]


def _to_stream(here: Account, stream: str) -> Send:
    """As they are: on the bus they would become events of the hub's account."""
    firehose = here.client("firehose")

    def send(messages: Messages) -> Messages:
        for each in messages:
            _refuse_others(json.loads(each["Body"]))
        records = [{"Data": each["Body"].encode()} for each in messages]
        answers: Messages = firehose.put_record_batch(DeliveryStreamName=stream, Records=records)[
            "RequestResponses"
        ]
        return answers

    return send


def region_of(bus: str) -> str:
    """The Region of a bus, by its ARN: EventBridge takes events for it there alone."""
    if not re.fullmatch(BUS_ARN, bus):
        raise BadRequest(f"{bus!r} is not the ARN of an event bus.")
    return bus.split(":")[3]


def _received(sqs: Any, queue: str) -> list[dict[str, Any]]:
    answer = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=AT_ONCE, WaitTimeSeconds=1)
    return list(answer.get("Messages", []))


def _refuse_others(event: Mapping[str, Any]) -> None:
    if event["source"] != EVENT_SOURCE:
        raise ValueError("the queue holds events that are not Headroom's")


def _entry(body: str, bus: str) -> Mapping[str, Any]:
    """The event as it was, but for its id and Region; the bus gives it this account again."""
    event = json.loads(body)
    _refuse_others(event)
    return {
        "Time": datetime.fromisoformat(event["time"]), "Source": event["source"],
        "Resources": event["resources"], "DetailType": event["detail-type"],
        "Detail": json.dumps(event["detail"]), "EventBusName": bus,
    }  # fmt: skip
