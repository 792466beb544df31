"""Growth for free space counts once free space is seen to have risen by about what was added."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from headroom.domain.decision import (
    Act,
    Ineffective,
    Pending,
    Relieved,
    Verification,
    assess,
    decide,
)
from headroom.domain.planning import Plan
from headroom.domain.policy import Mode
from headroom.domain.resources import ModificationState, Observation
from tests.builders import NOW, database_policy, decision_input, modification
from tests.domain.filling import Free, filling, free_series

APPLIED = NOW - timedelta(hours=1)


def grown() -> Plan:
    decision = decide(
        decision_input(filling(), rules=database_policy(mode=Mode.AUTO, grow_space=True))
    )
    assert isinstance(decision.answer, Act)
    return decision.answer.plan


def seen(free: Free, state: ModificationState, *, later: timedelta = timedelta(0)) -> Observation:
    plan = grown()
    change = modification(plan.target, origin=plan.origin, started_at=APPLIED, state=state)
    found = filling(plan.target, free, modification=change)
    if later:
        series = free_series(free, period_s=60, count=180, at=NOW + later)
        found = replace(found, at=NOW + later, activity=replace(found.activity, free_gib=series))
    return found


def found(free: Free, state: ModificationState, **later: timedelta) -> Verification:
    return assess(seen(free, state, **later), grown(), APPLIED)


OPTIMIZING, COMPLETED = ModificationState.OPTIMIZING, ModificationState.COMPLETED


@pytest.mark.parametrize(
    ("free", "state", "outcome"),
    [
        (lambda h: 20.0 if h > 0.5 else 50.0, OPTIMIZING, Relieved),
        (lambda h: 10.0 + 10.0 * h if h > 0.5 else 40.0 + 10.0 * h, OPTIMIZING, Relieved),
        (lambda h: 20.0 if h > 0.9 else None, OPTIMIZING, Pending),
        (lambda _: 20.0, OPTIMIZING, Pending),
        (lambda _: 20.0, COMPLETED, Ineffective),
        (lambda h: 20.0 if h > 0.5 else 30.0, COMPLETED, Ineffective),
    ],
)
def test_growth_is_believed_when_free_space_shows_it(
    free: Free, state: ModificationState, outcome: type
) -> None:
    assessed = found(free, state)
    assert isinstance(assessed, outcome), assessed


def test_growth_that_shows_nowhere_within_a_day_is_reported() -> None:
    later = found(lambda _: None, COMPLETED, later=timedelta(hours=40))
    assert isinstance(later, Ineffective)
    assert "not measured" in later.cause
