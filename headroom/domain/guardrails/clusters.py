"""Guardrails for the storage mode of Aurora clusters; what each compares is in aurora_guardrails.

Source: Aurora User Guide, "Storage configurations for Amazon Aurora DB clusters" (checked 2026-10).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from headroom.domain.guardrails import storage_mode as aurora
from headroom.domain.guardrails.case import Case
from headroom.domain.guardrails.verdicts import Guardrail, Verdict
from headroom.domain.policy import Limits
from headroom.domain.resources import AuroraLimits

SHARED = frozenset(
    {
        Guardrail.POLICY, Guardrail.PAUSE, Guardrail.BREAKER, Guardrail.MODE, Guardrail.APPROVAL,
        Guardrail.CHANGE_WINDOW, Guardrail.FREEZE, Guardrail.CALENDAR, Guardrail.MAX_IN_FLIGHT,
        Guardrail.MAX_IN_FLIGHT_PER_AZ, Guardrail.MAX_CHANGES_PER_HOUR, Guardrail.MANAGED_ELSEWHERE,
        Guardrail.INFRASTRUCTURE_AS_CODE, Guardrail.REVERTED, Guardrail.DATABASE_STATE,
        Guardrail.PENDING_CHANGES, Guardrail.GROUP, Guardrail.PRICE_PER_RESOURCE,
        Guardrail.PRICE_PER_ACCOUNT, Guardrail.IN_FLIGHT, Guardrail.RETRY_BACKOFF, Guardrail.COOLDOWN,
        Guardrail.ROLLED_BACK, Guardrail.FAILURES,
    }
)  # fmt: skip
"""Guardrails of all storage that hold for a cluster as they are.

The others ask about IOPS, throughput, size and EBS's slots, of which a cluster has none.
"""


def limits_of(limits: Limits) -> AuroraLimits:
    """The owner's limits in the words of the engine; permission is judged by guardrails of all."""
    return AuroraLimits(
        auto=True,
        goal=limits.aurora_goal,
        margin_percent=limits.aurora_margin_percent,
        commit_latency_ms=limits.aurora_slow_commit_ms,
        price_increase_usd=float(limits.price_increase_usd),
        restart=limits.aurora_restart,
    )


def usage_history(case: Case) -> Verdict:
    """Block a change that rests on fewer than fourteen whole days of measurements."""
    return _said(Guardrail.USAGE_HISTORY, aurora.data, case)


def billed_io(case: Case) -> Verdict:
    """Block a change when AWS published no billed I/O under the present storage mode."""
    return _said(Guardrail.BILLED_IO, aurora.billed_io, case)


def mode_change_interval(case: Case) -> Verdict:
    """Block I/O-Optimized until AWS allows it: once in 30 days."""
    return _said(Guardrail.MODE_CHANGE_INTERVAL, aurora.gate, case)


def mode_reversible(case: Case) -> Verdict:
    """Block a return to Standard while I/O-Optimized could not be chosen again."""
    return _said(Guardrail.MODE_REVERSIBLE, aurora.reversal, case)


def engine_version(case: Case) -> Verdict:
    """Block I/O-Optimized for engine versions that do not support it."""
    return _said(Guardrail.ENGINE_VERSION, aurora.version, case)


def restart(case: Case) -> Verdict:
    """Block a change that restarts members with local NVMe, unless the owner allows it."""
    return _said(Guardrail.RESTART, aurora.restart, case)


def parallel_query(case: Case) -> Verdict:
    """Block I/O-Optimized where parallel query is on, or not known to be off."""
    return _said(Guardrail.PARALLEL_QUERY, aurora.parallel_query, case)


def reservations(case: Case) -> Verdict:
    """Block a change while reservations are unknown: they cover less in I/O-Optimized."""
    return _said(Guardrail.RESERVATIONS, aurora.reserved, case)


def margin(case: Case) -> Verdict:
    """Block a change for money that saves too little, because it shuts I/O-Optimized for 30 days.

    The saving is a share of the present bill.
    """
    return _said(Guardrail.MARGIN, aurora.margin, case)


def steady(case: Case) -> Verdict:
    """Block a change for money that pays only because of unusual days.

    To I/O-Optimized it must pay without the two busiest days, back to Standard even if every day
    were like the busiest seven.
    """
    return _said(Guardrail.STEADY, aurora.steady, case)


def slow_commits(case: Case) -> Verdict:
    """Block a change for speed without slow commits on several of the days."""
    return _said(Guardrail.SLOW_COMMITS, aurora.slow_commits, case)


def _said(
    name: Guardrail, rule: Callable[[aurora.AuroraCase], aurora.AuroraVerdict], case: Case
) -> Verdict:
    if case.cluster is None:
        raise ValueError("only a cluster is asked this")
    own = rule(replace(case.cluster, limits=limits_of(case.effective.limits)))
    return Verdict(
        guardrail=name, relation=own.relation, value=own.value, limit=own.limit, unit=own.unit,
        detail=own.detail, clears_at=own.clears_at, temporary=own.temporary,
    )  # fmt: skip
