"""Where events, schedules and alarm actions can be sent: queues, topics, functions, logs."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass, field
from typing import Any

from headroom.localaws.state import AccountRegion, Cloud


class Undeliverable(RuntimeError):
    """The target does not exist or accepts nothing."""


def send_message(
    account_region: AccountRegion, arn: str, body: str, group: str | None = None
) -> None:
    """SendMessage; raises Undeliverable when the queue does not exist."""
    from moto.sqs import sqs_backends
    from moto.sqs.exceptions import QueueDoesNotExist

    _, _, _, region, account, name = arn.split(":")
    try:
        sqs_backends[account][region or account_region.region].send_message(
            queue_name=name, message_body=body, group_id=group
        )
    except QueueDoesNotExist as error:
        raise Undeliverable(f"No queue {arn}") from error


def send_dead_letter(arn: str, body: str, why: str) -> None:
    """Park what could not be delivered, with the reason as message attributes."""
    from moto.sqs import sqs_backends

    attributes = {
        "ERROR_CODE": {"DataType": "String", "StringValue": "INVALID_TARGET"},
        "ERROR_MESSAGE": {"DataType": "String", "StringValue": why[:256]},
    }
    AccountRegion.of_arn(arn).backend(sqs_backends).send_message(
        queue_name=arn.rsplit(":", 1)[-1], message_body=body, message_attributes=attributes
    )


def publish_to_topic(arn: str, message: str, subject: str | None) -> None:
    """Publish to a topic; raises Undeliverable when it does not exist."""
    from moto.core.exceptions import ServiceException
    from moto.sns import sns_backends

    try:
        AccountRegion.of_arn(arn).backend(sns_backends).publish(
            message=message, arn=arn, subject=subject[:100] if subject else None
        )
    except ServiceException as error:
        raise Undeliverable(f"No topic {arn}: {error}") from error


def invoke_function(cloud: Cloud, arn: str, body: str) -> None:
    """Call a function asynchronously; raises Undeliverable when it does not exist."""
    if cloud.functions is None or not cloud.functions.knows(arn):
        raise Undeliverable(f"No function {arn}")
    cloud.functions.invoke_later(arn, body.encode())


@dataclass(slots=True)
class Streams:
    """Firehose streams of an account and Region by name: the configuration of their S3 destination."""

    destinations: dict[str, dict[str, Any]] = field(default_factory=dict)


def streams_of(cloud: Cloud, account_region: AccountRegion) -> Streams:
    """The streams there."""
    return cloud.part(Streams, account_region, Streams)


def put_on_stream(cloud: Cloud, arn: str, body: str) -> None:
    """Put a record, which is an object of its own in the bucket at once; raises Undeliverable."""
    from moto.s3 import s3_backends

    place, name = AccountRegion.of_arn(arn), arn.rsplit("/", 1)[-1]
    destination = streams_of(cloud, place).destinations.get(name)
    if destination is None:
        raise Undeliverable(f"No stream {arn}")
    now = cloud.clock.now()
    prefix = re.sub(
        r"!\{timestamp:([A-Za-z-]+)\}", lambda m: now.strftime(_JAVA[m[1]]), destination["Prefix"]
    )
    processors = (destination.get("ProcessingConfiguration") or {}).get("Processors") or ()
    lines = any(one["Type"] == "AppendDelimiterToRecord" for one in processors)
    data = (body + ("\n" if lines else "")).encode()
    zipped = destination.get("CompressionFormat") == "GZIP"
    key = f"{prefix}{name}-1-{now:%Y-%m-%d-%H-%M-%S}-{cloud.ids.uuid('object')}"
    s3_backends[place.account]["aws"].put_object(
        destination["BucketARN"].rsplit(":", 1)[-1], key + (".gz" if zipped else ""),
        gzip.compress(data) if zipped else data,
    )  # fmt: skip


_JAVA = {"yyyy-MM-dd": "%Y-%m-%d"}
"""Patterns of Java's DateTimeFormatter that are known here."""


def write_log(cloud: Cloud, account_region: AccountRegion, arn: str, body: str) -> None:
    """Write to a log group; raises Undeliverable when it does not exist."""
    from moto.logs import logs_backends

    group = arn.split(":log-group:")[1].removesuffix(":*")
    backend = account_region.backend(logs_backends)
    if group not in backend.groups:
        raise Undeliverable(f"No log group {group}")
    stream = cloud.ids.uuid("log-stream")
    backend.create_log_stream(group, stream)
    now = int(cloud.clock.now().timestamp() * 1000)
    backend.put_log_events(group, stream, [{"timestamp": now, "message": body}])
