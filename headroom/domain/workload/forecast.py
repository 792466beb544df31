"""The forecast: expected shortfall at each level in the coming hours, and the cost of late raises.

The profile of the past says what comes, through rhythms that are weighed by how well they foretold
it; the present says how long the current load will stay; known events come from the owner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from itertools import pairwise
from math import inf
from typing import NamedTuple

from headroom.domain.state import HOUR, LoadProfile, ProfileHour, hour_of
from headroom.domain.workload.rhythm import BACK, DOUBT, SURE, Rhythm, rhythms
from headroom.domain.workload.short_minutes import (
    REACTION_MIN,
    minutes_to_react,
    short_minutes,
)

HOURS = 24
HOLD_HOURS = 2.0
"""A raise cannot be given back sooner: the modification is still in flight."""
RECENT_HOURS = 14 * 24
ANY_TIME_HOURS = 28 * 24
"""Hours from which the rate of load at any time is taken."""
QUIET_PRIOR = 12.0
"""Quiet hours that are assumed beside those measured."""
CLEAR_DAYS = 3.0
"""How much a measured day since lowers the belief in bursts above a limit that was touched."""
NEW_TAIL, NEW_TAIL_DAYS = 1.0, 2.0
"""P(new load exceeds r times the highest so far) falls with r ** -tail; the tail starts at NEW_TAIL
and grows by one in NEW_TAIL_DAYS."""
NEW_MIN = 20.0
"""Minutes that new load lasts before anything is known of how long such load lasts."""
NEW_SHARE = 0.6
"""Shortfall of such a minute: new load exceeds what was there by little more often than by much."""
LOCKED_TIMES = 2.0
"""How many times as long it starves while a change in flight prevents a raise."""
LATE_HOURS = 2
"""How much later than usual load may begin."""
NOT_BEGUN = 0.2
"""Belief in the rest of an episode that has not begun by then."""
SCALE_IOPS, SCALE_MIBPS = 3_000.0, 125.0


class Level(NamedTuple):
    """What a configuration sustains, and its price in USD per hour."""

    iops: float
    mibps: float
    usd_per_hour: float
    unproven: float = 0.0
    """Chance that new load exceeds it where the owner chose more than it sustains: what an owner
    bought is evidence of a load that uses it. 0 where it sustains no less."""
    reach: tuple[float, float] | None = None
    """IOPS and MiB/s that one change leads to from here; None for any."""
    ceiling: tuple[float, float] | None = None
    """What two changes lead to, the second once the first has completed; None for any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Expected shortfall in minutes by hour from now and by level; `[hour][level]`.

    `reacting_minutes` while a raise can follow at once, `locked_minutes` while none can;
    `reaction_usd` is what such raises would cost; `seen_minutes` excludes load that was never
    measured so far.
    """

    reacting_minutes: tuple[tuple[float, ...], ...]
    locked_minutes: tuple[tuple[float, ...], ...]
    reaction_usd: tuple[tuple[float, ...], ...]
    seen_minutes: tuple[float, ...]
    """Minutes over all hours, by level, from measured or present load."""
    new_minutes: float = 0.0
    """Minutes an hour at the first level, the present one, from load that was never measured so far."""
    basis: str = ""
    """The rhythms that are believed, the likeliest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentLoad:
    """The present load: shortfall of each hour at a level that serves nothing of it.

    `shortfall_share` is the share of it that is expected at each level.
    """

    minutes: tuple[float, ...]
    shortfall_share: tuple[float, ...]


class KnownLoad(NamedTuple):
    """Load that the owner foretold: from when to when, and how much."""

    start: datetime
    end: datetime
    iops: float
    mibps: float
    name: str = ""


@dataclass(frozen=True)
class Past:
    """The profile as the forecast reads it, with the hours that are busy at the least level."""

    profile: LoadProfile
    known: int
    """Hours that were measured."""
    busy: Mapping[int, ProfileHour]
    """Hours with load above the least that any plan leaves, by their place."""
    most_iops: float
    most_mibps: float

    @property
    def days(self) -> float:
        """Days that were measured."""
        return self.known / 24

    @cached_property
    def numbered(self) -> tuple[tuple[ProfileHour, ...], dict[int, int]]:
        """The different busy hours, and by place which of them it is: periodic load repeats few."""
        numbers: dict[ProfileHour, int] = {}
        by_place = {
            place: numbers.setdefault(hour, len(numbers)) for place, hour in self.busy.items()
        }
        return tuple(numbers), by_place

    @cached_property
    def begins(self) -> dict[int, int]:
        """For each busy hour the place where its episode began."""
        found: dict[int, int] = {}
        for place in self.busy:  # in order of time
            found[place] = found.get(place - 1, place)
        return found

    def recent_days(self, now: datetime) -> float:
        """Days that were measured in the last two weeks: what is older proves nothing of today."""
        since = max(0, (hour_of(now) - self.profile.start) // HOUR - RECENT_HOURS)
        return sum(hour is not None for hour in self.profile.hours[since:]) / 24


def past_of(profile: LoadProfile, *, least_iops: float, least_mibps: float) -> Past:
    """The past, in which hours below `least_iops` and `least_mibps` are not busy."""
    known = [(place, hour) for place, hour in enumerate(profile.hours) if hour is not None]
    return Past(
        profile=profile,
        known=len(known),
        busy={
            place: hour
            for place, hour in known
            if hour.peak_iops > least_iops or hour.peak_mibps > least_mibps or hour.touched_minutes
        },
        most_iops=max((hour.peak_iops for _, hour in known), default=0.0),
        most_mibps=max((hour.peak_mibps for _, hour in known), default=0.0),
    )  # fmt: skip


def demand_forecast(
    past: Past, levels: Sequence[Level], now: datetime, present: PresentLoad,
    known_loads: Sequence[KnownLoad] = (),
) -> Forecast:  # fmt: skip
    """The forecast of the next 24 hours for each level; the first hour is the one of `now`."""
    first = (hour_of(now) - past.profile.start) // HOUR
    believed, anyhow = _rhythms(past, first)
    top = max(level.usd_per_hour for level in levels)
    believe, recent = _beliefs(past), _recent(past, first)
    columns = [_Column.of(past, level, believe(level), recent, top) for level in levels]
    coming = [_like(past, believed, anyhow, first + hour) for hour in range(HOURS)]
    new_per_hour, new_min = 1.0 / (past.days + 1) / HOURS, _new_minutes(past)
    begin = hour_of(now)
    foretold = [_foretold(known_loads, begin + hour * HOUR) for hour in range(HOURS)]
    locked, reacting, dollars, seen, new_minutes = [], [], [], [], []
    for level, column, share in zip(levels, columns, present.shortfall_share, strict=True):
        new = max(level.unproven * NEW_MIN, _unseen(past, level) * new_min) * new_per_hour
        new_minutes.append(new)
        waiting, raised, total = [], [], 0.0
        rows = column.hours(coming)
        for (late, early, _), loads, load_minutes in zip(
            rows, foretold, present.minutes, strict=True
        ):
            for load, minutes in loads:
                short = minutes * (1.0 - _served(load, level))
                late, early = max(late, short), max(early, min(short, REACTION_MIN))
            here = load_minutes * share
            late, early = late if late >= here else here, early if early >= here else here
            total += late
            waiting.append(late + new * LOCKED_TIMES)
            # a raise that costs more than waiting does not follow
            raised.append((early if early <= late else late) + new)
        locked.append(waiting)
        reacting.append(raised)
        dollars.append([usd for _, _, usd in rows])
        seen.append(total)
    return Forecast(
        reacting_minutes=tuple(zip(*reacting, strict=True)),
        locked_minutes=tuple(zip(*locked, strict=True)),
        reaction_usd=tuple(zip(*dollars, strict=True)),
        seen_minutes=tuple(seen),
        new_minutes=new_minutes[0],
        basis=", ".join(
            rhythm.hypothesis.name for rhythm in sorted(believed, key=lambda r: -r.weight)
            if rhythm.weight >= 0.2
        ),
    )  # fmt: skip


def _rhythms(past: Past, count: int) -> tuple[tuple[Rhythm, ...], float]:
    """The rhythms of the busy hours among the first `count` hours."""
    hours = past.profile.hours[:count]
    if not past.busy:
        return (), 1.0
    return rhythms(
        past.profile.start,
        [place in past.busy for place in range(len(hours))],
        [hour is not None for hour in hours],
    )


def _like(
    past: Past, believed: Sequence[Rhythm], anyhow: float, place: int
) -> tuple[list[tuple[int, float]], float]:
    """The busy hours that a coming hour is like, with weights, and the weight of load at any time."""
    hours = past.profile.hours
    found: dict[int, float] = {}
    doubt = anyhow
    for rhythm in believed:
        likes = []
        total = own_doubt = DOUBT * rhythm.failed
        past_likes = (like for like in rhythm.hypothesis.like(place) if like < len(hours))
        for weight, like in zip(BACK, past_likes, strict=False):
            if hours[like] is not None:
                likes.append((like, weight))
                total += weight
        doubt += rhythm.weight * own_doubt / total
        for like, weight in likes:
            if like in past.busy:
                if _did_not_begin(past, like, place - like):
                    weight *= NOT_BEGUN
                found[like] = found.get(like, 0.0) + SURE * rhythm.weight * weight / total
    return list(found.items()), doubt


def _did_not_begin(past: Past, like: int, later: int) -> bool:
    """Whether the episode around the busy hour `like` was due to begin again, `later` hours on, and did not."""
    begins = past.begins[like] + later
    due = range(begins - 1, begins + LATE_HOURS + 1)
    hours = past.profile.hours
    return due.stop <= len(hours) and not any(
        hours[place] is None or place in past.busy for place in due
    )


class _Recent(NamedTuple):
    """The hours from which the rate of load at any time is taken."""

    since: int
    until: int
    measured: int


def _recent(past: Past, now: int) -> _Recent:
    since = max(0, now - ANY_TIME_HOURS)
    hours = past.profile.hours[since:now]
    return _Recent(since, now, len(hours) - hours.count(None))


class _Column(NamedTuple):
    """One level: the shortfall of each busy hour, and how often load comes at any time."""

    minutes: dict[int, float]
    first: dict[int, float]
    """The same before a raise takes effect."""
    onsets_per_hour: float
    episode_hours: float
    minutes_an_hour: float
    first_minutes: float
    raise_usd_per_hour: float

    @classmethod
    def of(cls, past: Past, level: Level, belief: float, recent: _Recent, top: float) -> _Column:
        iops, mibps = level.iops, level.mibps
        reach, ceiling = level.reach or (inf, inf), level.ceiling or (inf, inf)
        hours, numbers = past.numbered
        shorts = [short_minutes(hour, iops, mibps, belief=belief) for hour in hours]
        minutes = {
            place: shorts[number]
            for place, number in numbers.items()
            if shorts[number] > 0 and place < recent.until
        }

        @cache
        def onset(number: int) -> float:
            return minutes_to_react(hours[number], iops, mibps, reach, belief=belief)

        @cache
        def raised(number: int, rates: tuple[float, float]) -> float:
            return short_minutes(hours[number], *rates)

        first: dict[int, float] = {}
        since_onset = 0
        for place in minutes:  # in order of time
            since_onset = since_onset + 1 if place - 1 in minutes else 0
            first[place] = (
                raised(numbers[place], reach if since_onset <= HOLD_HOURS else ceiling)
                if since_onset
                else onset(numbers[place])
            )
        places = [place for place in minutes if place >= recent.since]
        onsets = sum(place - 1 not in minutes for place in places)
        quiet = max(0.0, recent.measured - len(places)) + QUIET_PRIOR
        return cls(
            minutes=minutes, first=first, onsets_per_hour=onsets / quiet,
            episode_hours=len(places) / max(1, onsets),
            minutes_an_hour=sum(minutes[place] for place in places) / max(1, len(places)),
            first_minutes=sum(first[place] for place in places) / max(1, onsets),
            raise_usd_per_hour=max(0.0, top - level.usd_per_hour),
        )  # fmt: skip

    def hours(
        self, coming: Sequence[tuple[Sequence[tuple[int, float]], float]]
    ) -> list[tuple[float, float, float]]:
        """Minutes with no raise, minutes before one takes effect, and USD of it, by hour."""
        if not self.minutes:
            return [(0.0, 0.0, 0.0)] * len(coming)
        minutes, first = self.minutes, self.first
        onset, episode = min(1.0, self.onsets_per_hour), max(1.0, self.episode_hours)
        found = []
        for hour, (like, doubt) in enumerate(coming, start=1):
            late = early = busy = 0.0
            for place, weight in like:
                if place in minutes:
                    late += weight * minutes[place]
                    early += weight * first[place]
                    busy += weight
            under_way = min(1.0, onset * min(hour, episode))
            late += doubt * under_way * self.minutes_an_hour
            early += doubt * onset * self.first_minutes
            busy += doubt * (under_way + onset * HOLD_HOURS)
            found.append((late, early, busy * self.raise_usd_per_hour))
        return found


def _served(load: KnownLoad, level: Level) -> float:
    """The share of a known load that a level serves."""
    return min(
        level.iops / load.iops if load.iops else 1.0,
        level.mibps / load.mibps if load.mibps else 1.0, 1.0,
    )  # fmt: skip


def _beliefs(past: Past) -> Callable[[Level], float]:
    """How far bursts above a limit that was touched are still believed in, by level.

    Less with every day that runs clear for longer than they ever stayed away before.
    """
    touched = [(place, hour) for place, hour in past.busy.items() if hour.touched_minutes]
    others = [hour for hour in past.busy.values() if not hour.touched_minutes]
    places = [place for place, _ in touched]  # in order of time
    usual = max((after - before for before, after in pairwise(places)), default=0)
    since = past.profile.hours[places[-1] + 1 :] if places else ()
    clear = max(0, len(since) - since.count(None) - usual) / 24
    limit_iops = max((hour.limit_iops for _, hour in touched), default=0.0)
    limit_mibps = max((hour.limit_mibps for _, hour in touched), default=0.0)

    def belief(level: Level) -> float:
        iops, mibps = level.iops, level.mibps
        most = max(limit_iops / iops, limit_mibps / mibps)
        if not touched or most >= 0.999:
            return 1.0
        seen_free = sum(
            max(hour.peak_iops / iops, hour.peak_mibps / mibps) > most * 1.02 for hour in others
        )
        return 1.0 / (1.0 + CLEAR_DAYS * clear + seen_free)

    return belief


def _new_minutes(past: Past) -> float:
    """Shortfall of an episode of new load, in minutes: as long as load was busy in the past."""
    usual = (NEW_MIN + sum(hour.busy_minutes for hour in past.busy.values())) / (1 + len(past.busy))
    return NEW_SHARE * min(NEW_MIN, usual)


def _unseen(past: Past, level: Level) -> float:
    """Probability that new load exceeds `level`."""
    most = max(past.most_iops / level.iops, past.most_mibps / level.mibps)
    return 1.0 if most >= 1.0 else float(most ** (NEW_TAIL + past.days / NEW_TAIL_DAYS))


def _foretold(known_loads: Sequence[KnownLoad], start: datetime) -> list[tuple[KnownLoad, float]]:
    """The owner's known loads in the hour from `start` on, with their minutes."""
    end = start + HOUR
    return [
        (load, (min(end, load.end) - max(start, load.start)).total_seconds() / 60)
        for load in known_loads
        if load.start < end and load.end > start
    ]
