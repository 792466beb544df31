"""Guardrails for what makes no sense to buy."""

from __future__ import annotations

from datetime import timedelta

from headroom.domain.catalog.ebs import capability
from headroom.domain.guardrails.case import Case, gives_back_unreached, verdict_of
from headroom.domain.guardrails.instance_share import USEFUL, asks_too_much, left_of_instance
from headroom.domain.guardrails.verdicts import Guardrail, Relation, Verdict
from headroom.domain.planning import FORESEEN_USD
from headroom.domain.workload import ON_INSTANCE, Binding, Diagnosis

MIN_KNOWN_MINUTES = 5
"""Measured minutes of the last 30 below which data is too thin to spend money on."""
FRESH = timedelta(minutes=30)
NOT_KNOWN = "not known"
MOST_WAITED_MINUTES = 60
ENOUGH_FOR_HOURS = 1.5
"""By what factor a raise has to be at least that is not made larger for hours, where one within the hour could be."""


def instance_limit(case: Case) -> Verdict:
    """Block a change to a volume while its instance is the limit, or might be.

    Also block a dearer plan that serves no more than today even with all that the instance gives, and
    a raise beyond what is left once its other volumes take what they were raised to, as far as the
    metrics do not show that yet. Before that, a plan is reduced to what is left, unless waiting for them is worth more.
    A plan that only adds free space passes, one that gives back what the instance let nothing through of all day,
    and a faster type where the owner's latency objective is missed.
    """
    diagnosis = case.diagnosis
    binding = diagnosis.binding
    promised, clears_at, lasts = diagnosis.promised, None, False
    value, detail = "volume", "" if promised is None else _in_words(diagnosis)
    if case.plan.only_for_space:
        detail = "it is for free space, which no instance limits"
    elif gives_back_unreached(case):
        detail = "it gives back what the instance let nothing through of all day"
    elif binding in ON_INSTANCE:
        value, detail = binding.value, diagnosis.explanation
    elif None in (diagnosis.instance_iops_left, diagnosis.instance_mibps_left):
        value, detail, lasts = _unless_checked(case)
    elif case.plan.price_change_usd > 0 and not diagnosis.slower_than_objective and _vain(case):
        value, detail = "nothing more served", "with what the instance gives at most"
    elif promised is not None and (
        asks_too_much(case.plan, case.observation, left_of_instance(diagnosis, promised.iops, promised.mibps))
        or (promised.soon_over and _too_little_for_hours(case))
    ):  # fmt: skip
        value, clears_at = "just promised", promised.until
    return verdict_of(
        Guardrail.INSTANCE_LIMIT, Relation.IS, value, "volume", "", detail, clears_at=clears_at,
        temporary=not lasts,
    )  # fmt: skip


def _unless_checked(case: Case) -> tuple[str, str, bool]:
    """What the limit is where it is not known how much is left, with a detail, and whether that will not pass.

    The instance's own check may say that it is not at its limit.
    """
    activity, instance = case.observation.instance_activity, case.observation.instance
    since = case.observation.at - FRESH
    if activity is not None and all(
        check.since(since).known()
        for check in (activity.iops_exceeded, activity.throughput_exceeded)
    ):
        return "volume", "", False
    if instance is None:
        return NOT_KNOWN, "it is not known on which instance it is", False
    if instance.limits is not None:
        return NOT_KNOWN, "what the other volumes of its instance take is not known", False
    facts = case.observation.volume.facts
    which = instance.instance_id if facts is None else f"the class {facts.instance_class}"
    return NOT_KNOWN, (
        f"AWS does not publish what {which} sustains, nor whether it is at its limit; change the volume yourself, or "
        "use an instance whose limits are published"
    ), True  # fmt: skip


def _too_little_for_hours(case: Case) -> bool:
    """Whether a raise is so small that the load does better if it waits until the metrics show what others take.

    AWS takes no other change while it optimizes this one. Only where what others may take makes it so small, more is
    left by what was measured, and not for longer than an hour.
    """
    diagnosis, now, then = case.diagnosis, capability(case.plan.origin), case.plan.capability
    left, promised = diagnosis.measured_left, diagnosis.promised
    if left is None or promised is None or case.plan.price_change_usd <= 0:
        return False
    bound = {
        Binding.VOLUME_IOPS: (now.sustained_iops, then.sustained_iops, left[0], promised.iops),
        Binding.VOLUME_THROUGHPUT: (now.sustained_mibps, then.sustained_mibps, left[1], promised.mibps),
    }  # fmt: skip
    if diagnosis.binding not in bound or case.demand.pressed_minutes >= MOST_WAITED_MINUTES:
        return False
    before, after, have, others = bound[diagnosis.binding]
    return have - others < after * USEFUL and after < min(have, ENOUGH_FOR_HOURS * before)


def _in_words(diagnosis: Diagnosis) -> str:
    """What is left of the instance for the volume, and how much of it others may take."""
    promised, left = diagnosis.promised, diagnosis.measured_left
    if promised is None or left is None:
        return ""
    return (
        f"of the {left[0]:,.0f} IOPS and {left[1]:,.0f} MiB/s that the instance has left for this volume, others "
        f"that were raised may still take {min(promised.iops, left[0]):,.0f} and "
        f"{min(promised.mibps, left[1]):,.0f}"
    )


def _vain(case: Case) -> bool:
    """Whether a plan sustains no more than today, limited by what the instance gives at most."""
    instance = case.observation.instance
    if instance is None or instance.limits is None:
        return False
    limits, now, then = instance.limits, capability(case.plan.origin), case.plan.capability
    return (
        min(then.sustained_iops, limits.maximum_iops) <= now.sustained_iops
        and min(then.sustained_mibps, limits.maximum_mibps) <= now.sustained_mibps
    )


def data(case: Case) -> Verdict:
    """Block a change that rests on too few recent measurements.

    A plan that only adds free space needs the free-space forecast instead.
    """
    if case.plan.only_for_space:
        known = case.space is not None and case.space.short
        return verdict_of(
            Guardrail.DATA, Relation.IS, "measured" if known else "not measured", "measured", "",
            "free space", temporary=True,
        )  # fmt: skip
    return verdict_of(
        Guardrail.DATA, Relation.AT_LEAST, case.demand.known_minutes, MIN_KNOWN_MINUTES,
        "measured minutes of 30", temporary=True,
    )  # fmt: skip


def cost_benefit(case: Case) -> Verdict:
    """Block a change that costs more than the starvation it ends is worth.

    A raise for a load that is only foreseen must be worth more than the forecast's noise.
    """
    plan, demand = case.plan, case.demand
    foreseen = (
        plan.price_change_usd > 0
        and plan.relieved_minutes_per_day > 0
        and not (plan.only_for_space or plan.full_copy)
        and not (demand.pressed_minutes or demand.expected_starved_minutes)
    )
    return verdict_of(
        Guardrail.COST_BENEFIT, Relation.AT_LEAST, round(plan.value_usd_per_day, 4),
        FORESEEN_USD if foreseen else 0.0,
        "USD/day", f"ends {plan.relieved_minutes_per_day:.0f} starved min/day", temporary=True,
    )  # fmt: skip
