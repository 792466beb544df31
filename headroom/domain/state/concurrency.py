"""Concurrency limits: how many changes are in flight in an account and Region, and how many may be.

A change uses a slot from its intent until its chain ends. If a chain never ends, its slot is free
again after LONGEST.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from headroom.domain.resources import LATER, STORAGE_MODES, Configuration, VolumeType

HOUR = timedelta(hours=1)
LONGEST = timedelta(hours=48)
"""Verification ends after 30 hours; nobody works on a change that is much older."""
MOST_LANDED = 500
"""Raises that landed, of which it is remembered what they may still take: below 400 KB with all else."""
SETTLES = timedelta(hours=6)
"""How long AWS may go on optimizing a change that was proven to work: what a full volume of 1 TiB
typically takes. Source: EBS User Guide, "Monitor the progress of volume modifications" (2026-10)."""
GIB = "gib"
IOPS = "iops"
SHOWS = timedelta(minutes=30)
"""How long after its chain a raise counts whose load was there: then means of a quarter of an hour show it."""
AWAITED = timedelta(hours=3)
"""The same of a raise ahead of load that has not come by then: as far back as the minutes reach that would show it."""
WITH_IOPS_QUOTA = (VolumeType.IO1, VolumeType.IO2)


SAVINGS = 3
"""Quarters of the places that changes which only save money may use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlastRadius:
    """The most changes that may be in flight at once, in one account and Region.

    The defaults limit the damage of a bad day: if every metric were wrong, 20 of 100,000 volumes
    would change, at most 10 of them in one zone, and no other before those are verified.
    """

    max_in_flight: int = 20
    """Changes that were started and whose chain has not ended."""
    max_changes_per_hour: int = 20
    """Changes started in any 60 minutes, without those that AWS refused."""
    max_in_flight_per_az: int = 10

    def for_savings(self, together: int = 1, *, kept: int = 0) -> BlastRadius:
        """What changes that only save money may use of it: the last quarter is kept for load.

        So many `together` may use as much as they need. While a set waits for its load, as many places are
        `kept` as it needs.
        """

        def part(most: int) -> int:
            usual = min(most, max(together, most * SAVINGS // 4))
            return min(usual, max(0, most - kept)) if kept else usual

        return BlastRadius(
            max_in_flight=part(self.max_in_flight),
            max_changes_per_hour=part(self.max_changes_per_hour),
            max_in_flight_per_az=part(self.max_in_flight_per_az),
        )


MOST_IN_FLIGHT = 200
MOST_PER_HOUR = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlight:
    """A change in flight: intended at `since`, its chain not ended."""

    resource: str
    """ARN."""
    decision_id: str
    since: datetime
    zone: str
    counts: tuple[tuple[str, int], ...] = ()
    """What it uses of AWS's regional quotas, see `quota_usage`."""
    adds_iops: int = field(default=0, metadata=LATER)
    """How many IOPS the volume may take beyond its mean of the quarter of an hour before; 0 unless raised."""
    adds_mibps: int = field(default=0, metadata=LATER)
    instance_iops: int | None = field(default=None, metadata=LATER)
    """What all volumes of its instance took together in that quarter of an hour; None if unknown."""
    instance_mibps: int | None = field(default=None, metadata=LATER)
    ahead: bool = field(default=False, metadata=LATER)
    """Whether it was made for load that had not come yet."""

    @property
    def raises(self) -> bool:
        """Whether the volume may take more of its instance."""
        return self.adds_iops + self.adds_mibps > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """A raise in force whose chain ended, and until when its instance's metrics may not show it."""

    change: InFlight
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Settling:
    """What ended changes may still use of AWS's quotas until then, in total."""

    until: datetime
    counts: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaFull:
    """AWS refused a change of this type for a regional quota; no retry before `until`."""

    volume_type: VolumeType
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcurrencyState:
    """The changes in flight in an account and Region. Stored values outlive the release that wrote them:
    every field needs a default."""

    in_flight: tuple[InFlight, ...] = ()
    starts: tuple[datetime, ...] = ()
    """When changes of the last hour were started, oldest first."""
    settling: tuple[Settling, ...] = ()
    quota_full: tuple[QuotaFull, ...] = ()
    landed: tuple[Landed, ...] = field(default=(), metadata=LATER)
    """Raises that ended lately, one for each resource at most."""

    def in_flight_elsewhere(self, resource: str, now: datetime) -> tuple[InFlight, ...]:
        """Changes of other resources that are in flight at `now`."""
        return tuple(
            c for c in self.in_flight if c.resource != resource and c.since > now - LONGEST
        )

    def raises_under_way(self, resources: Collection[str], now: datetime) -> tuple[InFlight, ...]:
        """Raises of these resources whose chain has not ended."""
        return tuple(
            c for c in self.in_flight
            if c.resource in resources and c.raises and c.since > now - LONGEST
        )  # fmt: skip

    def raises_landed(self, resources: Collection[str], now: datetime) -> tuple[Landed, ...]:
        """Raises of these resources that ended lately."""
        return tuple(
            one for one in self.landed if one.change.resource in resources and one.until > now
        )

    def started_last_hour(self, now: datetime) -> tuple[datetime, ...]:
        """The starts of the 60 minutes before `now`."""
        return tuple(at for at in self.starts if at > now - HOUR)

    def quota_in_use(self, quota: str, resource: str, now: datetime) -> int:
        """What other resources use of a quota: changes in flight, and those still optimizing."""
        sums = [c.counts for c in self.in_flight_elsewhere(resource, now)]
        sums += [s.counts for s in self.settling if s.until > now]
        return sum(amount for counts in sums for name, amount in counts if name == quota)

    def refused_until(self, types: Iterable[VolumeType], now: datetime) -> datetime | None:
        """Until when no change of any of these types is tried; None if one may be."""
        untils = [q.until for q in self.quota_full if q.volume_type in set(types) and q.until > now]
        return max(untils, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class AvailableConcurrency:
    """Free slots at an instant."""

    free: int
    full_zones: frozenset[str]


def available_concurrency(
    concurrency: ConcurrencyState, limits: BlastRadius, now: datetime
) -> AvailableConcurrency:
    """How many more changes may start now, and in which zones none may."""
    under_way = concurrency.in_flight_elsewhere("", now)
    zones = [change.zone for change in under_way]
    free = min(
        limits.max_in_flight - len(under_way),
        limits.max_changes_per_hour - len(concurrency.started_last_hour(now)),
    )
    return AvailableConcurrency(
        free=max(0, free),
        full_zones=frozenset(z for z in zones if zones.count(z) >= limits.max_in_flight_per_az),
    )


def hourly_limit_clears_at(
    concurrency: ConcurrencyState, limit: int, now: datetime
) -> datetime | None:
    """When the hourly limit allows one more change; None if it does at `now`."""
    begun = sorted(concurrency.started_last_hour(now))
    return None if len(begun) < limit else begun[len(begun) - limit] + HOUR


def quota_usage(origin: Configuration, target: Configuration) -> tuple[tuple[str, int], ...]:
    """What a change uses of AWS's regional quotas: GiB by type, and IOPS of io1 and io2.

    The larger of the current and the target value, under the old type and the new. AWS says that it
    counts current values, and for io2 requested ones as well. The storage of a database takes
    nothing of them: its volumes belong to AWS.
    Source: EBS User Guide, "Amazon EBS quotas" (2026-10).
    """
    if target.database is not None or target.volume_type in STORAGE_MODES:
        return ()
    size = max(origin.size_gib, target.size_gib)
    found: dict[str, int] = {}
    for one in (origin, target):
        found[f"{one.volume_type.value}_{GIB}"] = size
        if one.volume_type in WITH_IOPS_QUOTA:
            name = f"{one.volume_type.value}_{IOPS}"
            found[name] = max(found.get(name, 0), one.iops or 0)
    return tuple(sorted(found.items()))


def after_change_started(concurrency: ConcurrencyState, change: InFlight) -> ConcurrencyState:
    """The state with `change` in flight; expired entries are dropped."""
    now = change.since
    return replace(
        concurrency,
        in_flight=(*concurrency.in_flight_elsewhere(change.resource, now), change),
        starts=tuple(sorted((*concurrency.started_last_hour(now), now))),
        settling=tuple(s for s in concurrency.settling if s.until > now),
        quota_full=tuple(q for q in concurrency.quota_full if q.until > now),
        landed=tuple(
            one for one in concurrency.landed
            if one.until > now and one.change.resource != change.resource
        ),
    )  # fmt: skip


def after_change_ended(
    concurrency: ConcurrencyState,
    decision_id: str,
    at: datetime,
    *,
    landed: bool,
    nothing_done: bool,
    completed: bool,
    quota_full_until: datetime | None,
    types: Iterable[VolumeType],
    counts_until: datetime | None = None,
) -> ConcurrencyState:
    """The state after the chain of `decision_id` ended; the same object if it was not in flight.

    A change that `landed` still uses quota for a while unless AWS `completed` it. A change with
    `nothing_done` no longer counts for the hour. After a refusal for a quota, these types are not
    tried again before `quota_full_until`. A raise counts for its instance until `counts_until`.
    """
    mine = next((c for c in concurrency.in_flight if c.decision_id == decision_id), None)
    if mine is None:
        return concurrency
    starts = list(concurrency.starts)
    if nothing_done and mine.since in starts:
        starts.remove(mine.since)
    settling = tuple(s for s in concurrency.settling if s.until > at)
    if landed and not completed:
        settling = _settled(settling, mine.counts, at)
    full = tuple(q for q in concurrency.quota_full if q.until > at)
    if quota_full_until is not None:
        new = (QuotaFull(volume_type=t, until=quota_full_until) for t in sorted(set(types)))
        full = (*(q for q in full if q.volume_type not in set(types)), *new)
    raised = tuple(one for one in concurrency.landed if one.until > at)
    if counts_until is not None and mine.raises:
        raised = (*raised, Landed(change=replace(mine, counts=()), until=counts_until))
        raised = tuple(sorted(raised, key=lambda one: one.until)[-MOST_LANDED:])
    return replace(
        concurrency, in_flight=tuple(c for c in concurrency.in_flight if c is not mine),
        starts=tuple(starts), settling=settling, quota_full=full, landed=raised,
    )  # fmt: skip


def _settled(
    settling: tuple[Settling, ...], counts: tuple[tuple[str, int], ...], at: datetime
) -> tuple[Settling, ...]:
    """`settling` with these counts until SETTLES later, totalled by the hour they end in."""
    until = at.replace(minute=0, second=0, microsecond=0) + SETTLES + HOUR
    sums: dict[str, int] = dict(counts)
    rest = []
    for one in settling:
        if one.until == until:
            sums = {
                n: sums.get(n, 0) + dict(one.counts).get(n, 0) for n in {*sums, *dict(one.counts)}
            }
        else:
            rest.append(one)
    return (*rest, Settling(until=until, counts=tuple(sorted(sums.items()))))
