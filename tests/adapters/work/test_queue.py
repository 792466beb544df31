"""The work queue on SQS: what is put on it is read back, in few messages and calls."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from hypothesis import given
from hypothesis import strategies as st
from moto import mock_aws

from headroom.adapters.work import (
    SqsWorkQueue,
    Work,
    read_message,
    retry_delay_s,
    tries_before_parking,
)
from headroom.adapters.work.messages import items_message, page_message
from headroom.domain.resources import Claim, Kind, ResourceRef, SourceEvent
from headroom.ports import ReadFailed, ScanPage, WorkItem
from tests.builders import ACCOUNT, NOW, REGION, ref

REFS = st.one_of(
    st.integers(0, 10**6).map(lambda n: ref(f"vol-{n:x}")),
    st.sampled_from(["orders", "cluster:orders"]).map(
        lambda name: ResourceRef(kind=Kind.RDS, account_id=ACCOUNT, region=REGION, resource_id=name)
    ),
)
EVENTS = st.builds(
    SourceEvent, event_id=st.text(min_size=1), claim=st.sampled_from(list(Claim)),
    claimed_at=st.datetimes().map(lambda at: at.replace(tzinfo=NOW.tzinfo)),
)  # fmt: skip
ITEMS = st.builds(
    WorkItem, ref=REFS, trigger=st.sampled_from(["alarm", "event", "sweep", "due"]),
    since=st.datetimes().map(lambda at: at.replace(tzinfo=NOW.tzinfo)), must_record=st.booleans(),
    events=st.lists(EVENTS, max_size=3).map(tuple),
)  # fmt: skip


@given(items=st.lists(ITEMS, max_size=10).map(tuple))
def test_items_read_back_as_they_were_put(items: tuple[WorkItem, ...]) -> None:
    assert read_message(json.loads(items_message(items))) == Work(items=items)


def test_a_page_reads_back_as_it_was_put() -> None:
    page = ScanPage(scan=NOW, kind="ebs", number=7)
    assert read_message(json.loads(page_message(page))) == Work(page=page)


@pytest.mark.parametrize("body", [7, "text", None, [], {}, {"source": "aws.ec2"}])
def test_what_has_not_our_mark_is_an_event(body: object) -> None:
    assert read_message(body) is None


@pytest.mark.parametrize(
    "asked",
    [
        7, None, {}, {"items": 7}, {"items": [7]}, {"items": [{"arn": "arn:x"}]},
        {"page": {"scan": "yesterday", "kind": "ebs", "number": 0}},
        {"items": [{"arn": ref().arn, "trigger": "whim", "since": "2026-01-05", "must_record": 0}]},
    ],
)  # fmt: skip
def test_work_that_is_not_understood_is_refused(asked: object) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_message({"headroom_work": asked})


@pytest.fixture
def sqs() -> Iterator[Any]:
    with mock_aws():
        yield boto3.client(
            "sqs", region_name=REGION, aws_access_key_id="test", aws_secret_access_key="test"
        )


def test_many_items_take_few_messages_and_use_up_the_room(sqs: Any) -> None:
    url = sqs.create_queue(QueueName="work")["QueueUrl"]
    calls: list[str] = []
    sqs.meta.events.register("before-call.sqs.*", lambda model, **_: calls.append(model.name))
    queue = SqsWorkQueue(lambda: sqs, url=url, workers=8)
    assert queue.room() == 8 * 240
    queue.put([WorkItem(ref=ref(f"vol-{n}"), trigger="due", since=NOW) for n in range(205)])
    assert calls.count("SendMessageBatch") == 3
    assert queue.room() == 8 * 240 - 21 * 10
    queue.put([])
    assert calls.count("SendMessageBatch") == 3


def test_what_fails_is_retried_for_a_day_and_never_waits_longer_than_half_an_hour() -> None:
    delays = [retry_delay_s(received) for received in range(1, tries_before_parking() + 1)]
    assert delays[:7] == [60, 120, 240, 480, 960, 1800, 1800]
    assert max(delays) == 1800
    assert 24 * 3600 <= sum(delays) < 24.5 * 3600


def test_a_failed_message_is_hidden_until_its_next_try(sqs: Any) -> None:
    url = sqs.create_queue(
        QueueName="work", Attributes={"VisibilityTimeout": "0"}
    )["QueueUrl"]  # fmt: skip
    queue = SqsWorkQueue(lambda: sqs, url=url, workers=8)
    queue.put([WorkItem(ref=ref(), trigger="due", since=NOW)])
    (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
    queue.retry_later({message["ReceiptHandle"]: 1})
    assert "Messages" not in sqs.receive_message(QueueUrl=url)


def test_a_queue_that_does_not_answer_is_said(sqs: Any) -> None:
    queue = SqsWorkQueue(lambda: sqs, url=f"https://sqs.{REGION}.amazonaws.com/1/gone", workers=8)
    with pytest.raises(ReadFailed):
        queue.put([WorkItem(ref=ref(), trigger="due", since=NOW)])
    with pytest.raises(ReadFailed):
        queue.room()


def test_an_item_with_thousands_of_events_fits_into_calls_of_256_kb() -> None:
    calls: list[list[str]] = []

    class Sqs:
        """Keeps what is sent."""

        def send_message_batch(self, *, Entries: list[Any], **_: object) -> dict[str, object]:
            calls.append([entry["MessageBody"] for entry in Entries])
            return {}

    events = tuple(
        SourceEvent(event_id=f"{n:0128}", claim=Claim.CHECK_CONTRIBUTORS, claimed_at=NOW)
        for n in range(3_500)
    )
    one = WorkItem(ref=ref(), trigger="alarm", since=NOW, must_record=True, events=events)
    few = [WorkItem(ref=ref(f"vol-x{n}"), trigger="due", since=NOW) for n in range(25)]
    SqsWorkQueue(lambda: Sqs(), url="https://sqs", workers=2).put([one, *few])  # type: ignore[arg-type]
    assert all(sum(map(len, bodies)) < 262_144 for bodies in calls)
    read = [read_message(json.loads(body)) for bodies in calls for body in bodies]
    items = [item for work in read if work is not None for item in work.items]
    assert tuple(e for i in items if i.ref == ref() for e in i.events) == events
    assert [item for item in items if item.ref != ref()] == few
    assert len(calls) == 4
