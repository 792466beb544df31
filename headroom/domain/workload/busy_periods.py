"""Periods of earlier days that came near a limit, and the demand in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from headroom.domain.resources import Series, VolumeActivity
from headroom.domain.state import LimitHistory
from headroom.domain.workload.pressure import EMPTY_PERCENT

SATURATED = 0.9
"""Share of a limit above which a period's mean is censored demand."""
SATURATED_MINUTES = 3
MOST_BURST = 8.0


class PeriodRow(NamedTuple):
    place: int
    iops: float
    mibps: float
    busiest_iops: float
    busiest_mibps: float
    iops_limit: float
    mibps_limit: float
    touched_iops: bool
    touched_mibps: bool
    pressed: float
    full_iops: bool
    """Whether its mean is what the limit let through."""
    full_mibps: bool


def period_rows(
    history: VolumeActivity,
    limits: LimitHistory,
    iops: Sequence[float],
    mibps: Sequence[float],
    *,
    least: tuple[float, float],
) -> list[PeriodRow]:
    """The busy and pressed periods, with the limits in force in them."""
    by_iops, by_mibps = history.iops_exceeded.values, history.throughput_exceeded.values
    most_iops = _or(_values(history.busiest_iops), iops)
    most_mibps = _or(_values(history.busiest_mibps), mibps)
    bar_iops, bar_mibps = least[0] / MOST_BURST, least[1] / MOST_BURST
    places = [
        i
        for i, (a, b, c, d) in enumerate(zip(most_iops, most_mibps, by_iops, by_mibps, strict=True))
        if a > bar_iops or b > bar_mibps or c or d
    ]
    return [
        period_row(history, limits, i, (iops[i], mibps[i]), (most_iops[i], most_mibps[i]))
        for i in places
    ]


def _or(values: Sequence[float | None], means: Sequence[float]) -> Sequence[float]:
    """The busiest minutes, no less than the means."""
    if not values:
        return means
    return [m if v is None or v < m else v for v, m in zip(values, means, strict=True)]


def period_row(
    history: VolumeActivity, limits: LimitHistory, place: int, mean: tuple[float, float],
    peak: tuple[float, float],
) -> PeriodRow:  # fmt: skip
    iops, mibps = mean
    by_iops, by_mibps = (
        history.iops_exceeded.values[place], history.throughput_exceeded.values[place]
    )  # fmt: skip
    step = history.read_iops.period_s
    balance = history.burst_balance_percent.values[place]
    iops_limit, mibps_limit = limits.at(
        history.read_iops.start.timestamp() + place * step, peak,
        empty=balance is not None and balance <= EMPTY_PERCENT,
    )  # fmt: skip
    at_iops, at_mibps = iops >= SATURATED * iops_limit, mibps >= SATURATED * mibps_limit
    if by_iops is None and by_mibps is None:  # no check: a mean at the limit has to do
        pressed = step / 60 if at_iops or at_mibps else 0.0
    else:
        pressed = min(step / 60, max(by_iops or 0.0, by_mibps or 0.0))
    by_ops = peak[0] * mibps_limit >= peak[1] * iops_limit
    saturated = pressed >= min(SATURATED_MINUTES, step / 60)
    return PeriodRow(
        place, iops, mibps, peak[0], peak[1], iops_limit, mibps_limit,
        pressed > 0 and by_ops, pressed > 0 and not by_ops, pressed,
        saturated and at_iops, saturated and at_mibps,
    )  # fmt: skip


def _values(series: Series | None) -> tuple[float | None, ...]:
    return () if series is None else series.values
