"""One volume under one course as every controller finds it: what starves if nothing is done."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from headroom.domain.resources import Configuration, VolumeType
from headroom.proving.conditions import Conditions, ceiling
from headroom.proving.course import Bools, Course
from headroom.proving.fast import FastVolume, static_starved


class StaticStarvation:
    """Starved minutes of a course under configurations that are never changed, each run once."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self._found: dict[Configuration, Bools] = {}

    def __call__(self, configuration: Configuration) -> Bools:
        """Whether each minute is starved with `configuration` in force from minute 0."""
        if configuration not in self._found:
            self._found[configuration] = static_starved(self.course, configuration)
        return self._found[configuration]


class Ground:
    """A course and a start; what is computed on them is shared by controllers and presets.

    The guardrails of `conditions` count, its preset does not.
    """

    def __init__(
        self, starved_as: StaticStarvation, start: Configuration, conditions: Conditions
    ) -> None:
        self.course: Course = starved_as.course
        self.start = start
        self.starved_as = starved_as
        self.plain = Configuration(
            volume_type=VolumeType.GP3, size_gib=start.size_gib, iops=3_000, throughput_mibps=125
        )
        self.slots = conditions.slots
        self._conditions = conditions

    @cached_property
    def alone(self) -> FastVolume:
        """The volume when nobody changes it, run to the end."""
        volume = FastVolume(
            self.course,
            self.start,
            burst_balance_percent=self._conditions.burst_balance_percent,
        )
        volume.run(self.course.minutes)
        return volume

    @cached_property
    def unsavable(self) -> Bools:
        """Minutes starved even with the most that the guardrails allow, from minute 0 on."""
        return self.starved_as(ceiling(self._conditions, self.start))

    @cached_property
    def peak(self) -> tuple[float, float]:
        """The largest demand of any step: EBS operations/s and MiB/s."""
        known = self.course.measured()
        if not known.any():
            return 0.0, 0.0
        ops, size = self.course.ebs_ops[known], self.course.bytes[known]
        return float(np.max(ops)), float(np.max(size)) / 1024**2
