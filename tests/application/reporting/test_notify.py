"""People hear of every record that they must hear of, at least once, within the rate, whatever fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.application import NotificationReport, notify_people
from headroom.application.reporting.notify import MOST_FAILURES, NOTE
from headroom.domain.policy import Policy, PolicyUnreadable
from headroom.domain.reports import parse_rate_window
from headroom.domain.reports.message_rate import LEASE, WINDOW
from headroom.domain.state import Notice, Notify, Step
from headroom.ports import NoticeDetail, NotSent, ReadFailed, Reporting
from headroom.proving.memory import InMemoryLedger
from tests.builders import ACCOUNT, NOW, REGION, ref
from tests.contracts.decisions import act, append, broken, escalate, intended

MINUTE = timedelta(minutes=1)
Message = tuple[str, ...]


class Crash(BaseException):
    """The function is gone."""


@dataclass
class People:
    """Keeps the decisions that each message is about; `errors` befall the next messages, in order."""

    heard: list[Message] = field(default_factory=list)
    errors: list[BaseException | None] = field(default_factory=list)

    def notify(self, detail: NoticeDetail) -> None:
        self._send((detail.notice.decision_id,))

    def summarize(self, notices: Sequence[Notice]) -> None:
        self._send(tuple(notice.decision_id for notice in notices))

    def report(self, day: Any) -> None:
        raise AssertionError

    def _send(self, message: Message) -> None:
        error = self.errors.pop(0) if self.errors else None
        if isinstance(error, NotSent):
            raise error
        self.heard.append(message)  # any other error comes after the effect
        if error is not None:
            raise error

    @property
    def of(self) -> set[str]:
        return {each for message in self.heard for each in message}


class Harness:
    def __init__(self, most: int = 20) -> None:
        self.ledger = InMemoryLedger(ACCOUNT, REGION)
        self.people = People()
        self.rules: Policy | PolicyUnreadable = Policy(version="", messages_per_hour=most)
        self.calls, self.crash_at = 0, -1

    def escalated(self, *names: str, at: datetime = NOW) -> None:
        for name in names:
            notify = Notify(text=f"{name} needs you")
            self.ledger.decided(escalate(name, "max_iops", at=at), due_at=None, notify=notify)

    def run(self, now: datetime = NOW, **how: Any) -> NotificationReport:
        behind: Any = _Watched(self, self.ledger)
        rules: Any = SimpleNamespace(current=lambda: self.rules)
        reporting = Reporting(
            notes=behind, record_summaries=behind, ledger=behind, state_store=behind,
            switches=behind, policies=rules, events=behind, announcer=_Watched(self, self.people),  # type: ignore[arg-type]
            outbox=behind,
        )  # fmt: skip
        return notify_people(reporting, now, **how)


class _Watched:
    """A port that dies after its harness's `crash_at`th call."""

    def __init__(self, harness: Harness, real: Any) -> None:
        self._harness, self._real = harness, real

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._real, name)

        def called(*args: Any, **named: Any) -> Any:
            harness = self._harness
            if 0 < harness.crash_at <= harness.calls:
                raise Crash  # nothing of a dead function runs, no clean-up either
            answer = real(*args, **named)
            harness.calls += 1
            if harness.calls == harness.crash_at:
                raise Crash
            return answer

        return called


def test_what_was_recorded_is_heard_once_oldest_first() -> None:
    harness = Harness()
    harness.escalated("b", at=NOW + MINUTE)
    harness.escalated("a")
    assert harness.run(NOW + MINUTE).sent == 2
    assert harness.people.heard == [("a",), ("b",)]
    for minute in range(2, 70):
        assert harness.run(NOW + minute * MINUTE).sent == 0
    assert len(harness.people.heard) == 2


def test_without_anything_to_hear_one_read_is_all_it_takes() -> None:
    harness = Harness()
    harness.run()
    assert harness.calls == 1
    assert harness.ledger.note(NOTE) == ""


@pytest.mark.parametrize("most", [1, 2, 20])
def test_whoever_dies_at_whatever_call_everything_is_heard(most: int) -> None:
    """Crash after each call in turn; the next run, after the lease, sends what is left."""
    crash_at = 0
    while True:
        crash_at += 1
        harness = Harness(most)
        harness.escalated("a", "b", "c")
        harness.ledger.pause(None, at=NOW, who="ann")
        harness.crash_at = crash_at
        try:
            harness.run()
        except Crash:
            pass
        else:
            break
        harness.crash_at = -1
        for hour in range(1, 4):
            harness.run(NOW + hour * (WINDOW + LEASE))
        assert {"a", "b", "c"} < harness.people.of, f"call {crash_at}"
        assert len(harness.people.of) == 4
        assert len(harness.people.heard) <= 5, "only the one that was under way is heard twice"
        assert harness.ledger.notices(9) == ()
    assert crash_at > 5


def test_while_sns_refuses_nothing_is_lost_and_no_place_is_used_up() -> None:
    harness = Harness(most=4)
    harness.escalated("a")
    for minute in range(90):
        harness.people.errors = [NotSent("AuthorizationError")]
        assert harness.run(NOW + minute * MINUTE).failed == 1
    assert parse_rate_window(harness.ledger.note(NOTE)).sent == ()
    harness.people.errors = []
    assert harness.run(NOW + 90 * MINUTE).sent == 1
    assert harness.people.heard == [("a",)]


def test_after_an_unknown_result_the_message_is_sent_again_within_the_rate() -> None:
    harness = Harness(most=4)
    harness.escalated("a")
    for minute in range(60):
        harness.people.errors = [TimeoutError()] * 9
        harness.run(NOW + minute * MINUTE)
    assert harness.people.heard == [("a",)] * 3, "three quarters of the rate, then it waits"
    harness.people.errors = []
    harness.run(NOW + 3 * WINDOW)
    assert harness.ledger.notices(9) == ()


def test_one_message_that_always_fails_does_not_hold_up_the_others() -> None:
    harness = Harness()
    harness.escalated("a")
    harness.escalated("b", "c", at=NOW + MINUTE)
    for minute in range(1, 4):
        harness.people.errors = [NotSent("InvalidParameter")]
        harness.run(NOW + minute * MINUTE)
    assert harness.people.of == {"b", "c"}
    harness.people.errors = [NotSent("down")] * 99
    assert harness.run(NOW + 4 * MINUTE).failed == 1
    harness.escalated(*(f"more-{n}" for n in range(9)), at=NOW + 4 * MINUTE)
    assert harness.run(NOW + 5 * MINUTE).failed == MOST_FAILURES


def test_more_than_the_rate_allows_goes_in_one_message_with_the_last_place() -> None:
    harness = Harness(most=8)
    names = [f"e{n}" for n in range(50)]
    harness.escalated(*names)
    assert harness.run().sent == 6, "three quarters of eight"
    assert [len(message) for message in harness.people.heard] == [1, 1, 1, 1, 1, 45]
    assert harness.people.of == set(names)
    assert harness.ledger.notices(9) == ()


def test_what_comes_after_the_last_place_waits_and_is_heard_together() -> None:
    harness = Harness(most=4)
    harness.escalated("a", "b", "c")
    harness.run()
    harness.escalated("d", "e", "f", at=NOW + MINUTE)
    assert harness.run(NOW + MINUTE).waiting == 3
    assert harness.run(NOW + WINDOW).sent == 3
    assert harness.people.of == {"a", "b", "c", "d", "e", "f"}


def test_what_stops_all_changes_is_heard_first_though_the_rate_is_used_up() -> None:
    harness = Harness(most=4)
    harness.escalated(*(f"e{n}" for n in range(9)))
    harness.run()
    harness.ledger.pause(None, at=NOW + MINUTE, who="ann")
    assert harness.run(NOW + MINUTE).sent == 1
    assert len(harness.people.heard) == 4
    assert harness.people.heard[-1][0].startswith("paused#")


def test_even_one_message_an_hour_reports_everything() -> None:
    harness = Harness(most=1)
    harness.escalated("a", "b")
    for minute in range(0, 200, 5):
        harness.run(NOW + minute * MINUTE)
    assert harness.people.of == {"a", "b"}


def test_an_unreadable_policy_does_not_lift_the_rate() -> None:
    harness = Harness()
    harness.rules = PolicyUnreadable(reason="gone")
    harness.escalated(*(f"e{n}" for n in range(40)))
    assert harness.run().sent == 15
    assert len(harness.people.of) == 40


def test_two_functions_at_once_send_nothing_twice() -> None:
    harness = Harness()
    harness.escalated("a")
    second: list[NotificationReport] = []

    def meanwhile(detail: NoticeDetail) -> None:
        harness.people.heard.append((detail.notice.decision_id,))
        second.append(harness.run())

    harness.people.notify = meanwhile  # type: ignore[method-assign]
    harness.run()
    assert harness.people.heard == [("a",)]
    assert second == [NotificationReport()]


def test_without_time_left_the_next_run_sends() -> None:
    harness = Harness()
    harness.escalated("a")
    assert harness.run(time_left=lambda: 5.0).waiting == 1
    assert harness.run(NOW + MINUTE, time_left=lambda: 60.0).sent == 1


def test_a_decision_that_cannot_be_read_is_reported_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness, found = Harness(), []
    harness.escalated("a")

    def unread(decision_id: str) -> Any:
        raise ReadFailed(decision_id)

    monkeypatch.setattr(harness.ledger, "decision", unread)
    monkeypatch.setattr(harness.people, "notify", found.append)
    harness.run()
    assert [(d.notice.decision_id, d.decision) for d in found] == [("a", None)]


def test_a_breaker_is_reported_with_the_decision_that_opened_it() -> None:
    harness, found = Harness(), []
    broken(harness.ledger, "vol-1", at=NOW)
    harness.people.notify = found.append  # type: ignore[method-assign]
    harness.run()
    (detail,) = found
    assert detail.notice.step is Step.BREAKER_OPENED
    assert detail.decision is not None
    assert detail.decision.observation.volume.ref == ref("vol-1")


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_every_record_is_heard_whatever_fails_and_never_above_the_rate(data: st.DataObject) -> None:
    """Laws: nothing lost, nothing above the rate, in any order of faults, crashes and arrivals."""
    harness = Harness(most := data.draw(st.sampled_from([1, 2, 5, 20])))
    faults = st.sampled_from([None, None, NotSent("no"), TimeoutError(), Crash()])
    now, written, sent_at = NOW, [], []
    note: Callable[[Message], None] = harness.people._send

    def send(message: Message) -> None:
        sent_at.append(now)
        try:
            note(message)
        except NotSent:
            sent_at.pop()
            raise

    harness.people._send = send  # type: ignore[method-assign]
    for number in range(data.draw(st.integers(1, 12))):
        now += timedelta(minutes=data.draw(st.integers(0, 25)))
        for each in range(data.draw(st.integers(0, 6))):
            harness.escalated(name := f"e{number}-{each}", at=now)
            written.append(name)
        harness.people.errors = data.draw(st.lists(faults, max_size=3))
        harness.calls, harness.crash_at = 0, data.draw(st.sampled_from([-1, -1, *range(1, 12)]))
        try:
            harness.run(now)
        except Crash:
            now += LEASE
        assert sum(at > now - WINDOW for at in sent_at) <= most
    harness.people.errors, harness.crash_at = [], -1
    for _ in range(4):
        now += WINDOW + LEASE
        harness.run(now)
    assert harness.people.of == set(written)
    assert harness.ledger.notices(9) == ()


def test_an_end_that_waits_for_a_set_is_heard_though_its_decision_names_none() -> None:
    harness = Harness()
    decision = act("d", "vol-1")
    intent = intended(harness.ledger, decision, lease_until=NOW + 20 * MINUTE)
    append(harness.ledger, decision, Step.APPLIED, at=NOW, intent=intent)
    harness.ledger.append(
        "d", Step.RELIEVED, ref=ref("vol-1"), at=NOW + MINUTE, summary="relieved", body={},
        fencing=intent.fencing, due_at=None, notify=Notify(text="relieved", ends_set=True),
    )  # fmt: skip
    assert harness.run(NOW + MINUTE).sent == 1


def requested(harness: Harness, names: Sequence[str], at: datetime) -> None:
    """Requests for approval, one for each name."""
    for name in names:
        decision = act(name, f"vol-{name}", at=at)
        harness.ledger.decided(decision, due_at=None)
        harness.ledger.append(
            name, Step.AWAITING, ref=decision.observation.volume.ref, at=at, summary="waits", body={},
            fencing=None, due_at=None, notify=Notify(text=f"{name} waits"),
        )  # fmt: skip


def test_every_request_of_a_storm_is_heard_at_once_and_leaves_places_for_the_next() -> None:
    harness = Harness(most=20)
    harness.escalated(*(f"e{n}" for n in range(30)))
    for wave in range(5):
        at = NOW + wave * 10 * MINUTE
        names = [f"r{wave}.{n}" for n in range(30)]
        requested(harness, names, at)
        harness.run(at)
        assert set(names) <= harness.people.of, f"wave {wave}"
    assert len(harness.people.heard) <= 20
    assert tuple(f"r0.{n}" for n in range(30)) in [
        tuple(sorted(message, key=lambda name: int(name[3:]))) for message in harness.people.heard
        if message[0].startswith("r0")
    ]  # fmt: skip


def test_few_requests_are_heard_one_by_one_and_before_other_news() -> None:
    harness = Harness(most=20)
    harness.escalated("a")
    requested(harness, ["r1", "r2"], NOW + MINUTE)
    harness.run(NOW + MINUTE)
    assert harness.people.heard == [("r1",), ("r2",), ("a",)]
