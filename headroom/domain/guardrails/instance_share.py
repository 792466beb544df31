"""What an instance leaves one of its volumes, and which raises ask for more."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from headroom.domain.catalog import cheapest
from headroom.domain.catalog.ebs import capability
from headroom.domain.planning import Plan
from headroom.domain.resources import Observation
from headroom.domain.state import ConcurrencyState, promised_beside
from headroom.domain.workload import Binding, Diagnosis

USEFUL = 1.05
"""By what factor a rate has to rise at least for a raise to be worth a change."""
FIXED = 1.1
"""How much more than what is left a target may be that was fixed earlier: the others' load varies."""


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
