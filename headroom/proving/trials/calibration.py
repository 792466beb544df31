"""How well the forecast's probabilities hold: what share of the hours forecast at 10 % came.

An hour came if at least one of its minutes needs more than a configuration serves. Headroom forecasts this
at fixed times of a run, from what was published by then, for each of the 24 hours ahead and for
configurations below, at and above the present one. The load series says what came. A volume at its
limit hides the load above it, so the forecast is also about what Headroom cannot see.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import log

import numpy as np

from headroom.application import input_dry_run
from headroom.domain.catalog import why_invalid
from headroom.domain.catalog.ebs import MIB, capability
from headroom.domain.decision import situation_of
from headroom.domain.planning import starvation_chances
from headroom.domain.resources import Configuration, ResourceRef, VolumeType
from headroom.ports import Ports
from headroom.proving.workloads import Bools, Floats, LoadSeries

EVERY_MIN = 7 * 60
"""Minutes between forecasts: every hour of the day has its turn."""
EDGES = (0.01, 0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95)
"""Upper ends of all bands of probability but the last."""
GP3 = ((3_000, 125), (6_000, 250), (12_000, 500))
"""IOPS and MiB/s of the configurations that are forecast."""
ABOVE = 1.01
"""Demand within a hundredth above what is served starves nobody."""
LEAST = 1e-3
"""Probabilities nearer to 0 or 1 are scored as this near: no forecast is that sure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Sums by band of probability: how many hours, their probabilities, and how many came."""

    hours: tuple[int, ...] = (0,) * (len(EDGES) + 1)
    forecast: tuple[float, ...] = (0.0,) * (len(EDGES) + 1)
    came: tuple[int, ...] = (0,) * (len(EDGES) + 1)
    log_score: float = 0.0
    """Sum of the logarithms of the probability of what came."""

    def __add__(self, other: Calibration) -> Calibration:
        return Calibration(
            hours=tuple(map(sum, zip(self.hours, other.hours, strict=True))),
            forecast=tuple(map(sum, zip(self.forecast, other.forecast, strict=True))),
            came=tuple(map(sum, zip(self.came, other.came, strict=True))),
            log_score=self.log_score + other.log_score,
        )

    @property
    def mean_log_score(self) -> float:
        """Per hour, in nats; 0 is perfect."""
        return self.log_score / max(1, sum(self.hours))

    @property
    def mean_log_score_of_the_rate(self) -> float:
        """The score of always forecasting the overall share, which is known only in hindsight."""
        hours, came = sum(self.hours), sum(self.came)
        if not 0 < came < hours:
            return 0.0
        rate = came / hours
        return rate * log(rate) + (1 - rate) * log(1 - rate)


def calibration_of(pairs: Sequence[tuple[float, bool]]) -> Calibration:
    """The sums of probabilities and of whether the hour came."""
    bands = len(EDGES) + 1
    hours, forecast, came, score = [0] * bands, [0.0] * bands, [0] * bands, 0.0
    for chance, happened in pairs:
        band = bisect_right(EDGES, chance)
        hours[band] += 1
        forecast[band] += chance
        came[band] += happened
        sure = min(1 - LEAST, max(LEAST, chance))
        score += log(sure if happened else 1 - sure)
    return Calibration(
        hours=tuple(hours), forecast=tuple(forecast), came=tuple(came), log_score=score
    )


class ForecastLog:
    """The forecasts of one run, and what the load series says of them."""

    def __init__(self, load_series: LoadSeries, size_gib: int) -> None:
        self._load_series = load_series
        self.configurations = tuple(
            one
            for iops, mibps in GP3
            if why_invalid(
                one := Configuration(
                    volume_type=VolumeType.GP3, size_gib=size_gib, iops=iops, throughput_mibps=mibps
                )
            )
            is None
        )
        self._above = [hours_above(load_series, one) for one in self.configurations]
        self.pairs: list[tuple[float, bool]] = []
        self._due = load_series.start + timedelta(minutes=EVERY_MIN)

    def sample(self, ports: Ports, ref: ResourceRef, now: datetime) -> None:
        """Forecast at `now` if it is time; nothing is written."""
        if now < self._due:
            return
        self._due += timedelta(minutes=EVERY_MIN)
        situation = situation_of(input_dry_run(ports, ref, now))
        if situation is None:
            return
        chances, first = starvation_chances(situation, self.configurations)
        place = (first - _first_hour(self._load_series)) // timedelta(hours=1)
        for ahead, row in enumerate(chances):
            for chance, (above, known) in zip(row, self._above, strict=True):
                if place + ahead < len(known) and known[place + ahead]:
                    self.pairs.append((chance, bool(above[place + ahead])))


def hours_above(load_series: LoadSeries, configuration: Configuration) -> tuple[Bools, Bools]:
    """Whether each UTC hour asks for more than it serves in some minute, and whether all of it was measured.

    What comes in bursts of seconds and is served by the end of its minute is in time.
    """
    can, offset = capability(configuration), _minutes_into_hour(load_series) * 60
    step, known = load_series.step_s, load_series.measured()
    a_minute = max(1, 60 // step)
    above = known & (
        (_means(load_series.ebs_ops, a_minute) > can.sustained_iops * ABOVE)
        | (_means(load_series.bytes, a_minute) > can.sustained_mibps * ABOVE * MIB)
    )
    hour = (offset + np.arange(len(above)) * step) // 3600
    count = int(hour[-1]) + 1
    wanting = np.bincount(hour, weights=above, minlength=count) > 0
    whole = np.bincount(hour, weights=known, minlength=count) * step >= 3600
    return wanting, whole


def _means(rates: Floats, steps: int) -> Floats:
    """The mean of each `steps` in a row, at each of them."""
    return np.repeat(rates.reshape(-1, steps).mean(axis=1), steps)


def _first_hour(load_series: LoadSeries) -> datetime:
    return load_series.start - timedelta(minutes=_minutes_into_hour(load_series))


def _minutes_into_hour(load_series: LoadSeries) -> int:
    return load_series.start.minute


def bands() -> Iterator[tuple[float, float]]:
    """The ends of each band of probability."""
    return zip((0.0, *EDGES), (*EDGES, 1.0), strict=True)
