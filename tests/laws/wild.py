"""A planner gone mad: it wants anything at all, so that nothing but the guardrails stands in its way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from random import Random

from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import decision_input as inputs
from headroom.domain.planning import NO_VALUED_PLANS, Plan, Situation, ValuedPlans
from headroom.domain.resources import Configuration, PriceUnknown, VolumeType

WISHES = 5
KINDS = (VolumeType.GP3, VolumeType.GP3, VolumeType.GP2, VolumeType.IO1, VolumeType.IO2)


@contextmanager
def wild_plans() -> Iterator[None]:
    """Within it, decisions choose among plans drawn at random, valid or not."""
    sane = inputs.value_plans
    inputs.value_plans = _value_plans
    try:
        yield
    finally:
        inputs.value_plans = sane


def _value_plans(situation: Situation) -> ValuedPlans:
    seen = situation.observation
    draw = Random(f"{seen.at} {seen.volume.ref.resource_id} {situation.current}")
    plans = tuple(plan for _ in range(WISHES) if (plan := _plan(draw, situation)) is not None)
    return replace(NO_VALUED_PLANS, plans=plans, known_days=situation.past.days)


def _plan(draw: Random, situation: Situation) -> Plan | None:
    now, target = situation.current, _target(draw, situation.current)
    if target == now:
        return None
    try:
        then_usd = situation.prices.monthly(target)
        more = then_usd - situation.prices.monthly(now)
    except PriceUnknown:
        return None
    can = capability(target)
    return Plan(
        origin=now, target=target, why="anything", demand_iops=can.sustained_iops,
        demand_mibps=can.sustained_mibps, meets_need=True, capability=can, monthly_usd=then_usd,
        price_change_usd=more, time_to_effect=timedelta(minutes=30),
        reversible=target.size_gib == now.size_gib, relieved_minutes_per_day=1.0,
        value_usd_per_day=draw.choice((-0.5, 0.0, 0.5, 5.0)), capped_from=None,
    )  # fmt: skip


def _target(draw: Random, now: Configuration) -> Configuration:
    kind = draw.choice((*KINDS, now.volume_type, now.volume_type))
    if kind not in KINDS:
        kind = VolumeType.GP3
    size = draw.choice((now.size_gib,) * 5 + (now.size_gib - 10, now.size_gib * 2, 17_000))
    can = capability(now)
    times = draw.choice((0.2, 0.5, 0.8, 1, 1.2, 1.5, 2, 3, 5))
    iops, mibps = (
        int(can.burst_iops * times),
        int(can.burst_mibps * draw.choice((0.5, 1, 1, 1.5, 3))),
    )
    low, most = {"gp3": (3_000, 500), "io1": (100, 50), "io2": (100, 1_000)}.get(kind.value, (0, 1))
    iops = max(low, min(iops, most * size))
    mibps = max(125, min(mibps, iops // 4))
    wrong = draw.random()
    if wrong < 0.1:  # what AWS refuses
        iops, mibps = most * size + 100, 126
    elif wrong < 0.2:
        iops, mibps = iops - iops % 4, iops // 4 + 1
    return Configuration(
        volume_type=kind, size_gib=max(1, size), iops=None if kind is VolumeType.GP2 else iops,
        throughput_mibps=mibps if kind is VolumeType.GP3 else None,
    )  # fmt: skip
