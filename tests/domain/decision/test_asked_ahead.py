"""A raise for load of the coming night that people have to approve: asked for by day, made before the load."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from headroom.domain.decision import (
    Act,
    Decision,
    DecisionInput,
    Hold,
    Proceed,
    Reason,
    StillBlocked,
    Withdrawal,
    decide,
    revalidate,
)
from headroom.domain.state import ApprovalRequest
from headroom.policy import parse_policy
from tests.builders import NOW, activity, decision_input, gp3, observation, resource_state, volume
from tests.domain.earlier import history

LOAD = NOW + timedelta(hours=14)
"""NOW is a Monday noon; the load comes at two in the night."""
WIDE = 400
"""IOPS beside the load."""


def nightly(
    *, at: datetime = NOW, comes: bool = True, asked: ApprovalRequest | None = None, **limits: Any
) -> DecisionInput:
    """A calm gp3 volume of 3,000 IOPS with two hours above its limit in every earlier night."""

    def load(when: datetime) -> float:
        return 3_000.0 if comes and when.hour in (2, 3) else WIDE

    seen = observation(activity([float(WIDE)] * 180, end=at), volume(gp3(300), tags=()))
    past = history(load, days=14, end=at, check=lambda when: 5.0 if load(when) > WIDE else 0.0)
    document = {"version": 1, "defaults": {"mode": "auto", **limits}}
    return decision_input(
        replace(seen, at=at, history=past), rules=parse_policy(document, source="test"),
        stand=resource_state(approval_request=asked), trigger="due",
    )  # fmt: skip


def request_of(decision: Decision) -> ApprovalRequest:
    """The request, approved an hour later."""
    answer = decision.answer
    assert isinstance(answer, Act)
    assert answer.expires is not None
    return ApprovalRequest(
        decision_id=decision.decision_id, requested_at=NOW, expires=answer.expires,
        origin=answer.plan.origin, target=answer.plan.target,
        price_change_usd=answer.plan.price_change_usd, why="the mode is approve", ahead=True,
        approved_at=NOW + timedelta(hours=1), approved_by="arn:dba",
    )  # fmt: skip


@pytest.mark.parametrize(
    "limits",
    [
        {"mode": "approve"},
        {"approve_above_usd_per_month": 5},
        {"mode": "approve", "price_increase_usd_per_month": 20},
    ],
    ids=["every change", "above a price", "as far as a price limit permits"],
)
def test_what_the_night_needs_is_asked_for_at_noon(limits: dict[str, Any]) -> None:
    decision = decide(nightly(**limits))
    answer = decision.answer
    assert isinstance(answer, Act)
    assert answer.reason is Reason.RECURRENCE_EXPECTED
    assert (answer.plan.target.iops or 0) > 3_000
    assert answer.approval is not None
    due = decision.next_change_at
    assert due is not None
    assert LOAD - timedelta(hours=2) <= due < LOAD
    assert answer.approval.endswith(f"once approved it begins about {due:%Y-%m-%d %H:%M} UTC")
    assert answer.expires == due + timedelta(hours=9)
    assert "likely in the hour from 02:00 UTC" in decision.summary


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"mode": "observe"},
        {"mode": "approve", "comes": False},
        {"mode": "approve", "price_increase_usd_per_month": 0},
        {"mode": "approve", "change_windows": ["Fri 10:00-12:00 UTC"]},
    ],
    ids=["nobody has to agree", "observed", "no load", "never allowed", "no change may start"],
)
def test_nobody_is_asked_for_what_needs_nobody_or_may_not_be_made(case: dict[str, Any]) -> None:
    assert isinstance(decide(nightly(**case)).answer, Hold)


@pytest.mark.parametrize(
    "limits",
    [{"mode": "approve"}, {"approve_above_usd_per_month": 5}],
    ids=["every change", "above a price"],
)
@pytest.mark.parametrize(
    ("at", "comes", "outcome"),
    [
        (NOW + timedelta(hours=3), True, StillBlocked),
        (LOAD - timedelta(minutes=40), True, Proceed),
        (NOW + timedelta(hours=3), False, Withdrawal),
    ],
    ids=["too early", "in time", "the load is expected no more"],
)
def test_once_approved_it_waits_for_its_hour(
    limits: dict[str, Any], at: datetime, comes: bool, outcome: type
) -> None:
    """However long ago it was asked for: what is approved is no longer unanswered."""
    asked = decide(nightly(**limits))
    request = request_of(asked)
    found = revalidate(nightly(at=at, comes=comes, asked=request, **limits), asked, request)
    assert isinstance(found, outcome)
    if isinstance(found, StillBlocked):
        assert isinstance(found.decision.answer, Hold)
        assert found.decision.answer.until is not None
        assert LOAD - timedelta(hours=2) <= found.decision.answer.until < LOAD
        assert "waits for the load of earlier days that it is for" in found.decision.summary


def test_while_it_waits_nothing_else_is_asked() -> None:
    waiting = replace(request_of(decide(nightly(mode="approve"))), approved_at=None)
    answer = decide(nightly(at=NOW + timedelta(hours=1), asked=waiting, mode="approve")).answer
    assert isinstance(answer, Hold)
