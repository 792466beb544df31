"""What raises of an instance's volumes may take of it, beyond what its metrics show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from statistics import mean

from headroom.domain.resources import LATER, Observation, Series
from headroom.domain.state.concurrency import ConcurrencyState, InFlight, Landed

QUARTER = timedelta(minutes=15)
QUARTER_MINUTES = 15
Points = Mapping[datetime, float]
"""A rate by the start of its minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """What raises of other volumes may take of an instance, beyond what its metrics show."""

    iops: float
    mibps: float
    until: datetime | None
    """Until when it counts at most; None while one of the raises has not ended."""
    soon_over: bool = field(default=False, metadata=LATER)
    """Whether all were raises for load that was there: the metrics show within the hour what they take."""


def promised_beside(
    members: Sequence[Observation], concurrency: ConcurrencyState
) -> Promised | None:
    """What raises of volumes other than `members` may still take of their instance; None for nothing.

    A raise under way may take what it adds, less what the others' load grew by since just before it. One that
    landed, less what it grew by at most in any quarter of an hour: what took its share once is no surprise.
    """
    first = members[0]
    instance, ref, at = first.instance, first.volume.ref, first.at
    if instance is None:
        return None
    own = {m.volume.ref.arn for m in members}
    others = {replace(ref, resource_id=name).arn for name in instance.volume_ids} - own
    open_, ended = concurrency.raises_under_way(others, at), concurrency.raises_landed(others, at)
    if not open_ and not ended:
        return None
    iops, mibps = own_load(members)
    activity = first.instance_activity
    found = Promised(
        iops=_unseen(
            open_, ended, lambda c: (c.adds_iops, c.instance_iops), at, iops,
            {} if activity is None else dict(activity.iops.points()),
        ),
        mibps=_unseen(
            open_, ended, lambda c: (c.adds_mibps, c.instance_mibps), at, mibps,
            {} if activity is None else dict(activity.mibps.points()),
        ),
        until=None if open_ else max(one.until for one in ended),
        soon_over=not any(one.ahead for one in (*open_, *(one.change for one in ended))),
    )  # fmt: skip
    return found if found.iops or found.mibps else None


def just_before(observation: Observation) -> tuple[float | None, ...]:
    """Means of the last quarter of an hour: IOPS and MiB/s of the volume, then of all of its instance."""
    activity, end = observation.instance_activity, observation.at
    all_of_it: tuple[Series, ...] = () if activity is None else (activity.iops, activity.mibps)
    both = [*own_load((observation,)), *(dict(series.points()) for series in all_of_it)]
    return *(_mean(points, end - QUARTER, end) for points in both), *(None,) * (4 - len(both))


def own_load(members: Sequence[Observation]) -> tuple[Points, Points]:
    """IOPS and MiB/s of volumes together, in the minutes in which all were measured."""
    active = [m.activity for m in members]
    return (
        _sum([_either(a.read_iops, a.write_iops) for a in active]),
        _sum([_either(a.read_mibps, a.write_mibps) for a in active]),
    )


def _either(reads: Series, writes: Series) -> Points:
    """Both directions; on Xen instances one without operations is not published."""
    found = dict(reads.points())
    for at, rate in writes.points():
        found[at] = found.get(at, 0.0) + rate
    return found


def _sum(each: Sequence[Points]) -> Points:
    first = each[0]
    return (
        {at: sum([p[at] for p in each]) for at in first if all(at in p for p in each)}
        if len(each) > 1
        else dict(first)
    )


def _mean(points: Points, start: datetime, end: datetime) -> float | None:
    found = [value for at, value in points.items() if start <= at < end]
    return mean(found) if found else None


def _unseen(
    open_: Sequence[InFlight], ended: Sequence[Landed],
    rate: Callable[[InFlight], tuple[int, int | None]], at: datetime, own: Points, total: Points,
) -> float:  # fmt: skip
    """What the raises add of one rate, less what the load beside the members grew by: the most since any of them."""
    beside = {
        when: max(0.0, all_of_it - own[when]) for when, all_of_it in total.items() if when in own
    }
    now = _mean(beside, at - QUARTER, at)
    if now is None and beside:
        now = mean(list(beside.values())[-QUARTER_MINUTES:])
    changes = [(change, False) for change in open_] + [(one.change, True) for one in ended]
    most = 0.0
    for change, landed in changes:
        added = sum(rate(c)[0] for c, _ in changes if c.since >= change.since)
        before = rate(change)[1]
        if now is None or before is None:
            most = max(most, added)
            continue
        was = max(0.0, before - (_mean(own, change.since - QUARTER, change.since) or 0.0))
        seen = max([now, *_quarters(beside, at, change.since)]) if landed else now
        most = max(most, added - max(0.0, seen - was))
    return most


def _quarters(beside: Points, at: datetime, since: datetime) -> Iterator[float]:
    """Means of the whole quarters of an hour from `since` to `at`, latest first."""
    end = at
    while end - QUARTER >= since and beside and end > min(beside):
        found = _mean(beside, end - QUARTER, end)
        if found is not None:
            yield found
        end -= QUARTER
