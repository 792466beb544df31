"""How high load was: the highest of each episode, compared with others, and how often one is the highest so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import exp, log, log2
from typing import NamedTuple

from headroom.domain.state import IOPS_SCALE, MIBPS_SCALE, ProfileHour

BACK = (1.0, 0.8, 0.65, 0.5, 0.4, 0.3)
"""Weights of the earlier hours that a hypothesis compares with, the latest first."""
STEPS = 2.0
"""Steps of height from one load to one twice as high."""
OF_A_KIND = 0.7
"""Share of the highest load, or of a level, from which another load is of its kind: these differ by less."""
WANDERS = 0.5
"""Share of a load above which the next lower one is the same load, whose height wanders."""
OTHERS = 12
"""These latest loads, of any kind."""
HIGHER = 1.02
"""Load up to so many times the highest before it is as high."""
BEFORE = 7
"""Loads with which the next is compared: of every day, those of a week."""
LATEST = 28
"""The latest loads of a kind that say how often one is higher than those before it."""
LEAST_LOADS = 4
"""Loads that say it at least."""
HIGHEST = 2
"""How far the highest of the latest loads exceeds the one so many places below says by how much a higher one would."""


class Height(NamedTuple):
    """How high the load of an episode was, in steps."""

    step: int
    at_least: bool
    """Whether it touched a limit: it may have been higher."""

    @classmethod
    def of(cls, load: float, at_least: bool) -> Height:
        """From the load as a multiple of any unit."""
        return cls(round(STEPS * log2(max(load, 0.001))), at_least)

    def like(self, other: Height) -> bool:
        """Whether both may be equally high."""
        apart = self.step - other.step
        return abs(apart) <= 1 or (self.at_least if apart < 0 else other.at_least)


class NewHeights(NamedTuple):
    """How likely the next load is higher than the latest of its kind, and by how much it then is."""

    chance: float
    by: float
    """The logarithm of how many times as high, in the mean; P(it exceeds x) = exp(-x / by)."""
    since: int
    """Where the first of these latest loads began."""
    least: float
    """The lowest load of the kind."""

    def chance_above(self, times: float) -> float:
        """The probability that it exceeds so many times the highest of these."""
        return self.chance * exp(-log(times) / self.by) if times > 1.0 else self.chance


def at_a_time_of_day(
    loads: Mapping[int, tuple[float, bool]],
) -> list[dict[int, tuple[float, bool]]]:
    """The loads, by the hour in which each began, apart by the time of the day, give or take an hour."""
    found: dict[int, dict[int, tuple[float, bool]]] = {}
    for begin, load in loads.items():
        at = next(
            (hour % 24 for hour in (begin, begin - 1, begin + 1) if hour % 24 in found), begin % 24
        )
        found.setdefault(at, {})[begin] = load
    return list(found.values())


def new_heights(loads: Mapping[int, tuple[float, bool]]) -> NewHeights | None:
    """From loads on one scale, by where each began, with whether it may have been higher. None if each is as high.

    The belief before any was compared with those before it: of eight in any order one is the highest, by as much
    as the latest differ at their top.
    """
    if len(loads) < LEAST_LOADS:
        return None
    recent = max([load for load, _ in list(loads.values())[-OTHERS:]])
    least = _least_of_a_kind([load for load, _ in loads.values()], recent)
    kind = [(*load, begin) for begin, load in loads.items() if load[0] >= least]
    if len(kind) < LEAST_LOADS or not recent:
        return None
    since = max(len(kind) // 2, len(kind) - LATEST)  # the first ones are often the highest so far
    higher = []
    for place in range(since, len(kind)):
        most, may_be_more, _ = max(kind[max(0, place - BEFORE) : place])
        if kind[place][0] > HIGHER * most and not may_be_more:
            higher.append(log(kind[place][0] / most))
    latest = sorted([load for load, _, _ in kind[-BEFORE:]], reverse=True)
    usual = log(latest[0] / latest[HIGHEST]) / HIGHEST
    by = (sum(higher) + usual) / (len(higher) + 1)
    if not by:
        return None
    chance = (len(higher) + 1) / (len(kind) - since + BEFORE + 1)
    return NewHeights(chance, by, kind[-BEFORE:][0][2], least)


def _least_of_a_kind(loads: Iterable[float], highest_lately: float) -> float:
    """The lowest of the loads that no gap parts from the highest of the latest ones."""
    least = highest_lately
    for load in sorted(loads, reverse=True):
        if load <= WANDERS * least:
            break
        least = min(least, load)
    return least


def highest(
    begins: Mapping[int, int], numbers: Mapping[int, int], loads: Sequence[tuple[float, bool]]
) -> dict[int, tuple[float, bool]]:
    """The highest load of each episode, by the place where it began; `loads` is by number of the hour."""
    found: dict[int, tuple[float, bool]] = {}
    for place, begin in begins.items():
        load = loads[numbers[place]]
        if begin not in found or load > found[begin]:
            found[begin] = load
    return found


def load_of(hour: ProfileHour) -> tuple[float, bool]:
    """The load of an hour on one scale, and whether it touched a limit: it may have been higher."""
    load = max(
        max(hour.peak_iops, hour.limit_iops) / IOPS_SCALE,
        max(hour.peak_mibps, hour.limit_mibps) / MIBPS_SCALE,
    )
    return load, hour.touched_minutes > 0
