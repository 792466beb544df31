"""References with one configuration from minute 0 on: the trace's peak, and the best in hindsight.

They get there at once, or in legal steps where the owner's largest step is too short.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import numpy as np

from headroom.domain.catalog import SECONDS_PER_MONTH
from headroom.domain.catalog.ebs import MIB, cheapest, max_iops
from headroom.domain.resources import Configuration, VolumeType
from headroom.proving.trials import (
    Conditions,
    TrialRun,
    UncontrolledVolume,
    avoidable,
    run_static,
    score_usd,
    within,
)
from headroom.proving.workloads import Floats

QUANTILES = (0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 1.0)
GRID = 13
"""Geometrically spaced levels from a type's least to the ceiling, both included."""
GP3_MOST = (80_000, 2_000)
"""The most IOPS and MiB/s of gp3: practically no limit."""
ABOVE_PEAK = (1.1, 1.25, 1.5, 2.0)


def static_peak(uncontrolled: UncontrolledVolume, conditions: Conditions) -> TrialRun:
    """The cheapest configuration for the largest demand of any step, within the ceilings."""
    iops, mibps = uncontrolled.peak
    target = _for_demand(uncontrolled.start, iops, mibps, conditions)
    return run_static(uncontrolled.load_series, uncontrolled.start, target, conditions)


class BestStatic:
    """Searches the best-scoring configuration to go to at minute 0; presets share runs.

    Shortfall falls with IOPS and with MiB/s, so the cost of a level of one with the most of the
    other is a lower bound for all its combinations: combinations that cannot win are never run.
    """

    def __init__(self, uncontrolled: UncontrolledVolume, conditions: Conditions) -> None:
        self._uncontrolled = uncontrolled
        self._levels = _levels(uncontrolled, conditions)
        self._least: dict[Configuration, float] = {}
        self._runs: dict[Configuration | None, TrialRun] = {}

    def run(self, conditions: Conditions) -> TrialRun:
        """The best run at the preset of `conditions`; staying at the start is a candidate."""
        best = self._run(None, conditions)
        least = score_usd(best, self._uncontrolled.unavoidable_shortfall, conditions)
        for bound, target in self._bounds(conditions):
            if bound >= least:
                break
            run = self._run(target, conditions)
            found = score_usd(run, self._uncontrolled.unavoidable_shortfall, conditions)
            if found < least:
                best, least = run, found
        return best

    def _target(self, iops: float, mibps: float, conditions: Conditions) -> Configuration | None:
        start = self._uncontrolled.start
        target = _for_demand(start, iops, mibps, conditions)
        return within(conditions, start, conditions.monthly(start), target, at_once=False)

    def _bounds(self, conditions: Conditions) -> list[tuple[float, Configuration]]:
        iops_levels, mibps_levels = self._levels
        found: dict[Configuration, float] = {}
        for iops in iops_levels:
            for mibps in mibps_levels:
                target = self._target(iops, mibps, conditions)
                if target is None or target in found:
                    continue
                minutes = max(
                    self._missed(self._most(target, iops=target.iops), conditions),
                    self._missed(self._most(target, mibps=target.throughput_mibps), conditions),
                )
                found[target] = self._usd(target, conditions) + conditions.value_usd * minutes
        return sorted(((b, t) for t, b in found.items()), key=lambda pair: pair[0])

    def _most(
        self, target: Configuration, *, iops: int | None = None, mibps: int | None = None
    ) -> Configuration:
        """A volume that only one of the two limits of `target` can hold back."""
        if target.throughput_mibps is None:
            return target
        most_iops, most_mibps = GP3_MOST
        return Configuration(
            volume_type=VolumeType.GP3, size_gib=target.size_gib, iops=iops or most_iops,
            throughput_mibps=mibps or most_mibps,
        )  # fmt: skip

    def _missed(self, target: Configuration, conditions: Conditions) -> float:
        """Avoidable shortfall under `target`, from when a change would have its effect."""
        if target not in self._least:
            first = conditions.delays.latest_effect // timedelta(minutes=1)
            missed = self._uncontrolled.static.shortfall(target)[first:]
            unavoidable = self._uncontrolled.unavoidable_shortfall[first:]
            self._least[target] = avoidable(missed, unavoidable)
        return self._least[target]

    def _usd(self, target: Configuration, conditions: Conditions) -> float:
        return (
            conditions.monthly(target)
            * self._uncontrolled.load_series.minutes
            * 60
            / SECONDS_PER_MONTH
        )

    def _run(self, target: Configuration | None, conditions: Conditions) -> TrialRun:
        if target not in self._runs:
            load_series, start = self._uncontrolled.load_series, self._uncontrolled.start
            self._runs[target] = run_static(load_series, start, target or start, conditions)
        return self._runs[target]


def _levels(
    uncontrolled: UncontrolledVolume, conditions: Conditions
) -> tuple[list[float], list[float]]:
    """Candidate IOPS and MiB/s: quantiles of the demand and a grid up to the ceilings."""
    load_series, limits = uncontrolled.load_series, conditions.policy.defaults
    known = load_series.measured()
    demands = (
        (load_series.ebs_ops[known], 3_000.0, float(limits.max_iops)),
        (load_series.bytes[known] / MIB, 125.0, float(limits.max_throughput_mibps)),
    )
    iops, mibps = (sorted(set(_spread(*demand))) for demand in demands)
    return iops, mibps


def _spread(demand: Floats, least: float, most: float) -> Iterator[float]:
    yield least
    if not demand.size:
        return
    peak = min(most, max(least, float(demand.max())))
    levels = [*np.quantile(demand, QUANTILES), *np.geomspace(least, most, GRID), peak]
    levels += [times * peak for times in ABOVE_PEAK]
    for level in levels:
        if least < level <= most:
            yield float(np.ceil(level))


def _for_demand(
    start: Configuration, iops: float, mibps: float, conditions: Conditions
) -> Configuration:
    """The cheapest of the allowed types for a demand cut to the ceilings; gp3 where none has it."""
    limits, size = conditions.policy.defaults, start.size_gib
    iops, mibps = min(iops, limits.max_iops), min(mibps, limits.max_throughput_mibps)
    found = [
        target
        for kind in limits.types
        if (target := cheapest(kind, size, iops=iops, mibps=mibps)) is not None
        and (target.iops or 0) <= limits.max_iops
    ]
    if found:
        return min(found, key=conditions.monthly)
    most = max_iops(VolumeType.GP3, size)
    return Configuration(
        volume_type=VolumeType.GP3,
        size_gib=size,
        iops=min(most, limits.max_iops),
        throughput_mibps=max(125, int(min(mibps, most // 4))),
    )
