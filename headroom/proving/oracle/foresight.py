"""The oracle: the cheapest schedule for a load series that is known in advance, with a lower bound.

It obeys the rules of every controller: delays, one modification in flight, slots, ceilings and the
largest step. `score` is the real score of its schedule; no schedule scores less than `bound`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headroom.domain.resources import Configuration
from headroom.proving.awsrules import DelayRanges, Delays
from headroom.proving.oracle.case import SURE, Case, LevelHistory, Schedule, clock_of
from headroom.proving.oracle.demand import KnownDemand
from headroom.proving.oracle.queues import Clock
from headroom.proving.trials import (
    Conditions,
    StaticRuns,
    TrialRun,
    UncontrolledVolume,
    ceiling,
    run_schedule,
    score_usd,
)
from headroom.proving.workloads import LoadSeries


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleResult:
    """A schedule, its score and the lower bound in USD; `exact` if they are equal."""

    schedule: Schedule
    score: float
    bound: float
    exact: bool
    run: TrialRun


class Foresight:
    """One known load series; work that starts and presets share is done once."""

    def __init__(self, load_series: LoadSeries) -> None:
        self.load_series = load_series
        self.load = KnownDemand(load_series)
        self._static = StaticRuns(load_series)
        self._histories: dict[tuple[bytes, Clock], LevelHistory] = {}
        self._clocks: dict[tuple[Delays | DelayRanges, int], Clock] = {}

    def oracle(
        self, start: Configuration, conditions: Conditions, incumbents: Sequence[Schedule] = ()
    ) -> OracleResult:
        """The best schedule from `start`; never worse than any of `incumbents`."""
        unavoidable = self._static.shortfall(ceiling(conditions, start))

        def scored(run: TrialRun) -> float:
            return score_usd(run, unavoidable, conditions)

        history = self._history_of(start, conditions)
        tried = [
            run_schedule(self.load_series, start, each, conditions)
            for each in dict.fromkeys(((), *incumbents, *history.schedules))
        ]
        best = min(tried, key=scored)
        bound, schedule = self.case(start, conditions).solve(scored(best))
        if schedule is not None:
            best = min(
                best, run_schedule(self.load_series, start, schedule, conditions), key=scored
            )
        found = scored(best)
        return OracleResult(
            schedule=tuple((change.minute, change.target) for change in best.changes),
            score=found,
            bound=min(bound, found),
            exact=found - bound <= SURE * found,
            run=best,
        )

    def case(self, start: Configuration, conditions: Conditions) -> Case:
        """The optimisation for one start under one set of conditions."""
        volume = UncontrolledVolume(self._static, start, conditions).alone
        waiting = np.concatenate(([0.0], volume.backlog))
        return Case(
            self.load,
            self._static.shortfall(ceiling(conditions, start)),
            start,
            conditions,
            volume.shortfall,
            np.maximum(0.0, self.load.edges - waiting),
            self._clock_of(conditions),
            self._history_of(start, conditions),
        )

    def _history_of(self, start: Configuration, conditions: Conditions) -> LevelHistory:
        unavoidable = self._static.shortfall(ceiling(conditions, start))
        key = unavoidable.tobytes(), self._clock_of(conditions)
        return self._histories.setdefault(key, LevelHistory())

    def _clock_of(self, conditions: Conditions) -> Clock:
        key = conditions.delays, conditions.slots
        if key not in self._clocks:
            self._clocks[key] = clock_of(conditions, self.load_series)
        return self._clocks[key]
