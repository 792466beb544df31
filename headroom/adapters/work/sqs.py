"""The work queue on SQS: items in few messages, sent ten messages a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headroom.adapters.errors import reading, writing
from headroom.adapters.retries import retry_delay_s
from headroom.adapters.work.messages import items_message, page_message
from headroom.ports import ScanPage, WorkItem, WriteFailed

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

ITEMS_A_MESSAGE = 10
MESSAGES_A_CALL = 10
"""Source: SQS API reference, SendMessageBatch (2026-11)."""
EVENTS_A_MESSAGE = 100
"""Events take up to 200 bytes each, and a call may have 256 KB: in a storm one item can have thousands."""
SOON = 240
"""Items that one worker takes in the two minutes that work may wait on the queue: what is more
starved by then goes first only as long as it is not on the queue."""


class SqsWorkQueue:
    """The one queue of the workers, which events reach as well; `workers` take from it at once."""

    def __init__(self, client: Callable[[], SQSClient], *, url: str, workers: int) -> None:
        self._client: Callable[[], Any] = client
        self._url = url
        self._workers = workers

    def put(self, items: Sequence[WorkItem], *, delay_s: int = 0) -> None:
        """Put items on the queue, ten to a message; raises WriteFailed if one could not be."""
        self._send([items_message(group) for group in _groups(items)], delay_s)

    def put_pages(self, pages: Sequence[ScanPage]) -> None:
        """Put pages on the queue, one to a message; raises WriteFailed if one could not be."""
        self._send([page_message(page) for page in pages], 0)

    def room(self) -> int:
        """How many more items the workers can take soon; raises ReadFailed."""
        with reading("GetQueueAttributes"):
            answer = self._client().get_queue_attributes(
                QueueUrl=self._url, AttributeNames=["ApproximateNumberOfMessages"]
            )
            waiting = int(answer["Attributes"]["ApproximateNumberOfMessages"])
        return max(0, self._workers * SOON - waiting * ITEMS_A_MESSAGE)

    def retry_later(self, received: Mapping[str, int]) -> None:
        """Hide messages, by receipt handle, until their next try; raises WriteFailed.

        The value is how often each was received. One that cannot be hidden longer comes back after
        the queue's own visibility time-out.
        """
        handles = list(received)
        for first in range(0, len(handles), MESSAGES_A_CALL):
            entries = [
                {
                    "Id": str(number), "ReceiptHandle": handle,
                    "VisibilityTimeout": retry_delay_s(received[handle]),
                }
                for number, handle in enumerate(handles[first : first + MESSAGES_A_CALL])
            ]  # fmt: skip
            with writing("ChangeMessageVisibilityBatch"):
                self._client().change_message_visibility_batch(QueueUrl=self._url, Entries=entries)

    def _send(self, bodies: Sequence[str], delay_s: int) -> None:
        lost = 0
        for first in range(0, len(bodies), MESSAGES_A_CALL):
            entries = [
                {"Id": str(number), "MessageBody": body, "DelaySeconds": delay_s}
                for number, body in enumerate(bodies[first : first + MESSAGES_A_CALL])
            ]
            with writing("SendMessageBatch"):
                answer = self._client().send_message_batch(QueueUrl=self._url, Entries=entries)
            lost += len(answer.get("Failed", ()))
        if lost:
            raise WriteFailed(f"SendMessageBatch: {lost} of {len(bodies)} messages were refused")


def _groups(items: Sequence[WorkItem]) -> Iterator[list[WorkItem]]:
    """Items for one message each; one with too many events becomes several of the same resource."""
    group: list[WorkItem] = []
    for item in (part for each in items for part in _parts(each)):
        events = sum(len(one.events) for one in (*group, item))
        if group and (len(group) == ITEMS_A_MESSAGE or events > EVENTS_A_MESSAGE):
            yield group
            group = []
        group.append(item)
    if group:
        yield group


def _parts(item: WorkItem) -> Iterator[WorkItem]:
    for first in range(0, max(1, len(item.events)), EVENTS_A_MESSAGE):
        yield replace(item, events=item.events[first : first + EVENTS_A_MESSAGE])
