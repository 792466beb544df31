"""What an instance leaves one of its volumes, and which raises ask for more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from math import ceil
from statistics import mean

from headroom.domain.catalog import cheapest
from headroom.domain.catalog.ebs import capability
from headroom.domain.planning import Plan
from headroom.domain.resources import Instance, InstanceActivity, InstanceLimits, Observation
from headroom.domain.state import (
    QUARTER,
    QUARTER_MINUTES,
    ConcurrencyState,
    Points,
    promised_beside,
)
from headroom.domain.workload import Binding, Diagnosis, Minute

USEFUL = 1.05
"""By what factor a rate has to rise at least for a raise to be worth a change."""
FIXED = 1.1
"""How much more than what is left a target may be that was fixed earlier: the others' load varies."""


def instance_left(
    observation: Observation, seen: tuple[Minute, ...], bursts: tuple[float, float] | None
) -> tuple[float | None, float | None]:
    """IOPS and MiB/s the instance has left for this volume: sustained, or in its bursts; None if unknown."""
    own = {m.at: m.iops for m in seen}, {m.at: m.mibps for m in seen}
    return left_beside((observation,), own, bursts)


def left_beside(
    members: Sequence[Observation], own: tuple[Points, Points],
    bursts: tuple[float, float] | None = None,
) -> tuple[float | None, float | None]:  # fmt: skip
    """IOPS and MiB/s the instance has left for these volumes of it, which took `own` of each; None if unknown."""
    instance = members[0].instance
    if instance is None or instance.limits is None:
        return None, None
    others = _others(members, instance, instance.limits, own)
    if others is None:
        return None, None
    limits = instance.limits
    iops, mibps = bursts or (limits.baseline_iops, limits.baseline_mibps)
    return max(0.0, iops - others[0]), max(0.0, mibps - others[1])


def _others(
    members: Sequence[Observation], instance: Instance, limits: InstanceLimits,
    own: tuple[Points, Points],
) -> tuple[float, float] | None:  # fmt: skip
    """What the instance's other volumes take on average; None when that was not measured.

    The last quarter of an hour if it was measured, else the latest minutes that were. Without those in which
    all of them took more than the instance can give; 0 if no other is left, as what they take here is unknown: what
    is left is then what the instance sustains in all.
    """
    at, activity = members[0].at, members[0].instance_activity
    if set(instance.volume_ids) <= {member.volume.ref.resource_id for member in members}:
        return 0.0, 0.0
    if activity is None:
        return None
    mibps, (own_iops, own_mibps) = dict(activity.mibps.points()), own
    both = [
        (minute, max(0.0, total - own_iops[minute]), max(0.0, mibps[minute] - own_mibps[minute]))
        for minute, total in activity.iops.points()
        if minute in own_iops and minute in own_mibps and minute in mibps
    ]
    recent = [b for b in both if b[0] >= at - QUARTER] or both[-QUARTER_MINUTES:]
    if not recent:
        return None
    elsewhere = (
        () if members[0].volume.configuration.database is not None else _elsewhere(activity, limits)
    )
    here = [b for b in recent if b[0] not in elsewhere] or [
        b for b in both if b[0] not in elsewhere
    ][-QUARTER_MINUTES:]
    return (mean(b[1] for b in here), mean(b[2] for b in here)) if here else (0.0, 0.0)


def _elsewhere(activity: InstanceActivity, limits: InstanceLimits) -> frozenset[datetime]:
    """Minutes in which all volumes together took more than the instance can give, and its own checks were 0.

    Metrics of a volume that several instances share are those of all of them. One that moved here had its load
    elsewhere, and the instance may have been a larger one.
    """
    over = {
        at
        for series, most in (
            (activity.iops, limits.maximum_iops), (activity.mibps, limits.maximum_mibps)
        )
        for at, taken in series.points()
        if taken > FIXED * most
    }  # fmt: skip
    if not over:
        return frozenset()
    checks = [
        dict(check.points()) for check in (activity.iops_exceeded, activity.throughput_exceeded)
    ]
    return frozenset(at for at in over if all(check.get(at, 1.0) < 1 for check in checks))


def less_promised(
    observation: Observation, diagnosis: Diagnosis, concurrency: ConcurrencyState
) -> Diagnosis:
    """The diagnosis without what raises of the instance's other volumes may still take.

    What is left is only cut where that allows a useful raise: else the guardrail says what it waits for.
    """
    iops, mibps = diagnosis.instance_iops_left, diagnosis.instance_mibps_left
    found = None if iops is None else promised_beside((observation,), concurrency)
    if iops is None or mibps is None or found is None:
        return diagnosis
    now = capability(observation.volume.configuration)
    lasting = now.sustained_iops, now.sustained_mibps
    cut_iops = min(iops, max(iops - found.iops, lasting[0]))
    cut_mibps = min(mibps, max(mibps - found.mibps, lasting[1]))
    more = cut_iops > lasting[0] * USEFUL, cut_mibps > lasting[1] * USEFUL
    match diagnosis.binding:
        case Binding.VOLUME_IOPS:
            useful = more[0]
        case Binding.VOLUME_THROUGHPUT:
            useful = more[1]
        case _:
            useful = any(more)
    if useful:
        diagnosis = replace(diagnosis, instance_iops_left=cut_iops, instance_mibps_left=cut_mibps)
    return replace(diagnosis, promised=found, measured_left=(iops, mibps))


def left_of_instance(
    diagnosis: Diagnosis, promised_iops: float, promised_mibps: float
) -> tuple[float | None, float | None]:
    """IOPS and MiB/s that the instance leaves the volume, less what is promised; None if unknown."""
    iops, mibps = diagnosis.measured_left or (
        diagnosis.instance_iops_left, diagnosis.instance_mibps_left,
    )  # fmt: skip
    return (
        None if iops is None else iops - promised_iops,
        None if mibps is None else mibps - promised_mibps,
    )


def asks_too_much(
    plan: Plan, observation: Observation, left: tuple[float | None, float | None]
) -> bool:
    """Whether a plan raises a rate above what is left, and a smaller one would be as good.

    The least that its type and its ratios allow may be above it, if part of it serves or it costs no more.
    """
    now, then = capability(plan.origin), plan.capability
    rates = (
        (now.sustained_iops, then.sustained_iops, left[0]),
        (now.sustained_mibps, then.sustained_mibps, left[1]),
    )
    most = [
        after if have is None else min(after, max(before, float(ceil(have))))
        for before, after, have in rates
    ]
    if all(after <= enough for (_, after, _), enough in zip(rates, most, strict=True)):
        return False
    target = plan.target
    least = cheapest(
        replace(plan.origin, size_gib=target.size_gib), target.volume_type,
        iops=most[0], mibps=most[1], valid=observation.valid,
    )  # fmt: skip
    can = then if least is None or least.size_gib > target.size_gib else capability(least)
    if can.sustained_iops < then.sustained_iops or can.sustained_mibps < then.sustained_mibps:
        return True
    serves = any(
        enough > before * USEFUL for (before, _, _), enough in zip(rates, most, strict=True)
    )
    return plan.price_change_usd > 0 and not serves


def more_than_left(plan: Plan, observation: Observation, diagnosis: Diagnosis) -> str | None:
    """Why a smaller plan is enough for what the instance leaves; None unless it would be useful.

    For plans whose target was fixed earlier: what others of the instance take since was not known then.
    """
    promised = diagnosis.promised
    iops, mibps = left_of_instance(
        diagnosis, *((0.0, 0.0) if promised is None else (promised.iops, promised.mibps))
    )
    if iops is None or mibps is None or plan.price_change_usd <= 0:
        return None
    if not asks_too_much(plan, observation, (iops * FIXED, mibps * FIXED)):
        return None
    now, then = capability(plan.origin), plan.capability
    if not any(
        min(after, left) > before * USEFUL
        for before, after, left in (
            (now.sustained_iops, then.sustained_iops, iops),
            (now.sustained_mibps, then.sustained_mibps, mibps),
        )
    ):
        return None
    return (
        f"the instance leaves it {max(0.0, iops):,.0f} IOPS and {max(0.0, mibps):,.0f} MiB/s by now: less than "
        "this change raises it to, and a smaller one is enough"
    )
