"""The forecast of a change of storage mode beside the bill of the days after it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from headroom.domain.aurora.decide import CENT
from headroom.domain.catalog.aurora import HOURS_PER_MONTH, AuroraPrices, Usage, bills
from headroom.domain.decision import Act, BillCheck, Decision, ModeSwitch
from headroom.domain.resources import AuroraObservation, PriceUnknown, StorageMode, mode_of
from headroom.domain.workload import WHOLE, cluster_demand

CHECK_AFTER = 7
"""Whole days after a switch before its bill is compared: a week has every day once."""
BILL_CHECK_TIMEOUT = timedelta(days=45)
"""After this the load has changed too much for a comparison, and none is made."""


def mode_switch_of(decision: Decision, at: datetime) -> ModeSwitch | None:
    """What to remember of a change that landed at `at`; None for a decision not to act."""
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

    None while it is too early, once it was reported, if the mode changed since, and if size, ACUs
    or a price are not known.
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
    demand = cluster_demand(observation, slow_ms=1e9)
    lately = [day for day in demand.days if day.start >= begin]
    measured = len(lately) >= WHOLE * CHECK_AFTER
    ios = sum(d.ios for d in lately) / len(lately) * HOURS_PER_MONTH / 24 if measured else None
    acus = _acus(observation, begin)
    free = switch.target is StorageMode.IO_OPTIMIZED
    if demand.storage_gib is None or acus is None or (ios is None and not free):
        return None
    used = Usage(
        members=cluster.members, reserved=cluster.reserved or (), acus=acus,
        storage_gib=demand.storage_gib, ios=0.0 if ios is None else ios,
    )  # fmt: skip
    try:
        both = bills(used, prices)
    except (PriceUnknown, ValueError):
        return None
    earlier = both.of(switch.origin).total_usd.quantize(CENT)
    return BillCheck(
        switch=switch, days=len(lately) if measured else days, actual_usd=both.of(switch.target).total_usd.quantize(CENT),
        counterfactual_usd=None if ios is None else earlier,
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
