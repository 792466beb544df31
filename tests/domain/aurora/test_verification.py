from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from headroom.domain.aurora import assess_cluster, configuration_of, decide_cluster
from headroom.domain.decision import (
    Act,
    Decision,
    Diverged,
    Ineffective,
    Pending,
    Reason,
    Relieved,
    Verification,
)
from headroom.domain.policy import Mode
from headroom.domain.resources import AuroraCluster, AuroraObservation, StorageMode
from tests.builders import NOW, policy
from tests.domain.clusters import IO_OPTIMIZED, STANDARD, activity, cluster, cluster_input


def act(reason: Reason = Reason.CHEAPER, target: StorageMode = IO_OPTIMIZED) -> Decision:
    decision = decide_cluster(cluster_input(policy(mode=Mode.AUTO)))
    assert isinstance(decision.answer, Act)
    plan = replace(
        decision.answer.plan, origin=configuration_of(target.other), target=configuration_of(target)
    )
    return replace(decision, answer=Act(reason=reason, plan=plan))


def assess(
    decision: Decision, observation: AuroraObservation, applied_at: datetime
) -> Verification:
    assert isinstance(decision.answer, Act)
    return assess_cluster(decision, decision.answer.plan, observation, applied_at)


def observed(
    of: AuroraCluster, *, commits: list[float | None] | float | None = 3.0, at: datetime = NOW
) -> AuroraObservation:
    return AuroraObservation(at=at, cluster=of, activity=activity([1e6] * 15, commit_ms=commits))


def test_a_change_for_money_is_done_when_its_mode_is_in_force() -> None:
    there = assess(act(), observed(cluster(mode=IO_OPTIMIZED)), NOW - timedelta(minutes=5))
    assert isinstance(there, Relieved)
    back = assess(act(target=STANDARD), observed(cluster()), NOW - timedelta(minutes=5))
    assert isinstance(back, Relieved)


@pytest.mark.parametrize(
    ("changes", "hours", "kind"),
    [
        ({}, 0.5, Pending),
        ({}, 3, Diverged),
        ({"pending_storage_mode": IO_OPTIMIZED}, 30, Pending),
        ({"status": "modifying"}, 30, Pending),
    ],
)
def test_a_change_that_aws_is_applying_is_pending(
    changes: dict[str, object], hours: float, kind: type
) -> None:
    found = assess(act(), observed(cluster(**changes)), NOW - timedelta(hours=hours))
    assert isinstance(found, kind)


def commits(before: float | None, after: float | None) -> AuroraObservation:
    """Three days ago the mode changed."""
    days = [before] * 12 + [after] * 3
    return observed(cluster(mode=IO_OPTIMIZED), commits=days)


MIDNIGHT = NOW.replace(hour=0)
CHANGED = MIDNIGHT - timedelta(days=3)
SPEED = act(Reason.SLOW_COMMITS)


def test_for_speed_commits_must_have_become_faster_by_a_tenth() -> None:
    found = assess(SPEED, commits(20.0, 8.0), CHANGED)
    assert isinstance(found, Relieved)
    assert found.detail.startswith("commits take 8.0 ms, 20.0 before; ")
    same = assess(SPEED, commits(20.0, 19.0), CHANGED)
    assert isinstance(same, Ineffective)
    assert "something other than the storage's mode" in same.cause


def test_speed_is_assessed_after_a_day() -> None:
    found = assess(SPEED, commits(20.0, 8.0), NOW - timedelta(hours=5))
    assert isinstance(found, Pending)
    assert found.next_reconcile_at == NOW + timedelta(hours=21)


@pytest.mark.parametrize(("before", "after"), [(None, 8.0), (20.0, None), (None, None)])
def test_unmeasured_commits_are_no_success(before: float | None, after: float | None) -> None:
    found = assess(SPEED, commits(before, after), CHANGED)
    assert isinstance(found, Ineffective)
    assert "not known" in found.cause
