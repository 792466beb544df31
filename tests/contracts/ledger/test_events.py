"""Records of events: one for each event id, replaced until its outcome is final, listed by time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from headroom.adapters.ledger.event_items import event_item, event_record_of
from headroom.domain.resources import Claim, SourceEvent
from headroom.domain.state import EventOutcome, EventRecord, LedTo, event_record
from tests.builders import NOW, ref

DAY = timedelta(days=1)
READ = EventOutcome(led_to=LedTo.DECISION, which="d1", detail="hold: no pressure")
FAILED = EventOutcome(led_to=LedTo.UNREADABLE, detail="ReadFailed: DescribeVolumes")


def record(
    event_id: str = "e1", outcome: EventOutcome = READ, *, at: datetime = NOW, name: str = "vol-1",
    recorded_at: datetime = NOW,
) -> EventRecord:  # fmt: skip
    event = SourceEvent(event_id=event_id, claimed_at=at, claim=Claim.PRESSURE)
    return event_record(event, (ref(name).arn,), outcome, at=recorded_at)


def listed(ledger: Any, **asked: Any) -> list[EventRecord]:
    return list(ledger.event_records(**({"since": NOW - DAY, "until": NOW + DAY} | asked)))


@pytest.mark.parametrize("led_to", LedTo)
def test_a_record_of_an_event_reads_back_as_it_was_written(ledger: Any, led_to: LedTo) -> None:
    written = record(outcome=EventOutcome(led_to=led_to, which="x", detail="why"))
    ledger.record_events([written])
    assert listed(ledger) == [written]


def test_a_retried_event_has_its_last_outcome_and_a_final_one_stays(ledger: Any) -> None:
    ledger.record_events([record(outcome=FAILED)])
    again = record(outcome=FAILED, recorded_at=NOW + timedelta(minutes=1))
    ledger.record_events([again])
    assert listed(ledger) == [again]
    ledger.record_events([record()])
    ledger.record_events([record(outcome=FAILED, recorded_at=NOW + DAY)])
    ledger.record_events([record(outcome=EventOutcome(led_to=LedTo.GONE))])
    assert listed(ledger) == [record()]


def test_events_of_one_instant_have_a_record_each(ledger: Any) -> None:
    for number in range(30):
        ledger.record_events([record(f"e{number}")])
    assert sorted(r.event.event_id for r in listed(ledger)) == sorted(f"e{n}" for n in range(30))


def test_many_events_are_recorded_at_once_and_a_final_outcome_stays(ledger: Any) -> None:
    ledger.record_events([record("e7"), record("e8", outcome=FAILED)])
    again = EventOutcome(led_to=LedTo.COALESCED, which="x")
    every = [record(f"e{number}", outcome=again) for number in range(120)]
    ledger.record_events([*every, every[0]])
    found = {r.event.event_id: r.outcome for r in listed(ledger)}
    assert found == {r.event.event_id: again for r in every} | {"e7": READ}


def test_events_are_listed_newest_first_by_time_and_resource(ledger: Any) -> None:
    hours = [-30, -5, 0, 5, 20]
    for number, hour in enumerate(hours):
        at = NOW + timedelta(hours=hour)
        ledger.record_events([record(f"e{number}", at=at, name=f"vol-{number % 2}")])
    span = {"since": NOW - timedelta(hours=5), "until": NOW + timedelta(hours=5)}
    assert [r.event.event_id for r in listed(ledger, **span)] == ["e3", "e2", "e1"]
    odd = listed(ledger, **span, resource=ref("vol-1").arn)
    assert [r.event.event_id for r in odd] == ["e3", "e1"]


def test_no_list_of_records_has_an_event(ledger: Any) -> None:
    """They would be published, counted in the digest and sent to people otherwise."""
    ledger.record_events([record()])
    span = {"since": NOW - DAY, "until": NOW + DAY}
    assert list(ledger.by_time(**span)) == []
    assert list(ledger.by_resource(ref("vol-1").arn, **span)) == []
    assert list(ledger.record_summaries(**span)) == []


@pytest.mark.parametrize("text", ["x" * 5_000, "é" * 5_000, "\ud800" * 5_000])
def test_the_longest_record_of_an_event_is_one_write_unit(text: str) -> None:
    event = SourceEvent(event_id=text, claimed_at=NOW, claim=Claim.CHECK_CONTRIBUTORS)
    arns = tuple(ref(f"vol-{number:017x}").arn for number in range(100))
    outcome = EventOutcome(led_to=LedTo.REQUEST_CONCLUDED, which="0" * 32, detail=text)
    item = event_item(event_record(event, arns, outcome, at=NOW), NOW)
    assert sum(len(name) + len(str(value).encode()) for name, value in item.items()) < 1_024
    assert event_record_of(item).resources == arns[:4]
