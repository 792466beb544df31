"""Why Compute Optimizer and Headroom disagree about one resource, in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median

from headroom.adapters.compute_optimizer import Recommendation
from headroom.cli.second_opinion.comparison import Comparison, configured
from headroom.cli.terminal.output import money, number, utc
from headroom.cli.views import decision as decision_view
from headroom.domain.catalog import why_refused
from headroom.domain.decision import Decision
from headroom.domain.guardrails import ABOUT_THE_RESOURCE, Guardrail, Verdict
from headroom.domain.resources import StorageMode, VolumeType

OLDER = {VolumeType.GP2: "gp3", VolumeType.IO1: "io2", VolumeType.STANDARD: "gp3"}
"""Types of an older generation, and what came after them."""
BOTH_KEEP = "Both keep it as it is."
TOLERANCE = 1.02
"""Rates of a profile lie on a scale in steps of 2 %."""
APART = timedelta(hours=12)
"""Busy hours that are no further apart are one load."""
STEADY = 0.15
"""How far gaps between loads may be from their median to be called a rhythm."""


def explained(comparison: Comparison) -> str:
    """One sentence: that they agree, or the first reason that explains why they do not."""
    found = (text for rule in _RULES if (text := rule(comparison)) is not None)
    plain = " ".join(next(found, "Headroom found no reason to change it").split())
    return plain.rstrip(".").replace(". ", "; ") + "."


def _unknown(it: Comparison) -> str | None:
    said = it.recommendation.target
    if it.advised is not None or said is None:
        return None
    return f"It recommends {said.volume_type}, which Headroom cannot compare with {it.current}"


def _same(it: Comparison) -> str | None:
    if not it.agrees:
        return None
    if it.plan is None:
        outdated = not it.keeps or _made_for_another(it)
        return "Its recommendation is already in place" if outdated else BOTH_KEEP.rstrip(".")
    blocking = it.blocking
    if not blocking:
        return "Both recommend the same change"
    return f"Both recommend the same change, which is blocked by {_names(blocking)}"


def _outdated(it: Comparison) -> str | None:
    at, changed, made = it.recommendation.refreshed_at, it.changed_at, it.recommendation.made_for
    of = "" if at is None else f" of {utc(at)}"
    if at is not None and changed is not None and at < changed:
        return f"Its recommendation{of} is older than the last change, of {utc(changed)}"
    if made is None or not _made_for_another(it):
        return None
    return f"Its recommendation{of} is for {configured(made, it.current)}, which is not the current configuration"


def _made_for_another(it: Comparison) -> bool:
    made = it.recommendation.made_for
    return made is not None and configured(made, it.current) not in (None, it.current)


def _type_not_allowed(it: Comparison) -> str | None:
    allowed = it.decision.effective.limits.types
    kind = it.advised.volume_type if it.advised else it.current.volume_type
    if it.is_aurora or kind is it.current.volume_type or kind in allowed:
        return None
    names = ", ".join(one.value for one in allowed) or "none"
    return f"The policy does not allow its type {kind.value} here, only {names}"


def _older_generation(it: Comparison) -> str | None:
    kind = it.advised.volume_type if it.advised else it.current.volume_type
    if kind is it.current.volume_type or kind not in OLDER:
        return None
    return f"It recommends {kind.value}, an older generation than {OLDER[kind]}"


def _refused(it: Comparison) -> str | None:
    if it.advised is None or it.keeps or it.is_aurora:
        return None
    if it.advised.size_gib < it.current.size_gib:
        return (
            f"It recommends {it.advised.size_gib:,} GiB, less than the current "
            f"{it.current.size_gib:,} GiB, and storage cannot shrink"
        )
    why = why_refused(it.current, it.advised, it.decision.observation.valid)
    return None if why is None else f"AWS would not accept it as one change: {why}"


_UNITS = ("IOPS", "MiB/s")


def _less_than_now(it: Comparison) -> str | None:
    """The load of the last hours is held back, and needs more than is advised."""
    demand = it.decision.demand
    if not demand.pressed_minutes:
        return None
    for what, likely in enumerate((demand.iops.likely, demand.mibps.likely)):
        advised, ours = it.delivers(what)
        if likely > advised * TOLERANCE and ours > advised:
            unit = _UNITS[what]
            return (
                f"It {it.verb} {number(advised)} {unit}, less than the {number(likely)} {unit} that "
                "the load needs now"
            )
    return None


def _less_than_the_peak(it: Comparison) -> str | None:
    """The load of the past took more than is advised: when, and whether that was analyzed."""
    for what, unit in enumerate(_UNITS):
        advised, ours = it.delivers(what)
        if ours <= advised:
            continue
        above = [(at, rate) for at, rate in _hours(it.decision, what) if rate > advised * TOLERANCE]
        if above:
            at, rate = max(above, key=lambda each: each[1])
            took = f"the {number(rate)} {unit} used in the hour of {utc(at)}"
            days = _not_analyzed(it.recommendation, [at for at, _ in above])
            if days is None:
                return f"It {it.verb} {number(advised)} {unit}, less than {took}"
            every = _rhythm([at for at, _ in above])
            coming = "" if every is None else f", a load that recurs every {every} days"
            return (
                f"It {it.verb} {number(advised)} {unit}: its look-back of {number(days)} days does "
                f"not include {took}{coming}"
            )
        peak = (it.decision.demand.peak_iops, it.decision.demand.peak_mibps)[what]
        if it.decision.resource_state.profile is None and peak > advised * TOLERANCE:
            return f"It {it.verb} {number(advised)} {unit}, less than the peak of {number(peak)} {unit}"
    return None


def _hours(decision: Decision, what: int) -> Iterator[tuple[datetime, float]]:
    """The hours of the past with the IOPS (0) or MiB/s (1) that each took at least."""
    profile = decision.resource_state.profile
    for place, hour in enumerate(() if profile is None else profile.hours):
        if profile is not None and hour is not None:
            rates = (hour.peak_iops, hour.limit_iops), (hour.peak_mibps, hour.limit_mibps)
            yield profile.start + timedelta(hours=place), max(rates[what])


def _not_analyzed(recommendation: Recommendation, hours: list[datetime]) -> float | None:
    """The look-back in days if it reaches none of `hours`, else None."""
    at, days = recommendation.refreshed_at, recommendation.lookback_days
    if at is None or not days or days > 10_000:
        return None
    since = at - timedelta(days=days)
    return None if any(hour > since for hour in hours) else days


def _rhythm(hours: list[datetime]) -> int | None:
    """Days between loads that came three times or more at even gaps; None for any other."""
    begins = [hours[0], *(b for a, b in pairwise(hours) if b - a > APART)]
    gaps = [(b - a) / timedelta(days=1) for a, b in pairwise(begins)]
    if len(gaps) < 2:
        return None
    middle = median(gaps)
    even = all(abs(gap - middle) <= STEADY * middle for gap in gaps)
    return round(middle) if even and round(middle) else None


def _more_than_needed(it: Comparison) -> str | None:
    """More than Headroom would have, for more money."""
    usd = it.decision.current_usd if it.plan is None else it.plan.monthly_usd
    advised = it.judged.plan.monthly_usd if it.judged else None
    if it.keeps:
        advised = it.decision.current_usd
    if usd is None or advised is None or advised <= usd or it.is_aurora:
        return None
    rates = [it.delivers(what) for what in (0, 1)]
    if any(advised_rate < ours for advised_rate, ours in rates):
        return None
    demand, more = it.decision.demand, f"for {money(advised - usd)} more a month than {it.target}"
    if not demand.known_minutes:
        return f"It {it.verb} performance for which no load is known, {more}"
    if demand.iops.censored or demand.mibps.censored:
        return None  # held back by a limit: how much would be enough is unknown
    if demand.peak_iops > rates[0][0] or demand.peak_mibps > rates[1][0]:
        return None
    return (
        f"It {it.verb} more than the load's peak of {number(demand.peak_iops)} IOPS and "
        f"{number(demand.peak_mibps)} MiB/s, {more}"
    )


def _dearer_by_bill(it: Comparison) -> str | None:
    """For an Aurora cluster: the mode with the higher bill."""
    bills = None if it.decision.cluster is None else it.decision.cluster.bills
    if bills is None or it.advised is None:
        return None
    advised, ours = (
        bills.of(StorageMode(one.volume_type.value)).total_usd for one in (it.advised, it.target)
    )
    if advised <= ours:
        return None
    return (
        f"By the bill of the days that Headroom read, {it.advised} costs {money(advised)} a month and "
        f"{it.target} {money(ours)}"
    )


def _blocked(it: Comparison) -> str | None:
    if it.judged is None:
        return None
    shared = ABOUT_THE_RESOURCE | {v.guardrail for v in it.blocking}
    return _blocked_by(tuple(v for v in it.judged.blocking if v.guardrail not in shared))


def _blocked_anyhow(it: Comparison) -> str | None:
    return None if it.judged is None or it.plan is not None else _blocked_by(it.judged.blocking)


def _blocked_by(blocking: tuple[Verdict, ...]) -> str | None:
    if not blocking:
        return None
    first, *others = (replace(verdict, detail="") for verdict in blocking)
    beside = f", and by {_names(others)}" if others else ""
    return f"Its recommendation is blocked by {decision_view.verdict_line(first)}{beside}"


def _valued_less(it: Comparison) -> str | None:
    if it.judged is None:
        return None
    advised_value = it.judged.plan.value_usd_per_day
    if it.plan is not None and it.plan.value_usd_per_day > advised_value:
        own = money(it.plan.value_usd_per_day, signed=True)
        return f"Headroom values its own plan at {own} a day, this one at {money(advised_value, signed=True)}"
    if it.plan is None and advised_value <= 0:
        return f"Headroom values the change at {money(advised_value, signed=True)} a day"
    return None


def _only_ours(it: Comparison) -> str | None:
    """It would change nothing, and Headroom would."""
    if not it.keeps or it.plan is None:
        return None
    if it.plan.price_change_usd < 0:
        less = money(-it.plan.price_change_usd)
        return f"It keeps the current configuration, but Headroom finds a sufficient one for {less} less a month"
    return f"It keeps the current configuration, but Headroom found: {it.decision.diagnosis.explanation}"


def _otherwise(it: Comparison) -> str | None:
    if it.decision.current_usd is None:
        return "Headroom has no price for this storage, so it cannot value a change"
    return f"Headroom found: {it.decision.diagnosis.explanation or it.decision.summary}"


def _names(blocking: tuple[Verdict, ...] | list[Verdict]) -> str:
    names: list[Guardrail] = [verdict.guardrail for verdict in blocking]
    return ", ".join(dict.fromkeys(name.value for name in names))


_RULES: tuple[Callable[[Comparison], str | None], ...] = (
    # Agreement and what cannot be compared; then what the advice may not be, what the load says
    # against it, what blocks it, and what it is worth. The first that applies is the answer.
    _unknown, _same, _outdated, _type_not_allowed, _older_generation, _refused, _less_than_now,
    _less_than_the_peak, _more_than_needed, _dearer_by_bill, _blocked, _valued_less, _only_ours, _blocked_anyhow,
    _otherwise,
)  # fmt: skip
