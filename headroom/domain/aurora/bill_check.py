"""Whether a change of storage mode landed, and whether its bill is what was foreseen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from headroom.domain.aurora.decide import CENT, mode_of
from headroom.domain.aurora.verification import (
    ModeDiverged,
    ModeIneffective,
    ModePending,
    ModeRelieved,
)
from headroom.domain.aurora.verification import assess as assess_mode
from headroom.domain.catalog.aurora import HOURS_PER_MONTH, AuroraPrices, Usage, bills
from headroom.domain.decision import (
    Act,
    BillCheck,
    Decision,
    Diverged,
    Ineffective,
    ModeSwitch,
    Pending,
    Reason,
    Relieved,
    RollbackConfirmed,
    Verification,
)
from headroom.domain.guardrails import AuroraPlan
from headroom.domain.planning import Plan
from headroom.domain.resources import AuroraObservation, Goal, PriceUnknown, StorageMode
from headroom.domain.workload import WHOLE, cluster_demand

CHECK_AFTER = 7
"""Whole days after a switch from which on its bill is told: a week has every day once."""
BILL_CHECK_TIMEOUT = timedelta(days=45)
"""Past this the bill is of another load, and the switch is not spoken of any more."""


def assess_cluster(
    decision: Decision, plan: Plan, observation: AuroraObservation, applied_at: datetime
) -> Verification:
    """What became of a change of mode, in the words of all verifications."""
    side = decision.cluster
    goal = AuroraPlan(
        origin=mode_of(plan.origin), target=mode_of(plan.target),
        goal=_goal_of(decision), why=plan.why, monthly_usd=plan.monthly_usd,
        price_change_usd=plan.price_change_usd, reversible=plan.reversible,
        restarts=side is not None and side.cluster.restarts,
    )  # fmt: skip
    match assess_mode(goal, observation, applied_at):
        case ModePending(next_reconcile_at=at, detail=detail):
            return Pending(next_reconcile_at=at, detail=detail)
        case ModeRelieved(detail=detail) if decision.rollback_of is not None:
            return RollbackConfirmed(detail=f"rolled back: {detail}")
        case ModeRelieved(detail=detail):
            return Relieved(detail=f"{detail}; {_foreseen(plan)}")
        case ModeIneffective(cause=cause, before_ms=before, after_ms=after):
            return Ineffective(cause=f"{cause} ({before:.1f} ms before, {after:.1f} ms after)")
        case ModeDiverged(detail=detail):
            return Diverged(detail=detail)


def _goal_of(decision: Decision) -> Goal:
    speed = isinstance(decision.answer, Act) and decision.answer.reason is Reason.SLOW_COMMITS
    return Goal.PERFORMANCE if speed else Goal.COST


def _foreseen(plan: Plan) -> str:
    before = plan.monthly_usd - plan.price_change_usd
    return (
        f"${plan.monthly_usd:,.2f} a month is foreseen, it was ${before:,.2f}; the bill is compared "
        f"after {CHECK_AFTER} whole days"
    )


def mode_switch_of(decision: Decision, at: datetime) -> ModeSwitch | None:
    """What is to be remembered of a change that landed at `at`; None of a decision not to act."""
    answer = decision.answer
    if not isinstance(answer, Act):
        return None
    plan = answer.plan
    return ModeSwitch(
        decision_id=decision.decision_id, at=at, origin=mode_of(plan.origin),
        target=mode_of(plan.target), before_usd=plan.monthly_usd - plan.price_change_usd,
        forecast_usd=plan.monthly_usd,
    )  # fmt: skip


def check(
    switch: ModeSwitch | None, observation: AuroraObservation, prices: AuroraPrices | None
) -> BillCheck | None:
    """The bill of the whole days since `switch` beside its forecast.

    None while it is too early, once it was told, where the mode is another one by now, and where
    size, ACUs or a price are not known.
    """
    if switch is None or switch.checked or prices is None:
        return None
    cluster, at = observation.cluster, observation.at
    begin = _midnight_after(switch.at)
    days = (at - begin).days
    if (
        cluster.mode is not switch.target
        or days < CHECK_AFTER
        or at - switch.at > BILL_CHECK_TIMEOUT
    ):
        return None
    seen = cluster_demand(observation, slow_ms=1e9)
    lately = [day for day in seen.days if day.start >= begin]
    measured = len(lately) >= WHOLE * CHECK_AFTER
    ios = sum(d.ios for d in lately) / len(lately) * HOURS_PER_MONTH / 24 if measured else None
    acus = _acus(observation, begin)
    free = switch.target is StorageMode.IO_OPTIMIZED
    if seen.storage_gib is None or acus is None or (ios is None and not free):
        return None
    used = Usage(
        members=cluster.members, reserved=cluster.reserved or (), acus=acus,
        storage_gib=seen.storage_gib, ios=0.0 if ios is None else ios,
    )  # fmt: skip
    try:
        both = bills(used, prices)
    except (PriceUnknown, ValueError):
        return None
    instead = both.of(switch.origin).total_usd.quantize(CENT)
    return BillCheck(
        switch=switch, days=days, actual_usd=both.of(switch.target).total_usd.quantize(CENT),
        counterfactual_usd=None if ios is None else instead,
    )  # fmt: skip


def _midnight_after(at: datetime) -> datetime:
    day = at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return day if day == at else day + timedelta(days=1)


def _acus(observation: AuroraObservation, begin: datetime) -> float | None:
    """Mean ACUs since `begin`; 0 without serverless members, None where too few were published."""
    if not observation.cluster.serverless:
        return 0.0
    series = observation.activity.acus.since(begin)
    known = series.known()
    return sum(known) / len(known) if known and len(known) >= WHOLE * len(series.values) else None
