"""The load of this moment, hour by hour: how long it may still last, and what each level leaves of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from statistics import fmean
from typing import NamedTuple

from headroom.domain.catalog.ebs import capability
from headroom.domain.planning.coming_hours import LEAD
from headroom.domain.planning.levels import bursts_to_the_end, level_of
from headroom.domain.planning.situation import Situation
from headroom.domain.resources import Configuration
from headroom.domain.state import ProfileHour, hour_of
from headroom.domain.workload import (
    A_WEEK,
    HOURS,
    SHOWN_MIN,
    Binding,
    Level,
    Past,
    PresentLoad,
    Recurrence,
    above_a_limit,
    backlog_minutes,
    chances_from_history,
    goes_on,
    hidden_in_its_minutes,
    minutes,
    minutes_at_limit,
    recent_minutes,
    same_load,
    short_minutes,
    shortfalls,
    since,
)

PRESSED = 2
"""Pressed minutes from which an episode counts."""
LASTS_MIN = 60.0
"""How long a new episode is expected to last; see credits.lasting."""
UNTIL_RELIEF_MIN = 40.0
"""From the middle of an hour to the effect of a change requested in it."""
UNTIL_EFFECT_MIN = 10.0
"""From a change to its effect, by AWS's word at the least."""
RECENT_MIN = 10
SEEN_DAYS = 0.125
"""Days of which the latest minutes are."""
LOAD_LASTS_MIN, LOAD_HOURS = 80.0, 6
SAME_MIN = 1.0
"""An episode may have lasted so much longer than an earlier one and be as long: what is measured are whole minutes."""
OWN_EPISODES, LATEST_EPISODES = 2.0, 12
"""Earlier episodes that count as much as the present minutes; how many are gone through."""


def present_load(
    situation: Situation, levels: Sequence[Level], recurrence: Recurrence
) -> PresentLoad:
    """The present load: pressure, a near depletion, or load that every level must sustain."""
    demand, at, pool = situation.demand, situation.observation.at, 0.0
    touched = levels[0].iops, levels[0].mibps
    if bursts_to_the_end(situation):
        touched = situation.diagnosis.volume_iops_limit, situation.diagnosis.volume_mibps_limit
    late = tuple(
        demand.expected_shortfall(iops=one.iops, mibps=one.mibps, touched=touched) for one in levels
    )
    credits = demand.credits
    if demand.pressed_minutes >= PRESSED:
        pool = demand.pool
        earlier = _earlier(situation, levels, recurrence)
        late = earlier.beside(late, earlier.shortfall_share)
        lengths = _earlier_lengths(situation, levels[0])
        hours = _remaining_minutes(lengths, demand.pressed_minutes)
        if demand.clear_minutes:
            still = goes_on(recent_minutes(situation.observation))
            hours = [still * each for each in hours]
    elif situation.diagnosis.binding is Binding.BURST_CREDITS and credits and credits.empty_at:
        first = max(0.0, (credits.empty_at - at).total_seconds() / 3600)
        last = first + demand.expected_starved_minutes / 60
        hours = [60 * max(0.0, min(last, hour + 1) - max(first, hour)) for hour in range(HOURS)]
    elif demand.pressed_minutes > 0:
        hours = [0.0] * HOURS  # too short to judge: the next reconciliation will
    elif demand.expected_starved_minutes > 0 and not situation.calm:
        a_day = _minutes_a_day(situation.past, levels[0], demand.expected_starved_minutes, late[0])
        hours = [a_day / HOURS] * HOURS
    else:
        iops, mibps = latest_load(situation)
        inside = _held_back_inside(situation.past, iops, mibps)
        late = tuple(
            1.0
            if _less(one, levels[0]) and (iops * 1.02 > one.iops or mibps * 1.02 > one.mibps)
            else max([above_a_limit(hour, one.iops, one.mibps) for hour in inside], default=0.0)
            for one in levels
        )
        hours = [
            60 * LOAD_LASTS_MIN / (LOAD_LASTS_MIN + 60 * hour + 30) if hour < LOAD_HOURS else 0.0
            for hour in range(HOURS)
        ]
    return PresentLoad(minutes=tuple(hours), shortfall_share=late, pool=pool)


def waits_for(
    situation: Situation, levels: Sequence[Level], present: PresentLoad, recurrence: Recurrence
) -> tuple[float, ...]:
    """By level: the minutes in which what waits under pressure is drained, as far as its height is known.

    The more earlier episodes were above the present level, the better it is. Empty where nothing waits.
    """
    if situation.demand.pressed_minutes < PRESSED or not situation.demand.backlog_ops:
        return ()
    known = len(_episodes(situation.past, levels[0])) * recurrence.due_now
    limits = situation.diagnosis.volume_iops_limit, situation.diagnosis.volume_mibps_limit
    drained = backlog_minutes(
        situation.demand, limits, levels, present.shortfall_share, sum(present.minutes)
    )
    return tuple(known / (known + OWN_EPISODES) * each for each in drained) if known else ()


def present_chances(
    situation: Situation, levels: Sequence[Level], recurrence: Recurrence
) -> tuple[tuple[float, ...], ...]:
    """The probability that the present load is above a level in a coming hour; `[hour][level]`."""
    load, demand = present_load(situation, levels, recurrence), situation.demand
    shares = load.shortfall_share
    if demand.pressed_minutes >= PRESSED:
        above = [1.0 - demand.probability_within(iops=one.iops, mibps=one.mibps) for one in levels]
        earlier = _earlier(situation, levels, recurrence)
        shares = earlier.beside(above, earlier.share_above)
    return tuple(tuple(share * lasts / 60 for share in shares) for lasts in load.minutes)


class _Earlier(NamedTuple):
    """What earlier episodes above the present level say of the present one, and how much that counts, 0 to 1."""

    weight: float
    short: list[list[float]]
    """Minutes of shortfall by episode and level."""
    pressed: list[float]
    """Minutes at the present level's limits, by episode."""

    def shortfall_share(self, level: int) -> float:
        """Of a minute at the present limits, at a level."""
        both = zip(self.short, self.pressed, strict=True)
        return fmean([min(1.0, short[level] / pressed) for short, pressed in both])

    def share_above(self, level: int) -> float:
        """How many of the episodes were above a level."""
        return fmean([short[level] > 0 for short in self.short])

    def beside(self, present: Sequence[float], shares: Callable[[int], float]) -> tuple[float, ...]:
        """The estimates by the `present` minutes, with the `shares` of earlier episodes by level."""
        if not self.weight:
            return tuple(present)
        return tuple(
            (1.0 - self.weight) * one + self.weight * shares(level)
            for level, one in enumerate(present)
        )


def _earlier(situation: Situation, levels: Sequence[Level], recurrence: Recurrence) -> _Earlier:
    """The earlier episodes that say how high the present load goes.

    The more were above the present level, the more what they would have left at another counts beside the
    estimate from the present minutes. A pool takes what it gets: they say nothing; nor do they, where load comes
    at a time at which their rhythm has none.
    """
    episodes, hours = _episodes(situation.past, levels[0]), situation.past.numbered[0]
    numbers = {number for episode in episodes for number in episode}
    now = levels[0].iops, levels[0].mibps
    pressed = {number: minutes_at_limit(hours[number], *now) for number in numbers}
    by_level = [
        {number: short_minutes(hours[number], level.iops, level.mibps) for number in numbers}
        for level in levels
    ]
    left = [one for one in episodes if sum(map(by_level[0].__getitem__, one)) > 0]
    known = recurrence.due_now * (1.0 - situation.demand.pool)
    return _Earlier(
        weight=known * len(left) / (len(left) + OWN_EPISODES),
        short=[[sum(map(found.__getitem__, one)) for found in by_level] for one in left],
        pressed=[sum(map(pressed.__getitem__, one)) for one in left],
    )


def _episodes(past: Past, level: Level) -> list[list[int]]:
    """The latest runs of hours with load seen above `level`, oldest first; no limit held it back.

    Hours are given by their number among the different busy hours.
    """
    hours, numbers = past.numbered
    above = [
        not hour.touched_minutes and (hour.peak_iops > level.iops or hour.peak_mibps > level.mibps)
        for hour in hours
    ]
    found: list[list[int]] = []
    last = -10
    for place, number in numbers.items():
        if above[number]:
            if place - last > 1:
                found.append([])
            found[-1].append(number)
            last = place
    return found[-LATEST_EPISODES:]


def _remaining_minutes(lengths: Sequence[float], pressed: float) -> list[float]:
    """The minutes of each coming hour that an episode of `pressed` minutes is expected to last.

    At first an episode lasts as long again as it has, and as episodes do on the mean. The more earlier
    ones lasted as long as this one has, or longer, the more what was left of them counts beside that.
    """
    lasts = (LASTS_MIN + sum(lengths)) / (1 + len(lengths)) + pressed
    rests = [length - pressed for length in lengths if length + SAME_MIN >= pressed]
    weight = len(rests) / (len(rests) + OWN_EPISODES)
    found = []
    for hour in range(HOURS):
        begins = 60 * hour + UNTIL_EFFECT_MIN
        ahead = [rest - begins for rest in rests if rest > begins]
        seen = sum([60.0 if rest > 60.0 else rest for rest in ahead]) / max(1, len(rests))
        unknown = 60 * lasts / (lasts + 60 * hour + UNTIL_RELIEF_MIN)
        found.append(weight * seen + (1 - weight) * unknown)
    return found


def _minutes_a_day(past: Past, level: Level, lately: float, share: float) -> float:
    """The minutes of the coming day, by bursts of the last hours that would be so many `lately`, and by the last day.

    Each counts as long as it was measured. `share` is the shortfall of such a minute.
    """
    (hours, numbers), end = past.numbered, len(past.profile.hours)
    shorts = shortfalls(hours, level.iops, level.mibps)
    latest = sum([shorts[number] for place, number in numbers.items() if place >= end - HOURS])
    days = min(1.0, past.days)
    weight = days / (days + SEEN_DAYS) if share else 0.0
    return lately * (1.0 - weight) + (weight * latest / days / share if weight else 0.0)


def _earlier_lengths(situation: Situation, level: Level) -> list[float]:
    """How many minutes each earlier run of hours with load above `level` would have been at it, or was.

    Minutes in which what waits is drained are minutes of pressure too, as those of now are. The run that the
    present episode goes on with is none of them: it would foretell its own end.
    """
    past, demand = situation.past, situation.demand
    lasted = timedelta(minutes=demand.pressed_minutes + demand.clear_minutes)
    goes_on_from = len(past.profile.hours) - 1
    if situation.observation.at - lasted >= past.profile.end:
        goes_on_from += 1
    found: list[float] = []
    last = -10
    hours, numbers = past.numbered
    shorts = shortfalls(hours, level.iops, level.mibps)
    for place, number in numbers.items():
        if shorts[number]:
            if place - last > 1:
                found.append(0.0)
            hour = hours[number]
            touched = hour.limit_iops >= level.iops or hour.limit_mibps >= level.mibps
            found[-1] += max(
                minutes_at_limit(hour, level.iops, level.mibps),
                shorts[number], hour.touched_minutes if touched else 0,
            )  # fmt: skip
            last = place
    return found[:-1] if last >= goes_on_from else found


def _less(level: Level, present: Level) -> bool:
    """Whether a level has less of anything than the present one, which serves the load of this moment."""
    return level.iops < present.iops or level.mibps < present.mibps


def latest_load(situation: Situation) -> tuple[float, float]:
    """The highest load of the last minutes since any was at a limit, in SSD operations/s and MiB/s."""
    observation = situation.observation
    count = len(observation.activity.read_iops.values)
    last = range(max(0, count - 2 * RECENT_MIN), count)
    can = capability(observation.volume.configuration)
    seen = minutes(observation.activity, can, observation.modification, places=last)
    recent = since(seen, observation.at - timedelta(minutes=RECENT_MIN + 3))
    recent = recent[-situation.demand.clear_minutes :]  # what was at a limit before is over
    return max((m.ssd_iops for m in recent), default=0.0), max(
        (m.mibps for m in recent), default=0.0
    )


def _held_back_inside(past: Past, iops: float, mibps: float) -> list[ProfileHour]:
    """The latest hour of this load in which bursts touched a limit.

    None where only one hour of the last week had such bursts, or fewer than half of those of the same mean. A
    larger limit shows nothing of them, so load of the same mean is taken to have them still.
    """
    alike = [
        hour
        for hour in past.profile.hours[-A_WEEK:]
        if hour is not None and same_load(hour, (iops, mibps))
    ]
    bursts = [h for h in alike if h.touched_minutes >= SHOWN_MIN and hidden_in_its_minutes(h)]
    return bursts[-1:] if len(bursts) > 1 and 2 * len(bursts) >= len(alike) else []


def starvation_chances(
    situation: Situation, configurations: Sequence[Configuration]
) -> tuple[tuple[tuple[float, ...], ...], datetime]:
    """The probability that some minute asks for more than it serves; `[hour][configuration]`.

    Hours are those of the schedule. The first, which is returned beside them, is the one in which a
    change made now has its effect.
    """
    levels = [level_of(situation, one) for one in (situation.current, *configurations)]
    effect = situation.observation.at + LEAD
    recurrence = Recurrence.of(situation.past, effect)
    seen = chances_from_history(
        situation.past, levels, effect, situation.known_loads, recurrence=recurrence
    )
    now = present_chances(situation, levels, recurrence)
    chances = tuple(
        tuple([max(pair) for pair in zip(earlier, present, strict=True)][1:])
        for earlier, present in zip(seen, now, strict=True)
    )
    return chances, hour_of(effect)
