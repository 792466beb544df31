"""The AWS/SQS metrics that alarms on queues watch, once a minute for every queue that was used."""

from __future__ import annotations

from typing import Any

from headroom.localaws.metrics import MetricKey
from headroom.localaws.state import AccountRegion, Cloud


def publish_queue_metrics(cloud: Cloud) -> None:
    """Report visible, hidden and delayed messages and the age of the oldest."""
    from moto.sqs import sqs_backends

    now = cloud.clock.now()
    for account, region, backend in sqs_backends.iter_backends():
        store = cloud.store(AccountRegion(account, region))
        for queue in list(backend.queues.values()):
            for name, value, unit in _measures(queue, now.timestamp()):
                key = MetricKey.of("AWS/SQS", name, [("QueueName", queue.name)])
                store.put_value(key, now, value, unit=unit)


def _measures(queue: Any, now: float) -> list[tuple[str, float, str]]:
    messages = list(queue._messages)
    hidden = sum(1 for m in messages if not m.visible)
    delayed = sum(1 for m in messages if m.delayed)
    oldest = min((m.sent_timestamp / 1000 for m in messages), default=now)
    return [
        ("ApproximateNumberOfMessagesVisible", float(len(messages) - hidden - delayed), "Count"),
        ("ApproximateNumberOfMessagesNotVisible", float(hidden), "Count"),
        ("ApproximateNumberOfMessagesDelayed", float(delayed), "Count"),
        ("ApproximateAgeOfOldestMessage", max(0.0, now - oldest), "Seconds"),
    ]
