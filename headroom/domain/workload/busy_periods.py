"""Periods of earlier days that came near a limit, and the demand in each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from headroom.domain.resources import Series, VolumeActivity
from headroom.domain.state import LimitHistory
from headroom.domain.workload.pressure import EMPTY_PERCENT

SATURATED = 0.9
"""Share of a limit above which a period's mean is censored demand."""
SATURATED_MINUTES = 3
CENSORED = 1.6
"""Assumed demand of a saturated period over what it got: the median of a tail of 1.2."""
UNEVEN = 1.2
"""Assumed demand of the busiest part of a run of pressure over its mean."""
TELLING_BURSTS = 3
MOST_BURST = 8.0
USUAL_BURST = 0.2
"""Quantile of the ratios of limit to minute mean that is used for bursts."""


class BusyPeriod(NamedTuple):
    """A period with a demand above the minimum of a volume.

    `peak_*` is the highest assumed demand of its bursts; `touched_*` is a limit that a check says
    was reached (0 if none), so demand was at least that.
    """

    place: int
    peak_iops: float
    peak_mibps: float
    touched_iops: float
    touched_mibps: float
    pressed_minutes: float


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


def restore_censored(rows: list[PeriodRow], count: int) -> list[PeriodRow]:
    """Rows with demand in place of served load, where a limit held load back.

    All load of an ended run of pressure was served in it, some of it late, so its demand is the
    mean of the run. An ongoing run has a demand above what it got.
    """
    found: list[PeriodRow] = []
    for run in pressed_runs(rows):
        held = any(row.full_iops or row.full_mibps for row in run)
        if not held:
            found.extend(run)
        elif run[-1].place >= count - 2:
            found.extend(
                row._replace(
                    iops=row.iops * (CENSORED if row.full_iops else 1.0),
                    mibps=row.mibps * (CENSORED if row.full_mibps else 1.0),
                )
                for row in run
            )
        else:
            iops, mibps = fmean(row.iops for row in run), fmean(row.mibps for row in run)
            found.extend(
                row._replace(
                    iops=iops, mibps=mibps, busiest_iops=iops * UNEVEN, busiest_mibps=mibps * UNEVEN,
                    touched_iops=False, touched_mibps=False,
                )
                for row in run
            )  # fmt: skip
    return found


def pressed_runs(rows: Sequence[PeriodRow]) -> Iterator[list[PeriodRow]]:
    """Runs of consecutive pressed rows; every other row is a run by itself."""
    run: list[PeriodRow] = []
    for row in rows:
        if run and not (row.pressed > 0 and run[-1].pressed > 0 and row.place == run[-1].place + 1):
            yield run
            run = []
        run.append(row)
    if run:
        yield run


def _values(series: Series | None) -> tuple[float | None, ...]:
    return () if series is None else series.values


def burst_ratios(rows: Sequence[PeriodRow]) -> tuple[float, float]:
    """Ratio of bursts to the minute's mean, where checks show bursts; else 1."""
    by_iops = [
        row.iops_limit / row.busiest_iops for row in rows
        if row.touched_iops and 0 < row.busiest_iops < SATURATED * row.iops_limit
    ]  # fmt: skip
    by_mibps = [
        row.mibps_limit / row.busiest_mibps for row in rows
        if row.touched_mibps and 0 < row.busiest_mibps < SATURATED * row.mibps_limit
    ]  # fmt: skip
    return median_ratio(by_iops), median_ratio(by_mibps)


def median_ratio(ratios: list[float]) -> float:
    if len(ratios) < TELLING_BURSTS:
        return 1.0
    return min(MOST_BURST, max(1.0, sorted(ratios)[int(USUAL_BURST * (len(ratios) - 1))]))


def period_of(row: PeriodRow, burst_iops: float, burst_mibps: float) -> BusyPeriod:
    """The busy period of a row; bursts stay below a limit that its check says was not reached."""
    iops = row.iops_limit if row.touched_iops else min(
        row.busiest_iops * burst_iops, row.iops_limit
    )  # fmt: skip
    mibps = row.mibps_limit if row.touched_mibps else min(
        row.busiest_mibps * burst_mibps, row.mibps_limit
    )  # fmt: skip
    return BusyPeriod(
        row.place, max(row.iops, iops), max(row.mibps, mibps),
        row.iops_limit if row.touched_iops else 0.0,
        row.mibps_limit if row.touched_mibps else 0.0, row.pressed,
    )  # fmt: skip
