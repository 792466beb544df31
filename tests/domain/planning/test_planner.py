from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from headroom.domain.catalog.ebs import least_size_for
from headroom.domain.decision import decide
from headroom.domain.guardrails import Guardrail, PlanJudgement
from headroom.domain.planning import step_of
from headroom.domain.resources import Configuration, VolumeType
from tests.builders import (
    activity,
    decision_input,
    gp2,
    gp3,
    instance,
    io,
    observation,
    policy,
    starved_gp3,
    volume,
)


@pytest.mark.parametrize(
    ("origin", "target", "step"),
    [
        (gp3(100, 3000, 125), gp3(100, 6000, 125), 2.0),
        (gp3(100, 3000, 125), gp3(100, 3000, 500), 4.0),
        (gp3(100, 3000, 125), gp3(100, 6000, 500), 4.0),
        # What gp3 includes is no step, however little the volume had.
        (gp2(10), gp3(10, 3000, 125), 1.0),
        (io(VolumeType.IO1, 100, 100), gp3(100, 3000, 125), 1.0),
        # gp2 reaches 3,000 while it bursts: growing its baseline to that is no step.
        (gp2(400), gp2(1000), 1.0),
        (gp2(400), gp2(4000), 4.0),
        # What io1 and io2 derive in throughput is neither asked for nor paid for.
        (gp3(100, 3000, 125), io(VolumeType.IO2, 100, 6000), 2.0),
        (io(VolumeType.IO2, 100, 1000), io(VolumeType.IO2, 100, 4000), 4.0),
    ],
)
def test_a_step_is_what_is_asked_for_over_what_the_volume_reaches_today(
    origin: Configuration, target: Configuration, step: float
) -> None:
    assert step_of(origin, target) == pytest.approx(step)


def test_a_dearer_type_is_refused_for_its_price_and_not_for_what_it_derives() -> None:
    rules = policy(types=(VolumeType.IO2,))
    low = starved_gp3(volume=volume(io(VolumeType.IO2, 100, 3000)))
    judged = decide(decision_input(low, rules=rules)).judgements
    io2 = [j for j in judged if j.plan.target.volume_type is VolumeType.IO2]
    within = [j for j in io2 if (j.plan.target.iops or 0) <= 12_000]
    assert within
    assert all(Guardrail.LARGEST_STEP not in {v.guardrail for v in j.blocking} for j in within)


def test_no_plan_is_a_no_op_a_duplicate_or_a_loss() -> None:
    made = decision_input()
    targets = [j.plan.target for j in decide(made).judgements]
    assert len(targets) == len(set(targets))
    assert made.observation.volume.configuration not in targets
    assert all(j.plan.capability.sustained_iops >= 3000 for j in decide(made).judgements)


@pytest.mark.parametrize("types", [(VolumeType.GP3,), (VolumeType.GP3, VolumeType.IO2)])
def test_a_type_that_would_not_be_taken_is_priced_once_beside_the_others(
    types: tuple[VolumeType, ...],
) -> None:
    """One not allowed, or one that keeps data better and so leaves no way back to gp3."""
    judged = decide(decision_input(rules=policy(types=types))).judgements
    for kind in (VolumeType.IO1, VolumeType.IO2):
        uncut = [j for j in judged if j.plan.target.volume_type is kind and not j.plan.capped_from]
        assert len(uncut) <= 1
        assert not any(j.allowed for j in uncut)
    gp3_plans = [j for j in judged if j.plan.target.volume_type is VolumeType.GP3]
    assert len(gp3_plans) > 1


@pytest.mark.parametrize("size", [4, 6, 8])
def test_a_small_gp3_volume_may_grow_to_the_size_that_its_load_takes(size: int) -> None:
    low = starved_gp3(volume=volume(gp3(size)))
    judged = decide(decision_input(low, rules=policy(growth=True))).judgements
    grown = [j for j in judged if j.plan.grows and j.plan.target.volume_type is VolumeType.GP3]
    assert grown
    for plan in (j.plan for j in grown):
        assert (
            500 * (plan.target.size_gib - 1) < (plan.target.iops or 0) <= 500 * plan.target.size_gib
        )
    refused = decide(decision_input(low, rules=policy(growth=False))).judgements
    assert all(
        Guardrail.GROWTH in {v.guardrail for v in j.blocking} for j in refused if j.plan.grows
    )


@pytest.mark.parametrize(
    ("iops", "mibps", "size"),
    [(100, 1, 1), (3_000, 125, 1), (3_001, 125, 7), (4_000, 125, 8), (3_000, 1_001, 9)],
)
def test_gp3_has_500_iops_for_each_gib_and_four_for_each_mib(
    iops: float, mibps: float, size: int
) -> None:
    found = least_size_for(VolumeType.GP3, 1, iops=iops, mibps=mibps)
    assert found is not None
    assert found.size_gib == size


@pytest.mark.parametrize(
    ("volume_type", "size_gib", "iops", "mibps", "found"),
    [
        # Above a type's maxima, those.
        (VolumeType.GP3, 100, 82_500, 125, gp3(160, 80_000, 125)),
        (VolumeType.GP3, 1, 100, 9_000, gp3(16, 8_000, 2_000)),
        (VolumeType.GP3, 200, 20_000, 125, gp3(200, 20_000, 125)),
        (VolumeType.IO1, 4, 100, 1, io(VolumeType.IO1, 4, 100)),
        (VolumeType.IO1, 4, 201, 1, io(VolumeType.IO1, 5, 201)),
        (VolumeType.IO1, 100, 90_000, 1, io(VolumeType.IO1, 1_280, 64_000)),
        (VolumeType.IO2, 4, 9_000, 1, io(VolumeType.IO2, 9, 9_000)),
        (VolumeType.GP2, 100, 9_000, 1, None),
    ],
)  # fmt: skip
def test_a_type_grows_as_far_as_its_iops_for_each_gib_require(
    volume_type: VolumeType, size_gib: int, iops: float, mibps: float, found: Configuration | None
) -> None:
    assert least_size_for(volume_type, size_gib, iops=iops, mibps=mibps) == found


def at_its_ratio(configuration: Configuration, **limits: object) -> tuple[PlanJudgement, ...]:
    """The plans for a volume at its limit, of which nobody knows how much more the load takes."""
    iops = float(configuration.iops or 0)
    load = activity(
        [iops / 2] * 10 + [iops] * 120, queue=[4.0] * 10 + [60.0 + 20 * i for i in range(120)],
        iops_check=[0.0] * 10 + [1.0] * 120,
    )  # fmt: skip
    large = instance(baseline_iops=400_000, baseline_mibps=9_000)
    seen = observation(load, volume(configuration), instance=large)
    return decide(decision_input(seen, rules=policy(**limits))).judgements


def test_where_a_ceiling_lets_less_grow_that_much_is_a_plan_and_a_price_cuts_nothing() -> None:
    rules = {"growth": True, "max_iops": 16_000}
    grown = [j.plan for j in at_its_ratio(gp3(20, 10_000, 206), **rules) if j.plan.grows]
    of_gp3 = [p for p in grown if p.target.volume_type is VolumeType.GP3]
    most = max(of_gp3, key=lambda plan: plan.capability.sustained_iops if plan.capped_from else 0)
    assert (most.target.size_gib, most.target.iops) == (32, 16_000)
    assert most.capped_from is not None
    assert (most.capped_from.iops or 0) > 16_000
    dear = at_its_ratio(gp3(20, 10_000, 206), **rules, price_increase_usd=Decimal(1))
    assert {j.plan.target for j in dear if j.plan.grows} == {p.target for p in grown}
    assert not any(j.allowed for j in dear if j.plan.grows)


@pytest.mark.parametrize("limits", [{"max_size_gib": 24}, {"largest_step": 1.2}])
def test_neither_the_largest_size_nor_the_largest_step_is_exceeded(limits: dict[str, Any]) -> None:
    judged = at_its_ratio(gp3(20, 10_000, 206), growth=True, **limits)
    cut = [j for j in judged if j.plan.grows and j.plan.capped_from]
    assert cut
    assert {j.plan.target.iops for j in cut} == {12_000}
    assert all(j.allowed for j in cut)


def test_io2_at_its_ratio_grows_where_its_owner_wants_io2() -> None:
    low = io(VolumeType.IO2, 4, 4_000)
    rules = {"growth": True, "types": (VolumeType.IO2,), "price_increase_usd": Decimal(10_000)}
    grown = [j.plan for j in at_its_ratio(low, **rules) if j.plan.grows]
    assert any(p.target.volume_type is VolumeType.IO2 for p in grown)
    for plan in grown:
        if plan.target.volume_type is VolumeType.IO2:
            assert (plan.target.size_gib - 1) * 1_000 < (plan.target.iops or 0)


def test_what_a_ceiling_of_iops_cannot_carry_is_not_bought_of_throughput() -> None:
    """60 KiB an operation: 6,000 of them are 352 MiB/s."""
    load = activity(
        [2_500.0] * 10 + [5_000.0] * 120, io_kib=60,
        queue=[4.0] * 10 + [60.0 + 20 * i for i in range(120)],
        iops_check=[0.0] * 10 + [1.0] * 120,
    )  # fmt: skip
    large = instance(baseline_iops=400_000, baseline_mibps=9_000)
    seen = observation(load, volume(gp3(10, 5_000, 400)), instance=large)
    judged = decide(decision_input(seen, rules=policy(growth=True, max_iops=6_000))).judgements
    cut = [j.plan.target for j in judged if j.plan.grows and j.plan.capped_from is not None]
    assert cut
    assert all(target.iops == 6_000 and (target.throughput_mibps or 0) <= 422 for target in cut), (
        cut
    )
