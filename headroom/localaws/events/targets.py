"""Where events, schedules and alarm actions can be sent: queues, topics, functions, logs."""

from __future__ import annotations

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
