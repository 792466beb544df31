"""One volume under one load series without a controller: which minutes starve."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from headroom.domain.resources import Configuration, VolumeType
from headroom.proving.trials.conditions import Conditions, ceiling
from headroom.proving.vectorized import StaticPain, VectorizedVolume, pain_if_static
from headroom.proving.workloads import Bools, Floats, LoadSeries


class StaticRuns:
    """The minutes of a load series under fixed configurations, each run once."""

    def __init__(self, load_series: LoadSeries) -> None:
        self.load_series = load_series
        self._found: dict[Configuration, StaticPain] = {}

    def starved(self, configuration: Configuration) -> Bools:
        """Whether each minute is starved with `configuration` in force from minute 0."""
        return self._run(configuration).starved

    def shortfall(self, configuration: Configuration) -> Floats:
        """The shortfall of each minute with `configuration` in force from minute 0."""
        return self._run(configuration).shortfall

    def _run(self, configuration: Configuration) -> StaticPain:
        if configuration not in self._found:
            self._found[configuration] = pain_if_static(self.load_series, configuration)
        return self._found[configuration]


class UncontrolledVolume:
    """A load series and a start; controllers and presets share what is computed for them.

    Depends on the guardrails of `conditions`, not on its preset.
    """

    def __init__(self, static: StaticRuns, start: Configuration, conditions: Conditions) -> None:
        self.load_series: LoadSeries = static.load_series
        self.start = start
        self.static = static
        self.plain = Configuration(
            volume_type=VolumeType.GP3, size_gib=start.size_gib, iops=3_000, throughput_mibps=125
        )
        self.slots = conditions.slots
        self._conditions = conditions

    @cached_property
    def alone(self) -> VectorizedVolume:
        """The volume without any change, run to the end."""
        volume = VectorizedVolume(
            self.load_series,
            self.start,
            burst_balance_percent=self._conditions.burst_balance_percent,
        )
        volume.run(self.load_series.minutes)
        return volume

    @cached_property
    def unavoidable(self) -> Bools:
        """Minutes starved even with the most that the guardrails allow, from minute 0 on."""
        return self.static.starved(ceiling(self._conditions, self.start))

    @cached_property
    def unavoidable_shortfall(self) -> Floats:
        """The shortfall that is left even then; what is above it counts."""
        return self.static.shortfall(ceiling(self._conditions, self.start))

    @cached_property
    def peak(self) -> tuple[float, float]:
        """The largest demand of any step: EBS operations/s and MiB/s."""
        known = self.load_series.measured()
        if not known.any():
            return 0.0, 0.0
        ops, size = self.load_series.ebs_ops[known], self.load_series.bytes[known]
        return float(np.max(ops)), float(np.max(size)) / 1024**2
