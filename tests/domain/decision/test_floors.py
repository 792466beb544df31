"""What the owner wants kept is kept, whatever else would be lowered."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import Act, Decision, decide
from headroom.domain.guardrails import Case, Guardrail, Verdict, judge
from headroom.domain.resources import Configuration
from headroom.domain.workload import Binding
from tests.builders import (
    activity,
    decision_input,
    gp2,
    gp3,
    observation,
    policy,
    starved_gp3,
    volume,
)
from tests.domain.earlier import history

HIGH, LOW = gp3(400, 12_000, 500), gp3(400, 3_000, 125)


def idle(**limits: object) -> Decision:
    """A volume of 12,000 IOPS and 500 MiB/s that has needed 300 IOPS for five days."""
    seen = observation(
        activity([300.0] * 180), volume(HIGH), history=history(lambda _: 300.0, days=5.2)
    )
    return decide(decision_input(seen, rules=policy(**limits)))


CALM = idle()
PLAN = next(j.plan for j in CALM.judgements if j.plan.target == LOW)


def floor_of(
    target: Configuration, *, origin: Configuration = HIGH, binding: Binding = Binding.NOTHING,
    **limits: object,
) -> Verdict:  # fmt: skip
    plan = replace(PLAN, origin=origin, target=target, capability=capability(target))
    rules = policy(**limits)
    case = Case(
        plan=plan, observation=CALM.observation, demand=CALM.demand,
        diagnosis=replace(CALM.diagnosis, binding=binding), resource_state=CALM.resource_state, policy=rules,
        effective=replace(CALM.effective, limits=rules.defaults), known_days=5.0,
    )  # fmt: skip
    return next(v for v in judge(case).verdicts if v.guardrail is Guardrail.GIVE_BACK_FLOOR)


@pytest.mark.parametrize(
    ("iops", "mibps", "allows", "numbers"),
    [
        (0, 0, True, (3_000, 0, "IOPS")),
        (3_000, 125, True, (3_000, 3_000, "IOPS")),
        (3_001, 0, False, (3_000, 3_001, "IOPS")),
        (0, 126, False, (125, 126, "MiB/s")),
        (6_000, 130, False, (3_000, 6_000, "IOPS")),
        (3_100, 500, False, (125, 500, "MiB/s")),
    ],
)
def test_what_is_lowered_must_leave_both_and_the_shorter_one_is_reported(
    iops: int, mibps: int, allows: bool, numbers: tuple[float, int, str]
) -> None:
    verdict = floor_of(LOW, min_iops=iops, min_throughput_mibps=mibps)
    assert verdict.allows is allows
    assert (verdict.value, verdict.limit, verdict.unit) == numbers
    assert (verdict.clears_at, verdict.temporary) == (None, False)


def test_the_other_one_is_in_the_detail() -> None:
    verdict = floor_of(LOW, min_iops=6_000, min_throughput_mibps=100)
    assert verdict.detail == "and 125 MiB/s of at least 100"


@given(
    st.integers(3_000, 16_000), st.integers(125, 750), st.integers(0, 20_000), st.integers(0, 1_200)
)
def test_a_lowering_is_let_through_exactly_when_it_stays_on_or_above_both(
    iops: int, mibps: int, least_iops: int, least_mibps: int
) -> None:
    target = gp3(400, iops, mibps)
    verdict = floor_of(target, min_iops=least_iops, min_throughput_mibps=least_mibps)
    lowers = iops < 12_000 or mibps < 500
    assert verdict.allows == (not lowers or (iops >= least_iops and mibps >= least_mibps))


def test_a_plan_that_lowers_nothing_passes_however_far_below_the_floor_it_stays() -> None:
    rules = policy(min_iops=256_000, min_throughput_mibps=4_000)
    decision = decide(decision_input(starved_gp3(), rules=rules))
    assert isinstance(decision.answer, Act)


def test_a_burst_that_is_about_to_end_is_not_held_by_the_floor() -> None:
    """gp2 of 400 GiB: 1,200 IOPS sustained, 250 MiB/s; gp3 sustains more IOPS without a burst."""
    below: dict[str, object] = {"min_iops": 5_000, "origin": gp2(100)}
    assert floor_of(LOW, **below).value == 3_000  # type: ignore[arg-type]
    draining = floor_of(gp3(100, 3_000, 130), binding=Binding.BURST_CREDITS, **below)  # type: ignore[arg-type]
    assert draining.value == "lowers nothing"


@pytest.mark.parametrize(
    "floor", [{"min_iops": 12_001}, {"min_throughput_mibps": 501}, {"min_iops": 256_000}]
)
def test_a_floor_above_what_the_volume_has_means_that_nothing_is_lowered(
    floor: dict[str, object],
) -> None:
    decision = idle(**floor)
    assert isinstance(CALM.answer, Act)
    assert not isinstance(decision.answer, Act)


def test_what_is_above_the_floors_is_given_back_down_to_them() -> None:
    answer = idle(min_iops=5_000, min_throughput_mibps=250).answer
    assert isinstance(answer, Act)
    assert answer.plan.target == gp3(400, 5_000, 250)
