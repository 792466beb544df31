"""Guardrails for the storage mode of Aurora clusters.

Source: Aurora User Guide, "Storage configurations for Amazon Aurora DB clusters" (checked 2026-10).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import accumulate
from statistics import mean, median

from headroom.domain.catalog.aurora import HOURS_PER_MONTH, MILLION, bills, supports_io_optimized
from headroom.domain.guardrails.case import Case, ClusterCase, verdict_of
from headroom.domain.guardrails.verdicts import Guardrail, Relation, Verdict
from headroom.domain.resources import GATE, Goal, PriceUnknown, StorageMode, mode_of
from headroom.domain.workload import DAYS, usage

SPIKES = 2
"""The busiest days that must not be the whole reason to go to I/O-Optimized."""
BUSY_DAYS = 7
"""Going back must pay even if every day were like the busiest half."""
GATE_DAYS = GATE // timedelta(days=1)
"""Days that a wrong change may have to stay in force."""
LATEST_DAYS = 3
"""What a load shorter than GATE_DAYS is like now."""
NEW_TIMES = 4
"""Quiet days that saved this many times what any earlier ones did are a new level of the load: fewer may be
the two quiet months of a quarter."""
SLOW_DAYS = 3
"""Days with slow commits from which on they are no accident."""
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
"""Guardrails of all storage that apply to a cluster unchanged.

The others are about IOPS, throughput, size and EBS's slots, which a cluster does not have.
"""


def usage_history(case: Case) -> Verdict:
    """Block a change that rests on fewer than fourteen whole days of measurements."""
    return verdict_of(
        Guardrail.USAGE_HISTORY, Relation.AT_LEAST, len(_cluster(case).demand.days), DAYS,
        "whole days", temporary=True,
    )  # fmt: skip


def billed_io(case: Case) -> Verdict:
    """Block a change when AWS published no billed I/O under the present storage mode."""
    known = _cluster(case).demand.known
    return verdict_of(
        Guardrail.BILLED_IO, Relation.IS, "published" if known else "not published", "published", "",
        "" if known else "VolumeReadIOPs and VolumeWriteIOPs have no points under "
        f"{mode_of(case.plan.origin)}",
    )  # fmt: skip


def mode_change_interval(case: Case) -> Verdict:
    """Block I/O-Optimized until AWS allows it: once in 30 days."""
    opens = None if _to_standard(case) else _cluster(case).observation.cluster.next_allowed_at
    return _opens(case, Guardrail.MODE_CHANGE_INTERVAL, opens, "AWS allows it once in 30 days")


def mode_reversible(case: Case) -> Verdict:
    """Block a return to Standard while I/O-Optimized could not be chosen again."""
    cluster = _cluster(case).observation.cluster
    opens = cluster.next_allowed_at
    if opens is None and cluster.mode_since is not None:  # AWS names none: 30 days from the change
        opens = cluster.mode_since + GATE
    return _opens(
        case, Guardrail.MODE_REVERSIBLE, opens if _to_standard(case) else None,
        "until then a wrong step could not be undone",
    )  # fmt: skip


def engine_version(case: Case) -> Verdict:
    """Block I/O-Optimized for engine versions that do not support it."""
    cluster = _cluster(case).observation.cluster
    supported = supports_io_optimized(cluster.engine, cluster.engine_version)
    return verdict_of(
        Guardrail.ENGINE_VERSION, Relation.IS, _to_standard(case) or supported, True, "",
        f"{cluster.engine} {cluster.engine_version}",
    )  # fmt: skip


def restart(case: Case) -> Verdict:
    """Block a change that restarts members with local NVMe, unless the owner allows it."""
    restarts = _cluster(case).observation.cluster.restarts
    refused = restarts and not case.effective.limits.aurora_restart
    limit = "allowed" if restarts else "none"
    return verdict_of(
        Guardrail.RESTART, Relation.IS, "restarts" if refused else limit, limit, "",
        "members with local NVMe restart to use or leave the tiered cache" if refused else "",
    )  # fmt: skip


def parallel_query(case: Case) -> Verdict:
    """Block I/O-Optimized where parallel query is on, or not known to be off."""
    cluster = _cluster(case).observation.cluster
    on, detail = cluster.parallel_query, ""
    value = "on" if on else "off"
    if on is None and cluster.engine == "aurora-mysql":
        value = "not known"
        detail = "aurora_parallel_query was not read; it inflates VolumeReadIOPs where it is on"
    if _to_standard(case):
        value, detail = "off", ""
    return verdict_of(Guardrail.PARALLEL_QUERY, Relation.IS, value, "off", "", detail)


def reservations(case: Case) -> Verdict:
    """Block a change while reservations are unknown: they cover less in I/O-Optimized."""
    standard, optimized = _cluster(case).bills.covered_percent
    known = _cluster(case).observation.cluster.reserved is not None
    covered = f"{standard:.0f} % of the instances in Standard, {optimized:.0f} % in I/O-Optimized"
    return verdict_of(
        Guardrail.RESERVATIONS, Relation.IS, "known" if known else "not known", "known", "",
        f"they cover {covered}" if known else "",
    )  # fmt: skip


def margin(case: Case) -> Verdict:
    """Block a change for money that saves too little, because it shuts I/O-Optimized for 30 days.

    The saving is a share of the present bill.
    """
    cluster, origin = _cluster(case), mode_of(case.plan.origin)
    bill, saving = cluster.bills.of(origin).total_usd, cluster.bills.saving_usd(origin)
    for_money = cluster.goal is Goal.COST
    return verdict_of(
        Guardrail.MARGIN, Relation.AT_LEAST,
        round(float(100 * saving / bill), 3) if bill else 0.0,
        case.effective.limits.aurora_margin_percent if for_money else -1e6, "% of the bill saved",
    )  # fmt: skip


def steady(case: Case) -> Verdict:
    """Block a change for money that pays only because of unusual days.

    To I/O-Optimized it must pay without the two busiest days, of these or of the longer past; back to
    Standard even if every day were like the busiest seven. Either way it must pay with any members that the
    cluster had within a week: a reader that is being replaced is soon back.
    """
    cluster, saving, detail, members = _cluster(case), Decimal(0), "", ""
    demand, origin = cluster.demand, mode_of(case.plan.origin)
    if cluster.goal is Goal.COST and demand.days:
        if _to_standard(case):
            ios = demand.ios_a_month(busiest=BUSY_DAYS)
            detail = f"were every day like the busiest {BUSY_DAYS}"
        else:
            ios = demand.ios_a_month_without_peaks(SPIKES)
            detail = f"without the busiest {SPIKES} days, or those of the longer past"
        month = usage(cluster.observation, demand, ios)
        saving = bills(month, cluster.prices).saving_usd(origin)
        for seen in cluster.earlier_members:
            with suppress(PriceUnknown, ValueError):
                then = bills(replace(month, members=seen.members), cluster.prices)
                if then.saving_usd(origin) < saving:
                    saving = then.saving_usd(origin)
                    members = f", with its members of {seen.day:%Y-%m-%d}"
        detail += members
    return verdict_of(Guardrail.STEADY, Relation.AT_LEAST, round(saving, 2), 0, "USD/month", detail)


def rhythm(case: Case) -> Verdict:
    """Block a change for money that a monthly rhythm of the load would soon make a loss.

    The recent savings of the other mode must exceed, by the margin, its losses in the worst thirty days
    of the past. Back to Standard, four times the savings of any earlier quiet days are enough: then the load
    has a new level.
    """
    cluster, days, gain, worst = _cluster(case), 0, 0.0, 0.0
    if cluster.goal is Goal.COST and cluster.demand.past_ios:
        savings = _daily_savings(cluster, mode_of(case.plan.origin))
        days, gain = _latest_saving(savings[GATE_DAYS:])
        earlier = _worst_loss([-usd for usd in savings[: len(savings) - days]])
        if not (_to_standard(case) and gain >= NEW_TIMES * earlier):
            margin_percent = case.effective.limits.aurora_margin_percent
            worst = _worst_loss(savings) * (1 + margin_percent / 100)
    return verdict_of(
        Guardrail.RHYTHM, Relation.AT_LEAST, round(gain, 2), round(worst, 2), "USD",
        f"in the last {days} days, against the worst {GATE_DAYS} days" if worst else "",
    )  # fmt: skip


def _daily_savings(cluster: ClusterCase, origin: StorageMode) -> list[float]:
    """USD that the other mode would have saved on each day of the past, oldest first.

    GATE_DAYS days before those that are known are taken to be like their median; of a past shorter than
    that like its latest days, if these save less: the import into a new cluster is over one day.
    """
    past = cluster.demand.past_ios
    idle = bills(usage(cluster.observation, cluster.demand, 0.0), cluster.prices)
    without_io = float(idle.saving_usd(origin)) * 24 / HOURS_PER_MONTH
    usd = float(cluster.prices.million_ios) / MILLION
    sign = 1.0 if origin is StorageMode.STANDARD else -1.0
    savings = [without_io + sign * usd * ios for ios in past]
    unknown = median(savings)
    if len(savings) < GATE_DAYS:
        unknown = min(unknown, mean(savings[-LATEST_DAYS:]))
    return [unknown] * GATE_DAYS + savings


def _latest_saving(savings: Sequence[float]) -> tuple[int, float]:
    """The last days that together saved most: how many, and their USD; none if no such days saved."""
    best, total = (0, 0.0), 0.0
    for days, usd in enumerate(reversed(savings), start=1):
        total += usd
        best = max(best, (days, total), key=lambda one: one[1])
    return best


def _worst_loss(savings: Sequence[float]) -> float:
    """The most that up to GATE_DAYS consecutive days lost, in USD, 0 or more."""
    sums = [0.0, *accumulate(savings)]
    return max(max(sums[max(0, end - GATE_DAYS) : end + 1]) - sums[end] for end in range(len(sums)))


def slow_commits(case: Case) -> Verdict:
    """Block a change for speed without slow commits on several of the days."""
    cluster = _cluster(case)
    if cluster.goal is not Goal.PERFORMANCE:
        return verdict_of(Guardrail.SLOW_COMMITS, Relation.AT_LEAST, 0, 0, "days")
    return verdict_of(
        Guardrail.SLOW_COMMITS, Relation.AT_LEAST, cluster.demand.slow_days, SLOW_DAYS, "days",
        f"an hour or more above {case.effective.limits.aurora_slow_commit_ms:g} ms", temporary=True,
    )  # fmt: skip


def _cluster(case: Case) -> ClusterCase:
    if case.cluster is None:
        raise ValueError("this guardrail applies to Aurora clusters only")
    return case.cluster


def _to_standard(case: Case) -> bool:
    return mode_of(case.plan.target) is StorageMode.STANDARD


def _opens(case: Case, name: Guardrail, opens: datetime | None, detail: str) -> Verdict:
    """Block until `opens`, where it lies ahead."""
    shut = opens is not None and opens > case.observation.at
    return verdict_of(
        name, Relation.IS, "shut" if shut else "open", "open", "", detail if shut else "",
        clears_at=opens if shut else None, temporary=True,
    )  # fmt: skip
