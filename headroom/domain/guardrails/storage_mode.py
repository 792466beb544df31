"""What stands between an Aurora cluster and a change of its storage mode: all of it answers.

Source: Aurora User Guide, "Storage configurations for Amazon Aurora DB clusters" (checked 2026-10).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from headroom.domain.catalog.aurora import AuroraPrices, Bills, bills, supports_io_optimized
from headroom.domain.guardrails.verdicts import Quantity, Relation, satisfies
from headroom.domain.resources import GATE, AuroraLimits, AuroraObservation, Goal, StorageMode
from headroom.domain.workload import DAYS, AuroraDemand, usage

SPIKES = 2
"""The busiest days that must not be the whole reason to go to I/O-Optimized."""
BUSY_DAYS = 7
"""Going back must pay even if every day were like the busiest half."""
SLOW_DAYS = 3
"""Days with slow commits from which on they are no accident."""


class AuroraGuardrail(StrEnum):
    """Every guardrail of a change of storage mode."""

    MODE = "mode"
    DATA = "data"
    BILLED_IO = "billed_io"
    AVAILABLE = "available"
    GATE = "gate"
    WAY_BACK = "way_back"
    VERSION = "version"
    RESTART = "restart"
    PARALLEL_QUERY = "parallel_query"
    RESERVED = "reserved"
    MARGIN = "margin"
    STEADY = "steady"
    PRICE = "price"
    SLOW_COMMITS = "slow_commits"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuroraVerdict:
    """One guardrail's answer, in the shape that verdicts on volumes have."""

    guardrail: AuroraGuardrail
    relation: Relation
    value: Quantity
    limit: Quantity | tuple[str, ...]
    unit: str
    detail: str
    clears_at: datetime | None = None
    temporary: bool = False

    @property
    def allows(self) -> bool:
        """Yes or no, derived from the numbers."""
        return satisfies(self.value, self.relation, self.limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuroraPlan:
    """A change of storage mode: the bill on both sides, and what comes with it."""

    origin: StorageMode
    target: StorageMode
    goal: Goal
    why: str
    monthly_usd: Decimal
    price_change_usd: Decimal
    reversible: bool
    """Back to Standard always is; to I/O-Optimized again only when 30 days have passed."""
    restarts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AuroraCase:
    """What a guardrail may look at. `now` is the bill on both sides as the whole days have it."""

    observation: AuroraObservation
    limits: AuroraLimits
    demand: AuroraDemand
    prices: AuroraPrices
    now: Bills
    plan: AuroraPlan

    @property
    def back(self) -> bool:
        """Whether the plan leads back to Standard."""
        return self.plan.target is StorageMode.STANDARD

    def saving_usd(self, ios: float) -> Decimal:
        """What the plan saves a month with so many I/O."""
        found = bills(usage(self.observation, self.demand, ios), self.prices)
        return found.saving_usd(self.plan.origin)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuroraJudgement:
    """A plan and what every guardrail said about it."""

    plan: AuroraPlan
    verdicts: tuple[AuroraVerdict, ...]

    @property
    def blocking(self) -> tuple[AuroraVerdict, ...]:
        """The verdicts that do not allow the plan."""
        return tuple(v for v in self.verdicts if not v.allows)

    @property
    def allowed(self) -> bool:
        """Whether every guardrail allows the plan."""
        return not self.blocking


def _is(
    name: AuroraGuardrail, value: Quantity, limit: Quantity, detail: str = "",
    *, clears_at: datetime | None = None, temporary: bool = False,
) -> AuroraVerdict:  # fmt: skip
    return AuroraVerdict(
        guardrail=name, relation=Relation.IS, value=value, limit=limit, unit="", detail=detail,
        clears_at=clears_at, temporary=temporary,
    )  # fmt: skip


def _at_least(
    name: AuroraGuardrail, value: Quantity, limit: Quantity, unit: str, detail: str = "",
    *, temporary: bool = False,
) -> AuroraVerdict:  # fmt: skip
    return AuroraVerdict(
        guardrail=name, relation=Relation.AT_LEAST, value=value, limit=limit, unit=unit,
        detail=detail, temporary=temporary,
    )  # fmt: skip


def mode(case: AuroraCase) -> AuroraVerdict:
    """Only `auto` acts by itself."""
    return _is(AuroraGuardrail.MODE, "auto" if case.limits.auto else "observe", "auto")


def data(case: AuroraCase) -> AuroraVerdict:
    """Fourteen whole days, of which nothing missing was taken for zero."""
    return _at_least(
        AuroraGuardrail.DATA, len(case.demand.days), DAYS, "whole days", temporary=True
    )


def billed_io(case: AuroraCase) -> AuroraVerdict:
    """What is billed must have been published under the present mode."""
    return _is(
        AuroraGuardrail.BILLED_IO, "published" if case.demand.known else "not published",
        "published", "" if case.demand.known else "VolumeReadIOPs and VolumeWriteIOPs have no "
        f"points under {case.plan.origin}",
    )  # fmt: skip


def available(case: AuroraCase) -> AuroraVerdict:
    """The cluster is available and no other change of its mode is pending."""
    cluster = case.observation.cluster
    pending = cluster.pending_storage_mode
    state = cluster.status if pending is None else f"{pending} pending"
    return _is(AuroraGuardrail.AVAILABLE, state, "available", temporary=True)


def gate(case: AuroraCase) -> AuroraVerdict:
    """I/O-Optimized can be gone to once in 30 days."""
    opens = case.observation.cluster.next_allowed_at
    shut = not case.back and opens is not None and opens > case.observation.at
    return _is(
        AuroraGuardrail.GATE, "shut" if shut else "open", "open",
        "AWS allows it once in 30 days" if shut else "",
        clears_at=opens if shut else None, temporary=True,
    )  # fmt: skip


def reversal(case: AuroraCase) -> AuroraVerdict:
    """Nothing goes back to Standard while it could not return, should the I/O come back."""
    cluster = case.observation.cluster
    opens = cluster.next_allowed_at
    if opens is None and cluster.mode_since is not None:  # AWS names none: as long as it shuts
        opens = cluster.mode_since + GATE
    shut = case.back and opens is not None and opens > case.observation.at
    return _is(
        AuroraGuardrail.WAY_BACK, "shut" if shut else "open", "open",
        "until then a wrong step could not be undone" if shut else "",
        clears_at=opens if shut else None, temporary=True,
    )  # fmt: skip


def version(case: AuroraCase) -> AuroraVerdict:
    """The engine's version knows I/O-Optimized."""
    cluster = case.observation.cluster
    fits = case.back or supports_io_optimized(cluster.engine, cluster.engine_version)
    return _is(AuroraGuardrail.VERSION, fits, True, f"{cluster.engine} {cluster.engine_version}")


def restart(case: AuroraCase) -> AuroraVerdict:
    """Members with a cache on NVMe restart their engine, which only the owner may allow."""
    asks = case.plan.restarts and not case.limits.restart
    return _is(
        AuroraGuardrail.RESTART, "restarts" if asks else "allowed" if case.plan.restarts else "none",
        "allowed" if case.plan.restarts else "none",
        "members with local NVMe restart to use or leave the tiered cache" if asks else "",
    )  # fmt: skip


def parallel_query(case: AuroraCase) -> AuroraVerdict:
    """Parallel query may not be available with I/O-Optimized; of MySQL it must be known to be off."""
    cluster = case.observation.cluster
    on, mysql = cluster.parallel_query, cluster.engine == "aurora-mysql"
    if case.back or not (on or (mysql and on is None)):
        return _is(AuroraGuardrail.PARALLEL_QUERY, "off", "off")
    detail = (
        ""
        if on
        else "aurora_parallel_query was not read; it inflates VolumeReadIOPs where it is on"
    )
    return _is(AuroraGuardrail.PARALLEL_QUERY, "on" if on else "not known", "off", detail)


def reserved(case: AuroraCase) -> AuroraVerdict:
    """Reservations cover less in I/O-Optimized: they must have been read."""
    before, after = case.now.covered_percent
    known = case.observation.cluster.reserved is not None
    return _is(
        AuroraGuardrail.RESERVED, "known" if known else "not known", "known",
        f"they cover {before:.0f} % of the instances in Standard, {after:.0f} % in I/O-Optimized"
        if known else "",
    )  # fmt: skip


def margin(case: AuroraCase) -> AuroraVerdict:
    """For money: the change saves so much of the present bill."""
    bill = case.now.of(case.plan.origin).total_usd
    saving = case.now.saving_usd(case.plan.origin)
    percent = round(float(100 * saving / bill), 3) if bill else 0.0
    need = case.limits.margin_percent if case.plan.goal is Goal.COST else -1e6
    return _at_least(AuroraGuardrail.MARGIN, percent, need, "% of the bill saved")


def steady(case: AuroraCase) -> AuroraVerdict:
    """For money: it pays without the two busiest days, or going back, like the busiest week."""
    if case.plan.goal is not Goal.COST or not case.demand.days:
        return _at_least(AuroraGuardrail.STEADY, 0, 0, "USD/month")
    if case.back:
        ios = case.demand.ios_a_month(busiest=BUSY_DAYS)
        detail = f"were every day like the busiest {BUSY_DAYS}"
    else:
        ios = case.demand.ios_a_month(leave_out=min(SPIKES, len(case.demand.days) - 1))
        detail = f"without the busiest {SPIKES} days"
    return _at_least(AuroraGuardrail.STEADY, round(case.saving_usd(ios), 2), 0, "USD/month", detail)


def price(case: AuroraCase) -> AuroraVerdict:
    """For speed: the month becomes dearer by no more than the owner allows."""
    dearer = max(Decimal(0), case.plan.price_change_usd)
    limit = case.limits.price_increase_usd if case.plan.goal is Goal.PERFORMANCE else 0.0
    return AuroraVerdict(
        guardrail=AuroraGuardrail.PRICE, relation=Relation.AT_MOST, value=round(dearer, 2),
        limit=limit, unit="USD/month", detail="",
    )  # fmt: skip


def slow_commits(case: AuroraCase) -> AuroraVerdict:
    """For speed: commits were slow for an hour on several of the days."""
    if case.plan.goal is not Goal.PERFORMANCE:
        return _at_least(AuroraGuardrail.SLOW_COMMITS, 0, 0, "days")
    return _at_least(
        AuroraGuardrail.SLOW_COMMITS, case.demand.slow_days, SLOW_DAYS, "days",
        f"an hour or more above {case.limits.commit_latency_ms:g} ms", temporary=True,
    )  # fmt: skip


GUARDRAILS: tuple[tuple[AuroraGuardrail, Callable[[AuroraCase], AuroraVerdict]], ...] = (
    # In the order people read them: permission, data, AWS's limits, side effects, money, speed.
    (AuroraGuardrail.MODE, mode),
    (AuroraGuardrail.DATA, data),
    (AuroraGuardrail.BILLED_IO, billed_io),
    (AuroraGuardrail.AVAILABLE, available),
    (AuroraGuardrail.GATE, gate),
    (AuroraGuardrail.WAY_BACK, reversal),
    (AuroraGuardrail.VERSION, version),
    (AuroraGuardrail.RESTART, restart),
    (AuroraGuardrail.PARALLEL_QUERY, parallel_query),
    (AuroraGuardrail.RESERVED, reserved),
    (AuroraGuardrail.MARGIN, margin),
    (AuroraGuardrail.STEADY, steady),
    (AuroraGuardrail.PRICE, price),
    (AuroraGuardrail.SLOW_COMMITS, slow_commits),
)


def judge_storage_mode(case: AuroraCase) -> AuroraJudgement:
    """What every guardrail says; a rule that raises blocks."""
    return AuroraJudgement(
        plan=case.plan, verdicts=tuple(_ask(name, rule, case) for name, rule in GUARDRAILS)
    )


def _ask(
    name: AuroraGuardrail, rule: Callable[[AuroraCase], AuroraVerdict], case: AuroraCase
) -> AuroraVerdict:
    try:
        verdict = rule(case)
        _ = verdict.allows  # a verdict whose numbers cannot be compared is a failed one
    except Exception as error:
        return AuroraVerdict(
            guardrail=name, relation=Relation.FAILED, value=None, limit=None, unit="",
            detail=f"{type(error).__name__}: {error}",
        )  # fmt: skip
    return verdict
