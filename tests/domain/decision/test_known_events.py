"""Known events that Headroom cannot serve by itself: people hear of them the day before."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from headroom.domain.decision import (
    KNOWN_EVENT,
    Act,
    Decision,
    DecisionInput,
    Escalate,
    Hold,
    Proceed,
    Reason,
    StillBlocked,
    Withdrawal,
    decide,
    revalidate,
)
from headroom.domain.state import ApprovalRequest, CalendarState, KnownModification
from headroom.policy import parse_policy
from tests.builders import NOW, activity, decision_input, gp3, observation, resource_state, volume
from tests.domain.earlier import Load, history

DUE = NOW + timedelta(hours=14)
"""NOW is a Monday noon."""


def announced(
    *, iops: int = 10_000, due: datetime = DUE, at: datetime = NOW, causes: tuple[str, ...] = (),
    account: dict[str, Any] | None = None, **limits: Any,
) -> DecisionInput:  # fmt: skip
    """A calm gp3 volume of 3,000 IOPS, for which an event of four hours is announced."""
    event = {"name": "boom", "when": f"once {due:%Y-%m-%d %H:%M} UTC", "for": "4h", "iops": iops}
    document = {
        "version": 1, "known_events": [event], "account": account or {},
        "defaults": {"mode": "auto", **limits},
    }  # fmt: skip
    seen = observation(activity([500.0] * 180, end=at), volume(gp3(200), tags=()))
    past = history(lambda _: 500.0, days=7, end=at)
    return decision_input(
        replace(seen, at=at, history=past), rules=parse_policy(document, source="test"),
        stand=resource_state(escalated_causes=causes), trigger="due",
    )  # fmt: skip


def decided(**case: Any) -> Decision:
    return decide(announced(**case))


def test_an_event_while_a_calendar_is_closed_is_raised_for_before_as_in_a_freeze() -> None:
    closes, opens = NOW + timedelta(hours=3), DUE + timedelta(days=1)
    frozen = {
        "from": f"{closes:%Y-%m-%dT%H:%MZ}",
        "until": f"{opens:%Y-%m-%dT%H:%MZ}",
        "reason": "",
    }
    calendar = CalendarState(
        name="ops", open=True, changes_at=closes, closed_ahead=((closes, opens),)
    )
    given = announced(account={"calendars": ["ops"]})
    state = replace(given.resource_state, calendars=(calendar,))
    found = decide(replace(given, resource_state=state))
    as_frozen, neither = decided(account={"freezes": [frozen]}), decided()
    assert found.next_change_at == as_frozen.next_change_at
    assert found.next_change_at is not None
    assert found.next_change_at < closes < neither.next_change_at  # type: ignore[operator]


@pytest.mark.parametrize(
    ("case", "says"),
    [
        ({"change_windows": ["Fri 10:00-12:00 UTC"]}, "is blocked by change_window"),
        (
            {"account": {"freezes": [{"from": "2026-01-05", "until": "2026-01-09"}]}},
            "is blocked by freeze",
        ),
        ({"price_increase_usd_per_month": 5}, "is blocked by price_per_resource"),
        ({"max_iops": 6_000}, "max_iops is 6,000"),
        (
            {"largest_step": 1.5},
            "it takes more than two changes of at most 1.5 times (largest_step)",
        ),
        ({"largest_step": 1.2}, "no change that Headroom may make serves that"),
        (
            {"largest_step": 2, "change_windows": ["Fri 10:00-12:00 UTC"]},
            "no change may start before it, by change_windows, freezes or calendars",
        ),
        (
            {"largest_step": 2, "approve_above_usd_per_month": 5},
            "it takes two changes, and the second is requested only once the first is done",
        ),
    ],
    ids=[
        "window",
        "freeze",
        "price",
        "ceiling",
        "more than two steps",
        "far too small steps",
        "two steps and a window",
        "two steps and approval",
    ],
)
def test_what_cannot_be_served_is_told_the_day_before_and_once(
    case: dict[str, Any], says: str
) -> None:
    answer = decided(**case).answer
    assert isinstance(answer, Escalate)
    assert answer.cause == f"{KNOWN_EVENT} boom of {DUE:%Y-%m}"
    assert says in answer.remedy
    assert f"due at {DUE:%Y-%m-%d %H:%M} UTC and takes 10,000 IOPS" in answer.remedy
    again = decided(**case, causes=(answer.cause,)).answer
    assert isinstance(again, Hold) or isinstance(again, Act) is ("approve" in str(case)), "once"
    assert isinstance(decided(**case, due=NOW + timedelta(days=3)).answer, Hold), "not in sight"


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"iops": 2_900},
        {"iops": 14_000},
        {"mode": "observe"},
        {"change_windows": ["Mon 18:00-20:00 UTC"]},
    ],
    ids=[
        "raised in time",
        "served as it is",
        "by two raises",
        "only watched",
        "a window before it",
    ],
)
def test_nobody_hears_of_what_headroom_serves_or_only_watches(case: dict[str, Any]) -> None:
    assert isinstance(decided(**case).answer, Hold)


@pytest.mark.parametrize("case", [{"mode": "approve"}, {"approve_above_usd_per_month": 10}])
def test_approval_is_asked_for_the_day_before_and_waits_until_the_event_ends(
    case: dict[str, Any],
) -> None:
    answer = decided(**case).answer
    assert isinstance(answer, Act)
    assert answer.reason is Reason.RECURRENCE_EXPECTED
    assert answer.plan.target.iops == 11_000
    assert answer.approval is not None
    assert answer.approval.endswith("once approved it begins shortly before the event")
    assert answer.expires == DUE + timedelta(hours=4)


@pytest.mark.parametrize(
    ("before", "due", "outcome"),
    [
        (timedelta(hours=5), DUE, StillBlocked),
        (timedelta(minutes=40), DUE, Proceed),
        (timedelta(hours=5), DUE + timedelta(days=9), Withdrawal),
    ],
    ids=["too early", "in time", "the event was withdrawn"],
)
def test_an_approved_raise_waits_for_its_event(
    before: timedelta, due: datetime, outcome: type
) -> None:
    asked = decided(mode="approve")
    assert isinstance(asked.answer, Act)
    assert asked.answer.expires is not None
    request = ApprovalRequest(
        decision_id=asked.decision_id, requested_at=NOW, expires=asked.answer.expires,
        origin=asked.answer.plan.origin, target=asked.answer.plan.target,
        price_change_usd=asked.answer.plan.price_change_usd, why="the mode is approve",
        approved_at=NOW + timedelta(hours=1), approved_by="arn:dba",
    )  # fmt: skip
    later = announced(mode="approve", due=due, at=DUE - before)
    found = revalidate(later, asked, request)
    assert isinstance(found, outcome)
    if isinstance(found, StillBlocked):
        assert isinstance(found.decision.answer, Hold)
        assert found.decision.answer.until == DUE - timedelta(minutes=40)


def test_an_approved_raise_that_waits_is_withdrawn_when_other_load_needs_a_change() -> None:
    """Else a starving volume would be held until the event."""
    asked = decided(mode="approve")
    assert isinstance(asked.answer, Act)
    assert asked.answer.expires is not None
    request = ApprovalRequest(
        decision_id=asked.decision_id, requested_at=NOW, expires=asked.answer.expires,
        origin=asked.answer.plan.origin, target=asked.answer.plan.target,
        price_change_usd=asked.answer.plan.price_change_usd, why="the mode is approve",
        approved_at=NOW + timedelta(hours=1), approved_by="arn:dba",
    )  # fmt: skip
    later = announced(mode="approve", at=DUE - timedelta(hours=5))
    assert isinstance(revalidate(later, asked, request), StillBlocked)
    large = activity(  # throughput-bound, which the approved IOPS would not relieve
        [500.0] * 150 + [500.0] * 30, io_kib=256, queue=[1.0] * 150 + [60.0] * 30,
        mibps_check=[0.0] * 150 + [1.0] * 30, end=DUE - timedelta(hours=5),
    )  # fmt: skip
    pressed = replace(later, observation=replace(later.observation, activity=large))
    assert not isinstance(revalidate(pressed, asked, request), StillBlocked)


# --- events whose load stays away


def announced_daily(load: Load, *, check: float = 0.0, raised: int = 7, **more: Any) -> Decision:
    """A week of an event at 22:00 each day, decided at noon; `load` is what came.

    It was raised for, and given back after it, on the latest `raised` days.
    """
    event = {"name": "boom", "when": "daily 22:00 UTC", "for": "3h", "iops": 10_000, **more}
    document = {"version": 1, "known_events": [event], "defaults": {"mode": "auto"}}
    seen = observation(activity([500.0] * 180), volume(gp3(200), tags=()))
    past = history(load, days=7, check=lambda at: check if at.hour >= 22 else 0.0)
    nights = [NOW.replace(hour=21, minute=0) - timedelta(days=day) for day in range(raised, 0, -1)]
    changes = [
        KnownModification(started_at=at, by="headroom", origin=origin, target=target)
        for night in nights
        for at, origin, target in (
            (night, gp3(200), gp3(200, 11_000, 172)),
            (night + timedelta(hours=5), gp3(200, 11_000, 172), gp3(200)),
        )
    ]
    return decide(
        decision_input(
            replace(seen, history=past),
            rules=parse_policy(document, source="test"),
            trigger="due",
            stand=replace(resource_state(), modifications=tuple(changes)),
        )
    )


def test_the_owner_hears_of_an_event_whose_load_stays_away() -> None:
    answer = announced_daily(lambda at: 2_400.0 if at.hour >= 22 else 500.0).answer
    assert isinstance(answer, Escalate)
    assert answer.cause == f"{KNOWN_EVENT} boom without its load in {NOW:%Y-%m}"
    assert "announced with 10,000 IOPS" in answer.remedy
    assert "the last 3 times there were at most 2,4" in answer.remedy


@pytest.mark.parametrize(
    ("load", "more"),
    [
        (lambda at: 6_000.0 if at.hour == 23 and at.day == NOW.day - 2 else 500.0, {}),
        (lambda at: None if at.hour == 23 and at.day == NOW.day - 2 else 500.0, {}),
        (lambda at: 500.0, {"check": 5.0}),
        (lambda at: 500.0, {"iops": 2_900}),
        (lambda at: 500.0, {"raised": 0}),
        (lambda at: 500.0, {"raised": 2}),
        (lambda at: 500.0, {"when": f"weekly {NOW:%a} 01:00 UTC"}),
    ],
    ids=[
        "it came once",
        "not measured",
        "a limit hid more",
        "costs nothing",
        "announced just now",
        "announced two days ago",
        "came once so far",
    ],
)
def test_nobody_hears_of_an_event_whose_load_may_have_come(
    load: Load, more: dict[str, Any]
) -> None:
    assert isinstance(announced_daily(load, **more).answer, Hold)
