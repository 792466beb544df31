"""The one message a day: once, of all that matters, however large the fleet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from headroom.adapters.notifications.digest import digest_message
from headroom.adapters.notifications.text import text_of_message
from headroom.application import send_digest
from headroom.application.reporting import digest as application_day
from headroom.application.reporting.digest import LISTED, MOST_READ, NOTE
from headroom.domain.decision import Decision, Hold, Reason
from headroom.domain.policy import Policy, PolicyUnreadable, TimeOfDay
from headroom.domain.policy.time_of_day import time_of_day
from headroom.domain.reports import DailyDigest, DigestCursor
from headroom.domain.reports.daily_digest import (
    LEASE,
    SETTLING,
    digest_cursor_to_text,
    parse_digest_cursor,
)
from headroom.domain.state import QueueEntry, Step
from headroom.ports import Delivery, Recorded, Reporting
from headroom.proving.memory import InMemoryLedger
from tests.builders import ACCOUNT, REGION, policy, ref
from tests.contracts.decisions import about, act, append, broken, escalate, hold, intended

SEVEN = datetime(2026, 1, 6, 7, tzinfo=UTC)
BEFORE = SEVEN - timedelta(hours=5)
MINUTE = timedelta(minutes=1)


@dataclass
class People:
    """Receives digests, or cannot be reached."""

    days: list[DailyDigest] = field(default_factory=list)
    error: Exception | None = None

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)

    def report(self, day: DailyDigest) -> None:
        if self.error is not None:
            raise self.error
        self.days.append(day)


class NoBus:
    def publish(self, recorded: Sequence[Recorded]) -> tuple[Delivery, ...]:
        raise AssertionError


@dataclass
class Rules:
    policy: Policy | PolicyUnreadable = field(default_factory=policy)

    def current(self) -> Policy | PolicyUnreadable:
        return self.policy

    fresh = current


class Harness:
    def __init__(self, ledger: Any = None, at: str | None = "07:00") -> None:
        self.ledger = ledger or InMemoryLedger(ACCOUNT, REGION)
        self.people = People()
        due = None if at is None else time_of_day(at)
        self.rules = Rules(replace(policy(), digest=due))
        self.ledger.amend(
            NOTE,
            lambda _: (
                digest_cursor_to_text(DigestCursor(sent_until=SEVEN - timedelta(days=1))),
                None,
            ),
        )

    def send(self, now: datetime) -> DailyDigest | None:
        ledger = self.ledger
        reporting = Reporting(
            notes=ledger, record_summaries=ledger, ledger=ledger, state_store=ledger, switches=ledger,
            policies=self.rules, events=NoBus(), announcer=self.people, outbox=ledger,
        )  # fmt: skip
        return send_digest(reporting, now, account_id=ACCOUNT, region=REGION)

    def day(self) -> DailyDigest:
        """The day as it is sent a few minutes after seven."""
        self.send(SEVEN + SETTLING)
        (day,) = self.people.days
        return day

    def changed(self, name: str, *ended: Step, at: datetime = BEFORE) -> None:
        decision = act(name, f"vol-{name}", at=at)
        intent = intended(self.ledger, decision, at, lease_until=at + 20 * MINUTE)
        append(self.ledger, decision, Step.APPLIED, at=at, intent=intent)
        for step in ended:
            append(self.ledger, decision, step, at=at + 20 * MINUTE, intent=intent)


def observing(name: str, at: datetime = BEFORE) -> Any:
    base = act(name, f"vol-{name}", at=at)
    plan = base.answer.plan  # type: ignore[union-attr]
    answer = Hold(reason=Reason.OBSERVE_ONLY, until=None, proposed_plan=plan)
    return replace(base, answer=answer, summary=f"held (observe only); would take {plan.target}")


def test_a_day_shows_changes_with_their_price_and_whether_they_helped() -> None:
    harness = Harness()
    harness.changed("a", Step.RELIEVED)
    harness.changed("b", Step.INEFFECTIVE)
    harness.changed("c")
    day = harness.day()
    assert day.changed.count == 3
    assert {c.resource: c.ended for c in day.changes} == {
        "vol-a": Step.RELIEVED, "vol-b": Step.INEFFECTIVE, "vol-c": None,
    }  # fmt: skip
    assert dict(day.ended) == {"relieved": 1, "ineffective": 1}
    assert [g.step for g in day.unsuccessful.newest] == [Step.INEFFECTIVE]
    assert day.increase_usd == Decimal(150)
    assert day.limit_usd == Decimal(2_000)


def test_results_of_earlier_changes_are_counted_apart_and_are_worth_a_digest() -> None:
    harness = Harness()
    late = SEVEN - 5 * MINUTE
    for name in ("a", "b"):  # they end 15 minutes after seven
        harness.changed(name, Step.RELIEVED, at=late)
    requested = act("w", "vol-w", at=late)
    harness.ledger.decided(requested, due_at=None)
    append(harness.ledger, requested, Step.AWAITING, at=late)
    append(harness.ledger, requested, Step.GONE, at=SEVEN + MINUTE)
    harness.send(SEVEN + SETTLING)
    harness.send(SEVEN + timedelta(days=1) + SETTLING)
    first, second = harness.people.days
    assert (first.changed.count, first.ended, first.ended_earlier) == (2, (), ())
    assert (second.changed.count, second.ended) == (0, ())
    assert second.ended_earlier == (("relieved", 2),)
    text = text_of_message(digest_message(second))
    assert "Changes: 0 changes; of earlier changes: 2 helped" in text


def test_a_change_that_was_there_already_counts() -> None:
    harness = Harness()
    decision = act("t", "vol-t", at=BEFORE)
    intent = intended(harness.ledger, decision, BEFORE, lease_until=BEFORE + 20 * MINUTE)
    append(harness.ledger, decision, Step.ALREADY_THERE, at=BEFORE, intent=intent)
    day = harness.day()
    assert day.changed.count == 1
    assert [c.resource for c in day.changes] == ["vol-t"]


def test_a_day_shows_what_would_have_been_done_grouped_with_prices() -> None:
    harness = Harness()
    for number in range(7):
        harness.ledger.decided(observing(f"o{number}"), due_at=None)
    harness.ledger.decided(observing("again", at=BEFORE + MINUTE), due_at=None)
    harness.ledger.decided(hold("h", "vol-h", at=BEFORE), due_at=None)
    day = harness.day()
    (group,) = day.observed
    price = observing("x").answer.proposed_plan.price_change_usd
    assert (group.kind, group.volumes) == ("gp3 raised", 8)
    assert group.price_change_usd == 8 * price
    assert day.held == 8


def test_a_day_shows_what_is_stopped_and_what_needs_somebody() -> None:
    harness = Harness()
    harness.ledger.decided(escalate("e", "max_iops", at=BEFORE), due_at=None)
    broken(harness.ledger, "vol-b", at=BEFORE)
    harness.ledger.pause(None, at=BEFORE, who="ann")
    day = harness.day()
    assert day.stuck
    assert day.pause is not None
    assert [b.resource.rsplit("/", 1)[-1] for b in day.breakers] == ["vol-b"]
    assert day.escalated.count == 1
    assert day.unsuccessful.count == 5


def needs_somebody(ledger: Any, volume_id: str = "vol-1", at: datetime = BEFORE) -> Decision:
    decision = about(escalate(f"e-{volume_id}", "max_iops"), volume_id, at)
    ledger.decided(decision, due_at=None)
    return decision


def test_an_escalation_is_in_every_digest_until_it_is_settled() -> None:
    harness = Harness()
    needs_somebody(harness.ledger)
    blocked = hold("h1", "vol-1", at=BEFORE + MINUTE)
    answer = Hold(reason=Reason.BLOCKED_PERMANENTLY, until=None, proposed_plan=None)
    harness.ledger.decided(replace(blocked, answer=answer), due_at=None)
    for days in range(3):
        harness.send(SEVEN + timedelta(days=days) + SETTLING)
    assert [[g.decision_id for g in d.escalated.newest] for d in harness.people.days] == [
        ["e-vol-1"]
    ] * 3
    assert "since 2026-01-06 02:00 UTC (e-vol-1)" in text_of_message(
        digest_message(harness.people.days[1])
    )
    assert ", since 2026" not in text_of_message(digest_message(harness.people.days[0]))
    assert "1 needs you" in digest_message(harness.people.days[2]).headline


def made_calm(harness: Harness) -> None:
    calm = hold("h", "vol-1", at=BEFORE + MINUTE)
    answer = Hold(reason=Reason.NO_PRESSURE, until=None, proposed_plan=None)
    harness.ledger.decided(replace(calm, answer=answer), due_at=None)


def made_a_change(harness: Harness) -> None:
    harness.changed("1", at=BEFORE + MINUTE)


def deleted(harness: Harness) -> None:
    harness.ledger.forget(ref("vol-1"), at=BEFORE + MINUTE)


@pytest.mark.parametrize("settle", [made_calm, made_a_change, deleted])
def test_an_escalation_that_is_settled_needs_nobody_the_next_morning(
    settle: Callable[[Harness], None],
) -> None:
    harness = Harness()
    needs_somebody(harness.ledger)
    needs_somebody(harness.ledger, "vol-2")
    settle(harness)
    day = harness.day()
    assert [g.decision_id for g in day.escalated.newest] == ["e-vol-2"]
    assert day.escalated.count == 1


def test_an_empty_day_is_reported_neither_then_nor_later() -> None:
    harness = Harness()
    for minute in range(0, 60 * 20, 7):
        assert harness.send(SEVEN + minute * MINUTE) is None
    assert harness.people.days == []


def test_a_day_without_anything_new_is_reported_while_something_is_stuck() -> None:
    harness = Harness()
    harness.ledger.pause(None, at=SEVEN - timedelta(days=5), who="ann")
    assert harness.day().pause is not None


def test_an_unreadable_policy_is_reported_each_day() -> None:
    harness = Harness()
    harness.rules.policy = PolicyUnreadable(reason="SSM parameter /headroom/policy: gone")
    assert harness.day().policy_unreadable == "SSM parameter /headroom/policy: gone"


def test_off_sends_no_digest() -> None:
    harness = Harness(at=None)
    harness.changed("a")
    assert harness.send(SEVEN + timedelta(hours=20)) is None


def test_one_message_a_day_though_the_sweep_runs_every_minute() -> None:
    harness = Harness()
    harness.ledger.pause(None, at=BEFORE, who="ann")
    for minute in range(0, 3 * 24 * 60, 3):
        harness.send(SEVEN - MINUTE + minute * MINUTE)
    assert [d.until for d in harness.people.days] == [SEVEN + timedelta(days=n) for n in range(3)]
    assert [d.since for d in harness.people.days] == [
        SEVEN + timedelta(days=n) for n in range(-1, 2)
    ]


def test_every_record_is_in_exactly_one_day_also_one_at_the_very_instant() -> None:
    harness = Harness()
    for name, at in (("a", SEVEN), ("b", SEVEN + timedelta(microseconds=1))):
        harness.changed(name, at=at)
    harness.send(SEVEN + SETTLING)
    harness.send(SEVEN + timedelta(days=1) + SETTLING)
    days = [[c.decision_id for c in day.changes] for day in harness.people.days]
    assert days == [["a"], ["b"]]


def test_days_on_which_nothing_could_be_sent_are_reported_with_the_next_up_to_a_week() -> None:
    harness = Harness()
    harness.changed("a")
    harness.people.error = RuntimeError("down")
    for minute in range(3):
        with pytest.raises(RuntimeError):
            harness.send(SEVEN + SETTLING + minute * MINUTE)
    harness.people.error = None
    harness.send(SEVEN + timedelta(days=3, minutes=5))
    (day,) = harness.people.days
    assert (day.since, day.until) == (SEVEN - timedelta(days=1), SEVEN + timedelta(days=3))
    assert day.changed.count == 1
    harness.changed("b", at=SEVEN + timedelta(days=29))
    harness.send(SEVEN + timedelta(days=30, minutes=5))
    assert harness.people.days[-1].since == SEVEN + timedelta(days=23)


def test_a_function_that_died_while_sending_is_followed_by_another() -> None:
    harness = Harness()
    harness.changed("a")
    now = SEVEN + SETTLING
    held = DigestCursor(sent_until=SEVEN - timedelta(days=1), lease_until=now + LEASE)
    harness.ledger.amend(NOTE, lambda _: (digest_cursor_to_text(held), None))
    assert harness.send(now) is None
    assert harness.send(now + LEASE) is not None
    assert harness.send(now + LEASE + MINUTE) is None


def test_a_new_deployment_begins_with_its_next_day() -> None:
    harness = Harness()
    harness.ledger.amend(NOTE, lambda _: ("", None))
    harness.changed("a")
    assert harness.send(SEVEN + timedelta(hours=3)) is None
    harness.changed("b", at=SEVEN + timedelta(hours=4))
    day = harness.send(SEVEN + timedelta(days=1, minutes=2))
    assert day is not None
    assert [c.decision_id for c in day.changes] == ["b"]


def test_another_time_of_day_neither_repeats_a_day_nor_loses_one() -> None:
    harness = Harness()
    harness.changed("a")
    harness.send(SEVEN + SETTLING)
    harness.changed("b", at=SEVEN + timedelta(hours=2))
    harness.rules.policy = replace(policy(), digest=TimeOfDay(hour=18, minute=0))
    for minute in range(3, 24 * 60, 5):
        harness.send(SEVEN + minute * MINUTE)
    assert [[c.decision_id for c in d.changes] for d in harness.people.days] == [["a"], ["b"]]


@pytest.mark.parametrize(("night", "hours"), [("2026-03-28", 23), ("2026-10-24", 25)])
def test_a_day_of_the_clocks_may_have_23_or_25_hours(night: str, hours: int) -> None:
    harness = Harness(at="07:00 Europe/Berlin")
    start = datetime.fromisoformat(f"{night}T12:00").replace(tzinfo=UTC)
    harness.ledger.amend(NOTE, lambda _: ("", None))
    harness.ledger.pause(None, at=start, who="ann")
    for minute in range(0, 48 * 60, 5):
        harness.send(start - timedelta(days=1) + minute * MINUTE)
    spans = [day.until - day.since for day in harness.people.days]
    assert spans == [timedelta(hours=24), timedelta(hours=hours)]


def test_a_large_fleet_is_counted_and_read_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application_day, "MOST_COUNTED", 300)
    harness = Harness()
    for number in range(350):
        harness.ledger.decided(observing(f"o{number}"), due_at=None)
    read: list[str] = []
    decision = harness.ledger.decision

    def counting(decision_id: str) -> Any:
        read.append(decision_id)
        return decision(decision_id)

    harness.ledger.decision = counting
    day = harness.day()
    assert len(read) == MOST_READ
    assert (day.observed_read, day.held, day.held_more) == (MOST_READ, 300, True)


def test_what_waits_for_a_person_is_reported_until_somebody_answers() -> None:
    harness = Harness()
    expires = SEVEN + timedelta(hours=6)
    for name in ("w1", "w2"):
        decision = act(name, f"vol-{name}", at=BEFORE)
        answer = replace(decision.answer, approval="the mode is approve", expires=expires)
        harness.ledger.decided(replace(decision, answer=answer), due_at=None)
        append(harness.ledger, decision, Step.AWAITING, at=BEFORE)
    append(harness.ledger, act("w2", "vol-w2", at=BEFORE), Step.WITHDRAWN, at=BEFORE + MINUTE)
    day = harness.day()
    assert [(a.decision_id, a.expires) for a in day.awaiting] == [("w1", expires)]
    (change,) = [a.change for a in day.awaiting]
    assert change is not None
    assert (change.resource, change.price_change_usd) == ("vol-w1", Decimal("48.280"))
    assert day.awaiting_count == 1
    assert len(day.awaiting) <= LISTED


@pytest.mark.parametrize("text", ["", "{", "[]", '{"sent":"2026-01-01T07:00","lease_until":null}'])
def test_what_is_no_mark_begins_anew(text: str) -> None:
    assert parse_digest_cursor(text) == DigestCursor()


def test_what_waits_in_the_queue_is_counted() -> None:
    harness = Harness()
    for name in ("q1", "q2"):
        waiting = QueueEntry(since=BEFORE, starved_minutes=3)
        harness.ledger.reconciled(ref(f"vol-{name}"), at=BEFORE, due_at=None, waiting=waiting)
    assert harness.day().queued == 2
