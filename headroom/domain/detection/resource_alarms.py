"""Which resources deserve an alarm of their own, and on which metric.

An alarm on one metric costs $0.10 a month and sees pressure within minutes, whenever it comes. It is worth
that for storage whose pressure came when it was glanced at rarely; places that the budget leaves go to
what was never in trouble. It replaces no glance: without its alarm, a resource is found as if it never
had one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from headroom.domain.detection.glance import Metric
from headroom.domain.detection.next_glance import GlanceState
from headroom.domain.detection.troubles import (
    SUSPECT_QUEUE,
    Trouble,
    credits_cover,
    outstanding_at_limit,
)
from headroom.domain.resources import Kind, Volume

USD_PER_ALARM = 0.10
"""A month of an alarm on one metric. Source: CloudWatch price list, us-east-1, 2026-07."""
BALANCE_PERCENT = 70.0
"""Credits below which their alarm goes off: early enough to buy IOPS before they end."""
FIRST_TIME = 0.1
"""Hours added to `GlanceState.late` for the pressure that is yet to come: six minutes a week."""
CLEARLY = 1.5
"""How much more a resource must deserve an alarm than the one that loses it."""
LEAST = timedelta(days=1)
"""How long an alarm is kept before another resource may take its place."""
SILENT = 8
"""Glances in a row without data, over hours: storage that is not in use."""
NOTED_EVERY, GONE = timedelta(hours=3), timedelta(hours=6)
"""How often a scan stores that a resource still exists; one not seen by a complete scan for longer is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceAlarm:
    """An alarm on one metric of one resource. A stored one outlives the release that wrote it."""

    kind: Kind
    resource_id: str
    metric: Metric
    threshold: float
    """At least this is pressure; of credits, less than this."""
    instance_id: str = ""
    """Only of Exceeded checks, which are published for a volume on an instance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A resource that was glanced at, the alarm it would get, and how much it deserves one."""

    kind: Kind
    resource_id: str
    """Under which its metrics are published."""
    alarm: ResourceAlarm | None
    """None where it may have none: not enrolled or not in use."""
    score: float
    """Of several, the higher ones get one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A resource that has an alarm of its own."""

    alarm: ResourceAlarm
    score: float
    """When it was stored."""
    since: datetime
    noted_at: datetime
    """When a scan last saw it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmPlan:
    """The alarms that there should be, and whether they are. A stored one outlives its release."""

    watched: tuple[Watched, ...] = ()
    version: int = 0
    """Grows with every change of an alarm."""
    applied: int = 0
    """The version that the alarms in AWS were last found, or made, to agree with."""
    checked_at: datetime | None = None
    failed_at: datetime | None = None
    """When they last could not be made to agree; None once they did."""


def most_alarms(budget_usd: float) -> int:
    """How many alarms a monthly budget pays for."""
    return int(budget_usd / USD_PER_ALARM + 1e-9)


def deserves(state: GlanceState, value: float) -> float:
    """How much a resource deserves an alarm; `value` is that of relief, 1 where it is the usual one."""
    return (state.late + FIRST_TIME) * value


def published_as(volume: Volume) -> str:
    """The id under which metrics are published: of a Multi-AZ DB cluster that of its writer; may be empty."""
    if volume.ref.resource_id.startswith("cluster:"):
        return volume.instance_ids[0] if volume.instance_ids else ""
    return volume.ref.resource_id


def alarm_of(volume: Volume, state: GlanceState) -> ResourceAlarm:
    """The alarm that would have seen what was last wrong with a resource.

    Where nothing was yet, the credits if every limit spends them, else the queue, which every limit makes longer.
    """
    first = {Trouble.CREDITS} if credits_cover(volume.configuration) else set()
    troubles = set(state.troubles) or first
    metric = next(
        (
            metric
            for trouble, metric in (
                (Trouble.CREDITS, Metric.BALANCE),
                (Trouble.IOPS, Metric.IOPS_CHECK),
                (Trouble.THROUGHPUT, Metric.THROUGHPUT_CHECK),
            )
            if trouble in troubles and _is_published(volume, state, metric)
        ),
        Metric.QUEUE,
    )
    check = metric in (Metric.IOPS_CHECK, Metric.THROUGHPUT_CHECK)
    return ResourceAlarm(
        kind=volume.ref.kind, resource_id=published_as(volume), metric=metric,
        threshold=_threshold(volume, metric, queued=Trouble.QUEUE in troubles),
        instance_id=volume.instance_ids[0] if check else "",
    )  # fmt: skip


def may_have_alarm(volume: Volume, state: GlanceState) -> bool:
    """Whether there are metrics that an alarm could watch; Aurora's storage publishes none of pressure."""
    if volume.ref.kind is Kind.EBS:
        there = bool(volume.instance_ids)
    else:  # several volumes of an instance publish under names of their own
        several = volume.facts is not None and bool(volume.facts.additional)
        there = volume.ref.kind is Kind.RDS and bool(published_as(volume)) and not several
    return there and state.silent < SILENT


def planned(
    before: AlarmPlan, seen: Sequence[Candidate], now: datetime, *, most: int,
    scanned: datetime | None = None,
) -> AlarmPlan:  # fmt: skip
    """The plan after a part of the fleet was seen: at most `most` alarms, for those that deserve them most.

    `scanned` is when the last complete scan began. Returns `before` itself where nothing is to be kept.
    """
    by_key = {(each.kind, each.resource_id): each for each in seen}
    kept = []
    for one in before.watched:
        candidate = by_key.pop((one.alarm.kind, one.alarm.resource_id), None)
        if candidate is not None and (again := _again(one, candidate, now)) is not None:
            kept.append(again)
        elif candidate is None and (scanned is None or scanned - one.noted_at <= GONE):
            kept.append(one)
    kept.sort(key=lambda one: -one.score)
    del kept[max(0, most) :]
    others = (each for each in by_key.values() if each.alarm)
    for candidate in sorted(others, key=lambda each: -each.score):
        if len(kept) >= most and not _gives_way(kept, candidate, now):
            break
        if candidate.alarm is not None:
            kept.append(
                Watched(alarm=candidate.alarm, score=candidate.score, since=now, noted_at=now)
            )
    watched = tuple(sorted(kept, key=lambda one: (one.alarm.kind.value, one.alarm.resource_id)))
    if watched == before.watched:
        return before
    changed = {one.alarm for one in watched} != {one.alarm for one in before.watched}
    return replace(before, watched=watched, version=before.version + changed)


def _again(one: Watched, candidate: Candidate, now: datetime) -> Watched | None:
    """The same after it was seen again; None where it may have no alarm any more."""
    if candidate.alarm is None:
        return None
    if candidate.alarm == one.alarm and now - one.noted_at < NOTED_EVERY:
        return one
    return replace(one, alarm=candidate.alarm, score=candidate.score, noted_at=now)


def _gives_way(kept: list[Watched], candidate: Candidate, now: datetime) -> bool:
    """Take out the one that deserves its alarm least, if that is clearly less."""
    free = [one for one in kept if now - one.since >= LEAST]
    least = min(free, key=lambda one: one.score, default=None)
    if least is None or candidate.score < CLEARLY * least.score:
        return False
    kept.remove(least)
    return True


def _is_published(volume: Volume, state: GlanceState, metric: Metric) -> bool:
    if metric is Metric.BALANCE:
        return volume.configuration.volume_type.value in ("gp2", "st1", "sc1")
    return volume.ref.kind is Kind.EBS and state.checked and len(volume.instance_ids) == 1


def _threshold(volume: Volume, metric: Metric, *, queued: bool) -> float:
    if metric is Metric.BALANCE:
        return BALANCE_PERCENT
    if metric is not Metric.QUEUE:
        return 1.0
    at_limit = outstanding_at_limit(volume.configuration)
    return max(SUSPECT_QUEUE, 4 * at_limit) if queued else 2 * at_limit
