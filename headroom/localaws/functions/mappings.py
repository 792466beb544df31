"""Event-source mappings of SQS queues: batches, partial failures, redrive by the queue's own rules.

Source: Lambda Developer Guide, "Using Lambda with Amazon SQS" (checked 2026-10).
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from headroom.localaws.functions.fleet import fleet_of
from headroom.localaws.functions.runtime_api import Answer
from headroom.localaws.iam import service_may
from headroom.localaws.state import AccountRegion, Cloud

MOST_PER_RECEIVE = 10
TAKES = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes")
"""What a function's role must allow. Source: Lambda Developer Guide, "Using Lambda with Amazon SQS" (2026-11)."""


class MappingPoller:
    """Polls the queues of all enabled mappings, in order of creation."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._lock = threading.Lock()
        self._receiving = threading.Lock()

    def poll(self) -> int:
        """Deliver every visible message to its function; returns how many batches ran."""
        with self._lock:
            return sum(self._drain(mapping) for mapping in list(_mappings()))

    def _drain(self, mapping: Any) -> int:
        if not self._may_take(mapping):
            return 0
        scaling = mapping.scaling_config or {}
        workers = min(
            self._cloud.options.workers, int(scaling.get("MaximumConcurrency", sys.maxsize))
        )
        if workers < 2:
            return self._run_batches(mapping)
        with ThreadPoolExecutor(workers) as pool:
            return sum(pool.map(self._run_batches, [mapping] * workers))

    def _run_batches(self, mapping: Any) -> int:
        """One batch after the other until there is none."""
        batches = 0
        while mapping.enabled and (messages := self._receive(mapping)):
            self._run(mapping, messages)
            batches += 1
        return batches

    def _may_take(self, mapping: Any) -> bool:
        """Whether the function's role lets Lambda take from the queue; all three are needed."""
        model = fleet_of(self._cloud).model(mapping.function_arn)
        return model is not None and all(
            service_may(self._cloud, model.role, "lambda", action, mapping.event_source_arn)
            for action in TAKES
        )

    def _receive(self, mapping: Any) -> list[Any]:
        backend, name = _queue(mapping)
        queue = backend.queues.get(name)
        if queue is None:
            return []
        messages: list[Any] = []
        with self._receiving:
            while len(messages) < mapping.batch_size:
                count = min(MOST_PER_RECEIVE, mapping.batch_size - len(messages))
                got = backend.receive_message(name, count, 0, queue.visibility_timeout, ["All"])
                messages += got
                if len(got) < count:
                    break
        return messages

    def _run(self, mapping: Any, messages: list[Any]) -> None:
        records = [_record(mapping, message) for message in messages]
        answer = fleet_of(self._cloud).invoke(
            mapping.function_arn, json.dumps({"Records": records}).encode()
        )
        partial = "ReportBatchItemFailures" in (mapping.function_response_types or ())
        failed = failed_items(answer, [m.id for m in messages], partial=partial)
        backend, name = _queue(mapping)
        with self._receiving:
            for message in messages:
                if message.id not in failed:
                    backend.delete_message(name, message.receipt_handle)


def failed_items(answer: Answer, ids: list[str], *, partial: bool) -> set[str]:
    """Message ids to leave in the queue after a batch; all of them when the answer is invalid."""
    if not answer.ok:
        return set(ids)
    if not partial:
        return set()
    try:
        body = json.loads(answer.body or b"null")
        named = [item["itemIdentifier"] for item in (body or {}).get("batchItemFailures") or ()]
    except (ValueError, KeyError, TypeError, AttributeError):
        return set(ids)
    return set(named) if set(named) <= set(ids) else set(ids)


def _mappings() -> Iterator[Any]:
    from moto.awslambda.models import lambda_backends

    for _, _, backend in lambda_backends.iter_backends():
        for mapping in list(backend._event_source_mappings.values()):
            if mapping.event_source_arn.split(":")[2] == "sqs":
                yield mapping


def _queue(mapping: Any) -> tuple[Any, str]:
    from moto.sqs import sqs_backends

    arn = str(mapping.event_source_arn)
    return AccountRegion.of_arn(arn).backend(sqs_backends), arn.rsplit(":", 1)[-1]


def _record(mapping: Any, message: Any) -> dict[str, Any]:
    attributes = {
        "ApproximateReceiveCount": str(message.approximate_receive_count),
        "SentTimestamp": str(message.sent_timestamp),
        "SenderId": message.sender_id,
        "ApproximateFirstReceiveTimestamp": str(message.approximate_first_receive_timestamp),
    }
    if message.group_id is not None:
        attributes["MessageGroupId"] = message.group_id
    return {
        "messageId": message.id,
        "receiptHandle": message.receipt_handle,
        "body": message.body,
        "attributes": attributes,
        "messageAttributes": {
            name: {
                "stringValue": value.get("StringValue"),
                "dataType": value.get("DataType"),
                "stringListValues": [],
                "binaryListValues": [],
            }
            for name, value in message.message_attributes.items()
        },
        "md5OfBody": message.body_md5,
        "eventSource": "aws:sqs",
        "eventSourceARN": mapping.event_source_arn,
        "awsRegion": mapping.event_source_arn.split(":")[3],
    }
