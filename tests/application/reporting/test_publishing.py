"""Every record is published at least once, whoever wrote it and whatever fails between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.application import PublishedRecords, publish_records
from headroom.application.reporting.publishing import BATCH_LIMIT, GIVE_UP, NOTE
from headroom.domain.ledger import (
    PublishingCursor,
    advance_cursor,
    cursor_to_text,
    lease_cursor,
    parse_publishing_cursor,
)
from headroom.domain.ledger.publishing import LEASE, MOST_KEPT, OVERLAP
from headroom.domain.policy import Policy
from headroom.domain.state import Step
from headroom.ports import Delivery, ReadFailed, Recorded, Reporting
from headroom.proving.memory import InMemoryLedger
from tests.builders import ACCOUNT, NOW, REGION, policy
from tests.contracts.decisions import act, append, hold, intended

MINUTE = timedelta(minutes=1)


@dataclass
class Bus:
    """Keeps what is published; what `answers` says becomes of the next batches."""

    got: list[Recorded] = field(default_factory=list)
    answers: list[Delivery] = field(default_factory=list)

    def publish(self, recorded: Sequence[Recorded]) -> tuple[Delivery, ...]:
        answer = self.answers.pop(0) if self.answers else Delivery.ACCEPTED
        if answer is Delivery.ACCEPTED:
            self.got += recorded
        return (answer,) * len(recorded)

    @property
    def published(self) -> list[str]:
        return [f"{r.record.decision_id}/{r.record.sequence}" for r in self.got]


class Rules:
    def current(self) -> Policy:
        return policy()

    fresh = current


class Nobody:
    """People are notified elsewhere."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


class Harness:
    def __init__(self) -> None:
        self.ledger = InMemoryLedger(ACCOUNT, REGION)
        self.bus = Bus()

    def publish_at(self, now: datetime, **how: Any) -> PublishedRecords:
        ledger = self.ledger
        reporting = Reporting(
            notes=ledger, record_summaries=ledger, ledger=ledger, state_store=ledger, switches=ledger,
            policies=Rules(), events=self.bus, announcer=Nobody(), outbox=ledger,
        )  # fmt: skip
        return publish_records(reporting, now, **how)

    def acted(self, decision_id: str = "d1", at: datetime = NOW) -> None:
        decision = act(decision_id, f"vol-{decision_id}", at=at)
        intent = intended(self.ledger, decision, at, lease_until=at + 20 * MINUTE)
        append(self.ledger, decision, Step.APPLIED, at=at, intent=intent)


def test_every_record_of_a_chain_is_reported_in_order_once_with_its_decision() -> None:
    harness = Harness()
    harness.acted()
    result = harness.publish_at(NOW)
    assert (result.published, result.refused) == (3, 0)
    assert harness.bus.published == ["d1/0", "d1/1", "d1/2"]
    decisions = [r.decision and r.decision.decision_id for r in harness.bus.got]
    assert decisions == [None, "d1", "d1"], "the first record has it in its body"
    for minute in range(1, 60):
        assert harness.publish_at(NOW + minute * MINUTE).published == 0
    assert len(harness.bus.published) == 3


def test_what_the_bus_accepted_is_logged_and_what_it_refused_is_not() -> None:
    harness = Harness()
    harness.acted()
    logged: list[Recorded] = []
    harness.bus.answers = [Delivery.REFUSED]
    harness.publish_at(NOW, log=logged.append)
    assert logged == []
    harness.publish_at(NOW + MINUTE, log=logged.append)
    harness.publish_at(NOW + 2 * MINUTE, log=logged.append)
    assert logged == harness.bus.got
    assert [one.record.sequence for one in logged] == [0, 1, 2]


def test_a_record_that_comes_late_into_the_index_is_reported_all_the_same() -> None:
    harness = Harness()
    harness.acted("d1")
    harness.publish_at(NOW)
    harness.ledger.decided(hold("late", "vol-9", at=NOW - 10 * MINUTE), due_at=None)
    harness.publish_at(NOW + MINUTE)
    assert harness.bus.published == ["d1/0", "d1/1", "d1/2", "late/0"]


def test_a_new_deployment_whose_first_runs_fail_or_die_publishes_what_was_recorded_meanwhile() -> (
    None
):
    harness = Harness()
    harness.acted()
    later = NOW + timedelta(hours=20)
    text = cursor_to_text(lease_cursor(PublishingCursor(), later))  # it died right after its claim
    harness.ledger.amend(NOTE, lambda _: (text, None))
    assert harness.publish_at(later + LEASE).published == 3
    assert harness.publish_at(later + LEASE + MINUTE).published == 0


def test_while_the_bus_is_out_nothing_is_lost_and_one_call_a_run_is_tried() -> None:
    harness = Harness()
    for number in range(8):
        harness.acted(f"d{number}", at=NOW + number * MINUTE)
    harness.bus.answers = [Delivery.UNSENT] * 200
    for minute in range(8, 60 * 26, 30):
        left = len(harness.bus.answers)
        harness.publish_at(NOW + minute * MINUTE)
        assert len(harness.bus.answers) == left - 1
    harness.bus.answers = []
    harness.publish_at(NOW + timedelta(hours=27))
    assert len(set(harness.bus.published)) == 24


def test_a_record_the_bus_keeps_refusing_is_left_out_after_hours_and_holds_nothing_up() -> None:
    harness = Harness()
    harness.ledger.decided(hold("bad", "vol-1", at=NOW), due_at=None)
    harness.bus.answers = [Delivery.REFUSED] * 10
    assert harness.publish_at(NOW).refused == 1
    harness.bus.answers = [Delivery.REFUSED]
    last = harness.publish_at(NOW + GIVE_UP + MINUTE)
    assert (last.refused, last.abandoned) == (0, 1)
    harness.bus.answers = []
    harness.acted("d1", at=NOW + GIVE_UP + 2 * MINUTE)
    harness.publish_at(NOW + GIVE_UP + 2 * MINUTE)
    assert harness.bus.published == ["d1/0", "d1/1", "d1/2"]


@dataclass
class Particular(Bus):
    """Never takes the records of one decision, for a reason that may pass."""

    def publish(self, recorded: Sequence[Recorded]) -> tuple[Delivery, ...]:
        self.got += [one for one in recorded if one.record.decision_id != "bad"]
        return tuple(
            Delivery.UNSENT if one.record.decision_id == "bad" else Delivery.ACCEPTED
            for one in recorded
        )


def test_a_record_that_the_bus_may_take_yet_holds_no_other_up_and_is_given_up_after_a_day() -> None:
    harness = Harness()
    harness.bus = Particular()
    harness.ledger.decided(hold("bad", "vol-1", at=NOW), due_at=None)
    for number in range(40):
        at = NOW + timedelta(seconds=number)
        harness.ledger.decided(hold(f"h{number}", f"vol-h{number}", at=at), due_at=None)
    first = harness.publish_at(NOW + MINUTE)
    assert (first.published, first.refused) == (40, 1)
    for hour in range(1, 30):
        at = NOW + timedelta(hours=hour)
        harness.ledger.decided(hold(f"later{hour}", f"vol-l{hour}", at=at), due_at=None)
        assert harness.publish_at(at).abandoned == (hour == 25)
    assert len(set(harness.bus.published)) == 69


def test_records_that_are_gone_from_the_table_hold_no_other_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They expire between the index that names them and the read."""
    harness = Harness()
    for number in range(30):
        at = NOW + timedelta(seconds=number)
        harness.ledger.decided(hold(f"h{number:02}", f"vol-{number}", at=at), due_at=None)
    read = harness.ledger.records
    gone = {f"h{number:02}" for number in range(10)}
    monkeypatch.setattr(
        harness.ledger, "records", lambda keys: read([key for key in keys if key[0] not in gone])
    )
    assert harness.publish_at(NOW + MINUTE).published == 20


def test_only_one_function_publishes_at_a_time_and_a_dead_one_is_replaced() -> None:
    harness = Harness()
    harness.acted()
    held = PublishingCursor(cursor=NOW - MINUTE, lease_until=NOW + LEASE)
    harness.ledger.amend(NOTE, lambda _: (cursor_to_text(held), None))
    assert harness.publish_at(NOW).published == 0
    assert harness.publish_at(NOW + LEASE).published == 3


def test_a_lease_from_a_clock_far_ahead_holds_nobody_up() -> None:
    harness = Harness()
    harness.acted()
    held = PublishingCursor(cursor=NOW - MINUTE, lease_until=NOW + timedelta(days=3))
    harness.ledger.amend(NOTE, lambda _: (cursor_to_text(held), None))
    assert harness.publish_at(NOW).published == 3


def test_a_run_without_time_left_leaves_the_rest_to_the_next() -> None:
    harness = Harness()
    for number in range(8):
        harness.acted(f"d{number}", at=NOW)
    left = iter([100.0, 5.0])
    assert harness.publish_at(NOW, time_left=lambda: next(left)).published == 10
    assert harness.publish_at(NOW + MINUTE).published == 14
    assert len(set(harness.bus.published)) == 24


def test_a_large_day_is_reported_in_parts() -> None:
    harness = Harness()
    for number in range(BATCH_LIMIT + 40):
        at = NOW - timedelta(seconds=BATCH_LIMIT + 40 - number)
        harness.ledger.decided(hold(f"h{number}", f"vol-{number}", at=at), due_at=None)
    assert harness.publish_at(NOW).published == BATCH_LIMIT
    assert harness.publish_at(NOW + MINUTE).published == 40
    assert harness.publish_at(NOW + 2 * MINUTE).published == 0


def test_more_records_at_once_than_keys_are_kept_hold_nothing_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("headroom.domain.ledger.publishing.MOST_KEPT", 50)
    monkeypatch.setattr("headroom.application.reporting.publishing.BATCH_LIMIT", 10)
    harness = Harness()
    harness.publish_at(NOW)
    for number in range(120):
        at = NOW + timedelta(seconds=3 * number)
        harness.ledger.decided(hold(f"h{number}", f"vol-{number}", at=at), due_at=None)
    harness.ledger.pause(None, at=NOW + 7 * MINUTE, who="ann")
    for minute in range(8, 22):
        harness.publish_at(NOW + minute * MINUTE)
    assert len(harness.bus.published) == len(set(harness.bus.published)) == 121
    assert harness.publish_at(NOW + 22 * MINUTE).published == 0


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_whatever_fails_and_whoever_dies_every_record_is_published(data: st.DataObject) -> None:
    harness = Harness()
    fails = st.sampled_from([Delivery.ACCEPTED, Delivery.REFUSED, Delivery.UNSENT])
    written, now = 0, NOW
    harness.publish_at(now)
    for _ in range(data.draw(st.integers(1, 12))):
        now += data.draw(st.integers(1, 40)) * MINUTE
        for _ in range(data.draw(st.integers(0, 4))):
            harness.ledger.decided(hold(f"h{written}", f"vol-{written}", at=now), due_at=None)
            written += 1
        harness.bus.answers = data.draw(st.lists(fails, max_size=3))
        if data.draw(st.booleans()):
            dying(harness, now, data.draw(st.integers(0, 2)))
        else:
            harness.publish_at(now)
    harness.bus.answers = []
    for _ in range(3):
        now += LEASE + MINUTE
        harness.publish_at(now)
    assert set(harness.bus.published) == {f"h{number}/0" for number in range(written)}


class Died(Exception):
    """The function was killed."""


def dying(harness: Harness, now: datetime, after: int) -> None:
    """A run that is killed at its amend number `after`."""
    amend, count = harness.ledger.amend, [0]

    def killed(name: str, change: Any) -> Any:
        count[0] += 1
        if count[0] > after:
            raise Died
        return amend(name, change)

    harness.ledger.amend = killed  # type: ignore[method-assign]
    try:
        harness.publish_at(now)
    except Died:
        pass
    finally:
        harness.ledger.amend = amend  # type: ignore[method-assign]


def test_a_ledger_that_does_not_answer_is_reported_and_loses_nothing() -> None:
    harness = Harness()
    harness.acted()
    records = harness.ledger.records

    def silent(keys: Any) -> Any:
        raise ReadFailed("BatchGetItem")

    harness.ledger.records = silent  # type: ignore[method-assign]
    with pytest.raises(ReadFailed):
        harness.publish_at(NOW)
    harness.ledger.records = records  # type: ignore[method-assign]
    assert harness.publish_at(NOW + MINUTE).published == 3


def test_what_is_kept_is_bounded_and_comes_back_as_it_was() -> None:
    many = [(NOW, f"key-{number}") for number in range(MOST_KEPT + 10)]
    tail = advance_cursor(PublishingCursor(cursor=NOW), published=many, undone=None, now=NOW)
    assert len(tail.published) == MOST_KEPT
    assert parse_publishing_cursor(cursor_to_text(tail)) == tail
    later = advance_cursor(tail, published=[], undone=None, now=NOW + OVERLAP + MINUTE)
    assert later.published == ()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cursor":"2026-01-01"}', "null"])
def test_what_is_no_tail_begins_anew(text: str) -> None:
    assert parse_publishing_cursor(text) == PublishingCursor()
