"""What is lowered can be had again: the owner's own changes, ceilings, closed loops, cooldowns."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from headroom.domain.decision import Act, Decision, Escalate, decide
from headroom.domain.guardrails import Guardrail, Verdict
from headroom.domain.planning import step_of
from headroom.domain.policy import Mode
from headroom.domain.resources import Configuration, VolumeType
from headroom.domain.state import KnownModification, owners_choice, reduced_from
from headroom.domain.workload import LoadShape
from tests.builders import (
    NOW,
    activity,
    decision_input,
    gp3,
    io,
    observation,
    policy,
    resource_state,
    volume,
)
from tests.domain.earlier import history

LOW, HIGH = gp3(400, 3_000, 125), gp3(400, 12_000, 500)
TOP = gp3(400, 16_000, 500)


def change(
    hours: float, by: str, origin: Configuration = HIGH, target: Configuration = LOW
) -> KnownModification:
    at = NOW - timedelta(hours=hours)
    return KnownModification(started_at=at, by=by, origin=origin, target=target)


def idle(
    configuration: Configuration = HIGH, *, known: tuple[KnownModification, ...] = (),
    days: float = 10.0, checked_days: float | None = None, hole: bool = False, **limits: object,
) -> Decision:  # fmt: skip
    metrics = history(lambda _: 300.0, days=days)
    if checked_days is not None:
        keep = int(checked_days * 288)
        cut = replace(
            metrics.iops_exceeded,
            values=(None,) * (len(metrics.iops_exceeded.values) - keep)
            + metrics.iops_exceeded.values[len(metrics.iops_exceeded.values) - keep :],
        )
        metrics = replace(metrics, iops_exceeded=cut, throughput_exceeded=cut)
    minutes: list[float | None] = [300.0] * 180
    if hole:
        minutes = [300.0] * 34 + [None] * 140 + [300.0] * 6
    seen = observation(activity(minutes), volume(configuration), history=metrics)
    return decide(
        decision_input(seen, stand=resource_state(modifications=known), rules=policy(**limits))
    )


def said(decision: Decision, guardrail: Guardrail, target: Configuration = LOW) -> Verdict:
    judged = next(j for j in decision.judgements if j.plan.target == target)
    return next(v for v in judged.verdicts if v.guardrail is guardrail)


def lowers(decision: Decision) -> bool:
    return isinstance(decision.answer, Act) and decision.answer.plan.lowers


def test_what_somebody_else_just_set_up_is_not_taken_from_them() -> None:
    raised = change(0.6, "other", LOW, HIGH)
    decision = idle(known=(raised,))
    assert not lowers(decision)
    verdict = said(decision, Guardrail.GIVE_BACK_DATA)
    assert verdict.value == pytest.approx(0.025, abs=0.001)
    assert lowers(idle())


@pytest.mark.parametrize(
    ("origin", "days", "least", "lowered"),
    [
        (LOW, 2.0, 1.0, False), (LOW, 6.9, 1.0, False), (LOW, 7.1, 1.0, True), (LOW, 2.0, 0.25, True),
        (LOW, 6.9, None, False), (LOW, 7.1, None, True), (LOW, 7.1, 9.0, False), (TOP, 2.0, 1.0, True), (replace(LOW, size_gib=300), 2.0, 1.0, True),
    ],
)  # fmt: skip
def test_what_somebody_else_raised_is_kept_for_a_week_for_what_may_be_to_come(
    origin: Configuration, days: float, least: float | None, lowered: bool
) -> None:
    """A person raises on Friday for Monday's load, of which quiet days before say nothing."""
    theirs = change(24 * days, "other", origin, HIGH)
    for worth in (0.1, 0.01) if least != 0.25 else (0.1,):  # at a cent that is the usual
        found = idle(known=(theirs,), give_back_after_days=least, relief_value_usd_per_minute=worth)
        assert lowers(found) is lowered


@pytest.mark.parametrize(("iops", "mibps"), [(3_500, 125), (3_000, 130)])
def test_what_headroom_raised_beyond_what_somebody_else_did_is_given_back_as_usual(
    iops: int, mibps: int
) -> None:
    """500 IOPS by hand kept 14,000 of Headroom's for a week: 24 instead of 13 dollars."""
    little = gp3(400, iops, mibps)
    known = (change(48, "other", LOW, little), change(47, "headroom", little, HIGH))
    decision = idle(known=known)
    assert isinstance(decision.answer, Act)
    assert decision.answer.plan.target == little


def test_days_under_another_instance_do_not_count_for_bursts_nobody_could_see() -> None:
    assert not lowers(idle(checked_days=0.5))
    assert lowers(idle(checked_days=1.5))


def test_calm_of_hours_ago_is_no_calm() -> None:
    decision = idle(hole=True)
    assert decision.demand.clear_minutes == 6
    assert not lowers(decision)


@pytest.mark.parametrize(
    ("origin", "limits"),
    [
        (HIGH, {}),
        # What is above a ceiling the owner wants no more.
        (HIGH, {"max_iops": 10_000}),
        (HIGH, {"max_throughput_mibps": 400}),
        (HIGH, {"largest_step": 1.5}),
        (HIGH, {"largest_step": 2.0}),
        (gp3(400, 60_000, 1_000), {}),
        (io(VolumeType.IO2, 400, 64_000), {}),
    ],
)
def test_nothing_is_lowered_further_than_two_steps_would_give_back(
    origin: Configuration, limits: dict[str, Any]
) -> None:
    answer = idle(origin, **limits).answer
    assert isinstance(answer, Act)
    plan, step = answer.plan, limits.get("largest_step", 4.0)
    assert plan.lowers
    assert step_of(plan.target, plan.origin) <= step**2 * (1 + 1e-3)


def loop(known: tuple[KnownModification, ...], **limits: object) -> Decision:
    """Twenty minutes at the limit with the same 64 operations outstanding."""
    seen = observation(
        activity(
            [300.0] * 160 + [3_000.0] * 20, queue=[0.5] * 160 + [64.0] * 20,
            latency_ms=[1.0] * 160 + [21.0] * 20, iops_check=[0.0] * 160 + [1.0] * 20,
        ),
        volume(LOW), history=history(lambda _: 300.0, days=5.2),
    )  # fmt: skip
    return decide(
        decision_input(seen, stand=resource_state(modifications=known), rules=policy(**limits))
    )


@pytest.mark.parametrize("value", [0.001, 0.1, 1.0])
def test_a_pool_gets_back_what_we_took_from_it_whatever_its_work_is_worth(value: float) -> None:
    ours = loop((change(3, "headroom"),), relief_value_usd_per_minute=value)
    assert ours.demand.shape is LoadShape.CLOSED_LOOP
    assert isinstance(ours.answer, Act)
    assert ours.answer.plan.target.iops == HIGH.iops


@pytest.mark.parametrize("by", [None, "other"])
@pytest.mark.parametrize(("value", "acts"), [(0.001, False), (0.1, True), (1.0, True)])
def test_a_pool_gets_beyond_that_what_the_value_of_its_work_pays_for(
    by: str | None, value: float, acts: bool
) -> None:
    external = loop(() if by is None else (change(3, by),), relief_value_usd_per_minute=value)
    assert isinstance(external.answer, Act) is acts
    if isinstance(external.answer, Escalate):
        assert external.answer.cause == "closed_loop"


def test_a_cooldown_never_keeps_us_from_raising_what_we_lowered() -> None:
    rules = policy(cooldown_minutes=240)
    stand = resource_state(last_act_at=NOW - timedelta(hours=3))
    seen = observation(
        activity([300.0] * 160 + [3_000.0] * 20, queue=[0.5] * 160 + [60.0 + 20 * i for i in range(20)],
                 iops_check=[0.0] * 160 + [1.0] * 20),
        volume(LOW),
    )  # fmt: skip
    blocked = decide(decision_input(seen, stand=stand, rules=rules))
    assert not isinstance(blocked.answer, Act)
    ours = replace(stand, modifications=(change(3, "headroom"),))
    assert isinstance(decide(decision_input(seen, stand=ours, rules=rules)).answer, Act)


def test_only_our_own_latest_change_that_lowered_is_a_way_back() -> None:
    ours = change(5, "headroom")
    assert reduced_from((ours,), LOW) == HIGH
    assert reduced_from((ours, change(2, "other", HIGH, LOW)), LOW) is None
    assert reduced_from((change(5, "headroom", LOW, HIGH),), HIGH) is None
    assert reduced_from((ours,), HIGH) is None
    assert reduced_from((), LOW) is None


def test_work_on_another_volume_of_the_instance_is_nobodys_choice() -> None:
    """RDS works on the instance: nothing that is set of this volume changed."""
    raised, work = change(9, "headroom", LOW, HIGH), change(5, "other", HIGH, HIGH)
    assert owners_choice((raised, work), HIGH) == LOW
    assert owners_choice((raised, work, change(2, "headroom", HIGH, TOP)), TOP) == LOW
    lowered, beside = change(9, "headroom"), change(5, "other", LOW, LOW)
    assert reduced_from((lowered, beside), LOW) == HIGH


def test_work_whose_target_was_not_known_yet_counts_as_somebodys_change() -> None:
    raised, began = change(9, "headroom", LOW, HIGH), change(5, "other", HIGH, HIGH)
    assert owners_choice((raised, began), TOP) is None
    assert owners_choice((raised, began, change(2, "headroom", TOP, HIGH)), HIGH) == TOP
    assert reduced_from((change(9, "headroom"), change(5, "other", LOW, LOW)), HIGH) is None


def test_a_resource_that_gives_nothing_back_is_not_reconciled_for_it() -> None:
    assert idle(give_back=False, mode=Mode.AUTO).next_change_at is None
