"""The forecast: expected shortfall at each level in the coming hours, and the cost of late raises.

The profile of the past says what comes, through rhythms that are weighed by how well they foretold
it; the present says how long the current load will stay; known events come from the owner.
"""

from __future__ import annotations

from collections import Counter
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
UNLIMITED = (inf, inf)


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
    most_iops, most_mibps = profile.peaks
    return Past(
        profile=profile,
        known=len(profile.hours) - profile.hours.count(None),
        busy={
            place: hour
            for place, hour in enumerate(profile.hours)
            if hour is not None
            and (hour.peak_iops > least_iops or hour.peak_mibps > least_mibps or hour.touched_minutes)
        },
        most_iops=most_iops,
        most_mibps=most_mibps,
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
    coming = [_like(past, believed, anyhow, first + hour) for hour in range(HOURS)]
    new_per_hour, new_min = 1.0 / (past.days + 1) / HOURS, _new_minutes(past)
    begin = hour_of(now)
    foretold = [_foretold(known_loads, begin + hour * HOUR) for hour in range(HOURS)]
    locked, reacting, dollars, seen, new_minutes = [], [], [], [], []
    same: dict[tuple[bool, ...], _Episodes] = {}

    @cache
    def after_raise(rates: tuple[float, float]) -> list[float]:
        return [short_minutes(hour, *rates) for hour in past.numbered[0]]

    for level, share in zip(levels, present.shortfall_share, strict=True):
        belief = believe(level)
        shorts = [
            short_minutes(hour, level.iops, level.mibps, belief=belief) for hour in past.numbered[0]
        ]
        falls_short = tuple(minutes > 0 for minutes in shorts)
        if falls_short not in same:
            same[falls_short] = _Episodes.of(past, falls_short, recent, coming)
        episodes = same[falls_short]
        reached = after_raise(level.reach or UNLIMITED), after_raise(level.ceiling or UNLIMITED)
        early = _minutes_before_a_raise(past, level, belief, episodes, reached)
        rows = _hours(episodes, shorts, early, max(0.0, top - level.usd_per_hour))
        expected = _with_known(level, rows, foretold, [here * share for here in present.minutes])
        new = max(level.unproven * NEW_MIN, _unseen(past, level) * new_min) * new_per_hour
        new_minutes.append(new)
        locked.append([late + new * LOCKED_TIMES for late, _ in expected])
        # a raise that costs more than waiting does not follow
        reacting.append([(early if early <= late else late) + new for late, early in expected])
        dollars.append([usd for _, _, usd in rows])
        seen.append(sum(late for late, _ in expected))
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


def _with_known(
    level: Level, rows: Sequence[tuple[float, float, float]],
    foretold: Sequence[Sequence[tuple[KnownLoad, float]]], present: Sequence[float],
) -> list[tuple[float, float]]:  # fmt: skip
    """Minutes with no raise and before one, by hour: no less than known and present load cost."""
    found = []
    for (late, early, _), loads, here in zip(rows, foretold, present, strict=True):
        for load, minutes in loads:
            short = minutes * (1.0 - _served(load, level))
            late, early = max(late, short), max(early, min(short, REACTION_MIN))
        found.append((late if late >= here else here, early if early >= here else here))
    return found


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


_Coming = tuple[Sequence[tuple[int, float]], float]


def _like(past: Past, believed: Sequence[Rhythm], anyhow: float, place: int) -> _Coming:
    """The busy hours that a coming hour is like, with weights, and the weight of load at any time."""
    hours, busy = past.profile.hours, past.busy
    known = len(hours)
    found: dict[int, float] = {}
    doubt = anyhow
    for rhythm in believed:
        likes = []
        total = own_doubt = DOUBT * rhythm.failed
        past_likes = (like for like in rhythm.hypothesis.like(place) if like < known)
        for weight, like in zip(BACK, past_likes, strict=False):
            if hours[like] is not None:
                total += weight
                if like in busy:
                    likes.append((like, weight))
        doubt += rhythm.weight * own_doubt / total
        for like, weight in likes:
            if _did_not_begin(past, like, place - like):
                weight *= NOT_BEGUN
            found[like] = found.get(like, 0.0) + SURE * rhythm.weight * weight / total
    return list(found.items()), doubt


def _did_not_begin(past: Past, like: int, later: int) -> bool:
    """Whether the episode around the busy hour `like` was due to begin again, `later` hours on, and did not."""
    begins, hours = past.begins[like] + later, past.profile.hours
    until = begins + LATE_HOURS + 1
    return until <= len(hours) and not any(
        hours[place] is None or place in past.busy for place in range(begins - 1, until)
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


ONSET, HELD, RAISED_AGAIN = range(3)
"""Phases of an episode: its first hour, those until a raise may follow, and what one more serves."""


class _ComingHour(NamedTuple):
    """What a coming hour is like: the earlier cases with their weights, and load at any time."""

    like: tuple[tuple[int, float], ...]
    under_way: float
    begins: float
    """Weights of load at any time, and of its onset in this hour."""
    busy: float

    @classmethod
    def of(
        cls, like: Sequence[tuple[int, float]], case_of: Mapping[int, int], under_way: float,
        begins: float,
    ) -> _ComingHour:  # fmt: skip
        """From earlier hours with their weights; those that do not fall short count for nothing."""
        cases: dict[int, float] = {}
        for place, weight in like:
            if (case := case_of.get(place)) is not None:
                cases[case] = cases.get(case, 0.0) + weight
        busy = sum(cases.values()) + under_way + begins * HOLD_HOURS
        return cls(tuple(cases.items()), under_way, begins, busy)


class _Episodes(NamedTuple):
    """The hours of the past that fall short at a level, and the episodes they form.

    A case is a busy hour, by its number, in a phase of an episode. Levels at which the same hours
    fall short share it, and load that repeats has few cases.
    """

    cases: tuple[tuple[int, int], ...]
    recent: tuple[tuple[int, int], ...]
    """The cases of the latest weeks, and how many hours each."""
    onsets: int
    hours: int
    """Onsets of the latest weeks, and their hours that fall short."""
    coming: tuple[_ComingHour, ...]

    @classmethod
    def of(
        cls, past: Past, short: Sequence[bool], recent: _Recent, coming: Sequence[_Coming]
    ) -> _Episodes:
        """The episodes of the busy hours that are `short`, by their number."""
        cases: dict[tuple[int, int], int] = {}
        case_of: dict[int, int] = {}
        times: dict[int, int] = {}
        last, since_onset, onsets = -2, 0, 0
        for place, number in past.numbered[1].items():  # in order of time
            if not short[number] or place >= recent.until:
                continue
            since_onset = since_onset + 1 if place - 1 == last else 0
            last = place
            phase = RAISED_AGAIN if since_onset > HOLD_HOURS else HELD if since_onset else ONSET
            case_of[place] = case = cases.setdefault((number, phase), len(cases))
            if place >= recent.since:
                times[case] = times.get(case, 0) + 1
                onsets += phase == ONSET
        hours = sum(times.values())
        onset = min(1.0, onsets / (max(0.0, recent.measured - hours) + QUIET_PRIOR))
        lasts = max(1.0, hours / max(1, onsets))
        return cls(
            cases=tuple(cases), recent=tuple(times.items()), onsets=onsets, hours=hours,
            coming=tuple(
                _ComingHour.of(like, case_of, doubt * min(1.0, onset * min(hour, lasts)), doubt * onset)
                for hour, (like, doubt) in enumerate(coming, start=1)
            ),
        )  # fmt: skip

    def mean(self, minutes: Sequence[float], over: int) -> float:
        """Minutes by case, summed over the latest weeks, per one of `over`."""
        return sum(hours * minutes[case] for case, hours in self.recent) / max(1, over)


def _hours(
    episodes: _Episodes, shorts: Sequence[float], first: Sequence[float], raise_usd_per_hour: float
) -> list[tuple[float, float, float]]:
    """Of one level: minutes with no raise, minutes before one takes effect, and its USD, by hour."""
    if not episodes.cases:
        return [(0.0, 0.0, 0.0)] * HOURS
    minutes = [shorts[number] for number, _ in episodes.cases]
    minutes_an_hour = episodes.mean(minutes, episodes.hours)
    first_minutes = episodes.mean(first, episodes.onsets)
    found = []
    for like, under_way, begins, busy in episodes.coming:
        late = early = 0.0
        for case, weight in like:
            late += weight * minutes[case]
            early += weight * first[case]
        late += under_way * minutes_an_hour
        early += begins * first_minutes
        found.append((late, early, busy * raise_usd_per_hour))
    return found


def _minutes_before_a_raise(
    past: Past, level: Level, belief: float, episodes: _Episodes,
    reached: tuple[Sequence[float], Sequence[float]],
) -> list[float]:  # fmt: skip
    """By case: the shortfall until a raise takes effect, or what it leaves of a later hour.

    `reached` is the shortfall of each busy hour after one raise, and after a second.
    """
    hours, (once, twice) = past.numbered[0], reached
    iops, mibps, reach = level.iops, level.mibps, level.reach or UNLIMITED
    return [
        once[number] + minutes_to_react(hours[number], iops, mibps, reach, belief=belief)
        if phase == ONSET
        else once[number]
        if phase == HELD
        else twice[number]
        for number, phase in episodes.cases
    ]


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
    hours, numbers = past.numbered
    touched = [hour for hour in hours if hour.touched_minutes]
    others = [
        (hours[number], times) for number, times in Counter(numbers.values()).items()
        if not hours[number].touched_minutes
    ]  # fmt: skip
    places = [place for place, number in numbers.items() if hours[number].touched_minutes]
    usual = max((after - before for before, after in pairwise(places)), default=0)
    since = past.profile.hours[places[-1] + 1 :] if places else ()
    clear = max(0, len(since) - since.count(None) - usual) / 24
    limit_iops = max((hour.limit_iops for hour in touched), default=0.0)
    limit_mibps = max((hour.limit_mibps for hour in touched), default=0.0)

    def belief(level: Level) -> float:
        iops, mibps = level.iops, level.mibps
        most = max(limit_iops / iops, limit_mibps / mibps)
        if not touched or most >= 0.999:
            return 1.0
        seen_free = sum(
            times
            for hour, times in others
            if max(hour.peak_iops / iops, hour.peak_mibps / mibps) > most * 1.02
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
