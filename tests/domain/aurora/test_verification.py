from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from headroom.domain.aurora import (
    ModeDiverged,
    ModeIneffective,
    ModePending,
    ModeRelieved,
    ModeVerification,
)
from headroom.domain.aurora.verification import assess
from headroom.domain.guardrails import AuroraPlan
from headroom.domain.resources import AuroraCluster, AuroraObservation, Goal, StorageMode
from headroom.serialization import from_json, to_json
from tests.builders import NOW
from tests.domain.clusters import IO_OPTIMIZED, STANDARD, activity, cluster


def plan(goal: Goal = Goal.COST, target: StorageMode = IO_OPTIMIZED) -> AuroraPlan:
    return AuroraPlan(
        origin=target.other, target=target, goal=goal, why="", monthly_usd=Decimal(1),
        price_change_usd=Decimal(0), reversible=True, restarts=False,
    )  # fmt: skip


def look(
    of: AuroraCluster, *, commits: list[float | None] | float | None = 3.0, at: datetime = NOW
) -> AuroraObservation:
    return AuroraObservation(at=at, cluster=of, activity=activity([1e6] * 15, commit_ms=commits))


def test_a_change_for_money_is_done_when_its_mode_is_in_force() -> None:
    there = assess(plan(), look(cluster(mode=IO_OPTIMIZED)), NOW - timedelta(minutes=5))
    assert isinstance(there, ModeRelieved)
    back = assess(plan(target=STANDARD), look(cluster()), NOW - timedelta(minutes=5))
    assert isinstance(back, ModeRelieved)


@pytest.mark.parametrize(
    ("changes", "hours", "kind"),
    [
        ({}, 0.5, ModePending),
        ({}, 3, ModeDiverged),
        ({"pending_storage_mode": IO_OPTIMIZED}, 30, ModePending),
        ({"status": "modifying"}, 30, ModePending),
    ],
)
def test_one_that_has_not_landed_is_waited_for_while_aws_is_at_it(
    changes: dict[str, object], hours: float, kind: type
) -> None:
    found = assess(plan(), look(cluster(**changes)), NOW - timedelta(hours=hours))
    assert isinstance(found, kind)


def commits(before: float | None, after: float | None) -> AuroraObservation:
    """Three days ago the mode changed."""
    days = [before] * 12 + [after] * 3
    return look(cluster(mode=IO_OPTIMIZED), commits=days)


MIDNIGHT = NOW.replace(hour=0)
CHANGED = MIDNIGHT - timedelta(days=3)
SPEED = plan(Goal.PERFORMANCE)


def test_for_speed_commits_must_have_become_faster_by_a_tenth() -> None:
    found = assess(SPEED, commits(20.0, 8.0), CHANGED)
    assert found == ModeRelieved(detail="commits take 8.0 ms, 20.0 before")
    same = assess(SPEED, commits(20.0, 19.0), CHANGED)
    assert isinstance(same, ModeIneffective)
    assert "something other than the storage's mode" in same.cause


def test_a_day_must_have_passed_before_speed_is_told() -> None:
    found = assess(SPEED, commits(20.0, 8.0), NOW - timedelta(hours=5))
    assert isinstance(found, ModePending)
    assert found.next_reconcile_at == NOW + timedelta(hours=21)


@pytest.mark.parametrize(("before", "after"), [(None, 8.0), (20.0, None), (None, None)])
def test_commits_that_nobody_measured_are_no_success(
    before: float | None, after: float | None
) -> None:
    found = assess(SPEED, commits(before, after), CHANGED)
    assert isinstance(found, ModeIneffective)
    assert "not known" in found.cause


def test_what_became_of_it_is_the_same_there_and_back() -> None:
    for found in (
        assess(SPEED, commits(20.0, 8.0), CHANGED),
        assess(SPEED, commits(20.0, 19.0), CHANGED),
        assess(plan(), look(cluster()), NOW - timedelta(hours=3)),
        assess(plan(), replace(look(cluster())), NOW),
    ):
        assert from_json(to_json(found), ModeVerification) == found
