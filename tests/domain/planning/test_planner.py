from __future__ import annotations

import pytest

from headroom.domain.catalog.ebs import gp3_size
from headroom.domain.decision import decide
from headroom.domain.guardrails import Guardrail
from headroom.domain.planning import step_of
from headroom.domain.resources import Configuration, VolumeType
from tests.builders import decision_input, gp2, gp3, io, policy, starved_gp3, volume


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
    assert gp3_size(iops, mibps) == size
