"""What the pages say of the guardrails of Aurora clusters, and all pages together; see pages.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from headroom.domain.aurora import Goal, StorageMode
from headroom.domain.aurora_guardrails import AuroraCase
from headroom.domain.guardrails.case import Case
from headroom.domain.guardrails.pages import PAGES, Page
from headroom.domain.verdicts import Guardrail


def _about(change: Callable[[AuroraCase], AuroraCase]) -> Callable[[Case], Case]:
    def made(case: Case) -> Case:
        return case if case.cluster is None else replace(case, cluster=change(case.cluster))

    return made


def _cluster(**changes: Any) -> Callable[[Case], Case]:
    def made(about: AuroraCase) -> AuroraCase:
        seen = about.observation
        cluster = replace(seen.cluster, **changes)
        return replace(about, observation=replace(seen, cluster=cluster))

    return _about(made)


def _shut(about: AuroraCase) -> AuroraCase:
    seen = about.observation
    cluster = replace(seen.cluster, next_allowed_at=seen.at + timedelta(days=12))
    return replace(about, observation=replace(seen, cluster=cluster))


def _back(about: AuroraCase) -> AuroraCase:
    plan = replace(
        about.plan, origin=StorageMode.IO_OPTIMIZED, target=StorageMode.STANDARD, reversible=False
    )
    return replace(_shut(about), plan=plan)


def _fewer_days(about: AuroraCase) -> AuroraCase:
    return replace(about, demand=replace(about.demand, days=about.demand.days[:9]))


def _silent(about: AuroraCase) -> AuroraCase:
    return replace(about, demand=replace(about.demand, known=False))


def _with_nvme(about: AuroraCase) -> AuroraCase:
    return replace(about, plan=replace(about.plan, restarts=True))


def _two_busy_days(about: AuroraCase) -> AuroraCase:
    busy = len(about.demand.days) - 2
    days = tuple(
        replace(day, ios=day.ios if i >= busy else 1e6) for i, day in enumerate(about.demand.days)
    )
    return replace(about, demand=replace(about.demand, days=days))


def _for_speed(about: AuroraCase) -> AuroraCase:
    return replace(about, plan=replace(about.plan, goal=Goal.PERFORMANCE))


CLUSTER_PAGES: Mapping[Guardrail, Page] = MappingProxyType(
    {
        Guardrail.WHOLE_DAYS: Page(
            cluster=True, clears="once fourteen of the last sixteen UTC days are measured",
            do="wait; days with fewer than 95 % of their five-minute counts are none",
            example="nine whole days", blocked=_about(_fewer_days),
        ),
        Guardrail.BILLED_IO: Page(
            cluster=True,
            do="compare the bill with the days that were recorded before the change, and switch "
            "yourself: AWS does not say whether it publishes billed I/O under I/O-Optimized",
            example="VolumeReadIOPs and VolumeWriteIOPs have no points", blocked=_about(_silent),
        ),
        Guardrail.MODE_GATE: Page(
            cluster=True, clears="30 days after the cluster was last made I/O-Optimized",
            do="wait: AWS refuses it until then, whoever asks",
            example="AWS allows I/O-Optimized again in twelve days", blocked=_about(_shut),
        ),
        Guardrail.MODE_WAY_BACK: Page(
            cluster=True, clears="once AWS would take the way to I/O-Optimized again",
            do="switch to Standard yourself if you are sure: AWS takes that at any time",
            example="a cluster that would leave I/O-Optimized and may not return for twelve days",
            blocked=_about(_back),
        ),
        Guardrail.ENGINE_VERSION: Page(
            cluster=True, do="upgrade the engine to a version that knows I/O-Optimized",
            example="Aurora PostgreSQL 13.9", blocked=_cluster(engine_version="13.9"),
        ),
        Guardrail.RESTART: Page(
            cluster=True, settings=("aurora_restart",),
            do="allow it with `aurora_restart`, best together with `change_windows`",
            example="members of class db.r6gd.xlarge", blocked=_about(_with_nvme),
        ),
        Guardrail.PARALLEL_QUERY: Page(
            cluster=True,
            do="turn parallel query off, or leave the cluster in Standard: it may not be available "
            "otherwise; let it be read (rds:DescribeDBClusterParameters)",
            example="parallel query is on", blocked=_cluster(parallel_query=True),
        ),
        Guardrail.RESERVATIONS: Page(
            cluster=True, do="let them be read: rds:DescribeReservedDBInstances",
            example="reservations could not be read", blocked=_cluster(reserved=None),
        ),
        Guardrail.MARGIN: Page(
            cluster=True, settings=("aurora_margin_percent", "aurora_goal"),
            do="lower `aurora_margin_percent` if less is worth shutting the way for 30 days",
            example="`aurora_margin_percent: 60`",
            blocked=lambda case: replace(
                case,
                effective=replace(
                    case.effective,
                    limits=replace(case.effective.limits, aurora_margin_percent=60.0),
                ),
            ),
        ),
        Guardrail.STEADY: Page(
            cluster=True, do="wait until the load is what it is on most days, or switch yourself",
            example="twelve of the days had next to no I/O", blocked=_about(_two_busy_days),
        ),
        Guardrail.SLOW_COMMITS: Page(
            cluster=True, settings=("aurora_slow_commit_ms", "aurora_goal"),
            clears="once commits are slow for an hour on three of the days",
            do="nothing, or lower `aurora_slow_commit_ms`: commits are fast enough",
            example="a change for speed (`aurora_goal: performance`), and commits were never slow",
            blocked=_about(_for_speed),
        ),
    }
)  # fmt: skip

EVERY_PAGE: Mapping[Guardrail, Page] = MappingProxyType({**PAGES, **CLUSTER_PAGES})
"""All pages, of volumes and of clusters."""
