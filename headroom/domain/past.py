"""What a load wanted over the earlier days that CloudWatch still knows, by the limits it then had."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from math import ceil
from statistics import fmean
from typing import NamedTuple

from headroom.domain.catalogue import MIB, SSD_IO_BYTES, capability
from headroom.domain.observation import Observation, Series, VolumeActivity
from headroom.domain.pressure import EMPTY_PERCENT
from headroom.domain.standing import KnownModification

OPS_PER_MIB = MIB / SSD_IO_BYTES
SATURATED = 0.9
"""Share of a limit above which a period's mean is what was served, not what was wanted."""
SATURATED_MINUTES = 3
LANDING_S = 3_600.0
"""How long after its start a change is taken to be landing: which limit binds, the load tells."""
STILL_BELOW = 1.02
CENSORED = 1.6
"""What a saturated period is taken to have wanted over what it got: a tail of 1.2 at its middle."""
UNEVEN = 1.2
"""What the busiest part of a run of pressure is taken to have wanted over its mean."""
TELLING_BURSTS = 3
MOST_BURST = 8.0
USUAL_BURST = 0.2
"""Of the bursts seen to touch a limit, this share had a smaller ratio of limit to minute mean."""


SHARES = (0.25, 0.5, 0.75, 0.88, 0.94, 0.97, 0.985, 0.9925, 0.9965, 0.9985, 1.0)
ABOVE_ALL = (1.0, 1.25, 1.5, 2.0, 4.0)
"""Levels above all that was seen: what a little more than the past would take."""


class Period(NamedTuple):
    """A period in which more was wanted than the least a volume can have.

    `peak_*` is the most that bursts in it are taken to have wanted; `touched_*` a limit that a
    check says was reached (0 if none): what was wanted is at least that.
    """

    place: int
    peak_iops: float
    peak_mibps: float
    touched_iops: float
    touched_mibps: float
    pressed_minutes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """Periods from `start` on; `iops` and `mibps` are means wanted, 0 where nothing is known."""

    start: datetime
    period_s: int
    iops: Sequence[float]
    mibps: Sequence[float]
    busy: tuple[Period, ...]
    measured: Sequence[bool]
    """Whether each period was: one that was not tells of no load and of no idleness either."""
    known: int
    """How many were."""
    most_iops: float
    most_mibps: float
    clear_days: tuple[tuple[float, float, float], ...]
    """(IOPS limit, MiB/s limit, days that ran under them without touching either)."""

    checked: int | None = None
    """Of those, periods in which an Exceeded check was published; None where none ever was."""

    @property
    def telling_days(self) -> float:
        """Days that tell of bursts as well: those with checks, where the volume has any.

        Checks are published under the pair of instance and volume: those of an instance that was
        replaced are not read.
        """
        return (self.known if self.checked is None else self.checked) * self.period_s / 86_400

    @property
    def days(self) -> float:
        """Days that were measured."""
        return self.known * self.period_s / 86_400


NOTHING = Past(
    start=datetime.min.replace(tzinfo=UTC), period_s=300, iops=(), mibps=(), busy=(), measured=(),
    known=0, most_iops=0.0, most_mibps=0.0, clear_days=(),
)  # fmt: skip


def past(
    observation: Observation,
    modifications: Sequence[KnownModification],
    *,
    least_iops: float,
    least_mibps: float,
) -> Past:
    """The past of `observation`; periods below `least_iops` and `least_mibps` are not busy.

    `modifications` tell which limits were in force when; before the first of them its origin's.
    """
    history = observation.history
    if history is None:
        return NOTHING
    limits = _Limits(observation, modifications)
    iops, mibps = _rates(history)
    rows = _served_late(
        _rows(history, limits, iops, mibps, least=(least_iops, least_mibps)), len(iops)
    )
    by_iops, by_mibps = _burst_ratios(rows)
    periods = [_period(row, by_iops, by_mibps) for row in rows]
    for row in rows:
        iops[row.place], mibps[row.place] = row.iops, row.mibps
    measured = tuple(
        r is not None or w is not None
        for r, w in zip(history.read_iops.values, history.write_iops.values, strict=True)
    )
    pressed = {row.place for row in rows if row.pressed > 0}
    most_iops, most_mibps = max(iops, default=0.0), max(mibps, default=0.0)
    return Past(
        start=history.read_iops.start, period_s=history.read_iops.period_s, iops=iops, mibps=mibps,
        busy=tuple(
            p for p in periods
            if p.peak_iops > least_iops or p.peak_mibps > least_mibps or p.pressed_minutes > 0
        ),
        measured=measured,
        known=sum(measured),
        checked=_checked(history),
        most_iops=max((p.peak_iops for p in periods), default=most_iops),
        most_mibps=max((p.peak_mibps for p in periods), default=most_mibps),
        clear_days=limits.clear_days(history, pressed),
    )  # fmt: skip


def _checked(history: VolumeActivity) -> int | None:
    checks = zip(history.iops_exceeded.values, history.throughput_exceeded.values, strict=True)
    return sum(i is not None or t is not None for i, t in checks) or None


def _rates(history: VolumeActivity) -> tuple[list[float], list[float]]:
    """Means of each period in SSD operations/s and MiB/s, 0 where nothing is known."""
    mibps = [
        (r or 0.0) + (w or 0.0)
        for r, w in zip(history.read_mibps.values, history.write_mibps.values, strict=True)
    ]
    iops = [
        max((r or 0.0) + (w or 0.0), m * OPS_PER_MIB)
        for r, w, m in zip(history.read_iops.values, history.write_iops.values, mibps, strict=True)
    ]
    return iops, mibps


def wanted_levels(
    past: Past, usd: Callable[[float, float], float]
) -> tuple[tuple[float, float], ...]:
    """IOPS and MiB/s that would have been enough for growing shares of the busy periods.

    From nothing at all to more than was ever seen; `usd` orders levels by how dear they are.
    """
    found = {(0.0, 0.0)}
    ordered = sorted((usd(p.peak_iops, p.peak_mibps), p.peak_iops, p.peak_mibps) for p in past.busy)
    if ordered:
        iops = list(accumulate((i for _, i, _ in ordered), max))
        mibps = list(accumulate((m for _, _, m in ordered), max))
        for share in SHARES:
            place = max(0, ceil(share * len(ordered)) - 1)
            found.add((iops[place], mibps[place]))
    for factor in ABOVE_ALL:
        found.add((past.most_iops * factor, past.most_mibps))
        found.add((past.most_iops, past.most_mibps * factor))
        found.add((past.most_iops * factor, past.most_mibps * factor))
    return tuple(sorted(found))


class _Limits:
    """Which limits were in force when, as far as modifications are known."""

    def __init__(self, observation: Observation, known: Sequence[KnownModification]) -> None:
        changes = [(m.started_at, m.origin, m.target) for m in known]
        latest = observation.modification
        if latest is not None and all(
            abs((at - latest.started_at).total_seconds()) > 1 for at, _, _ in changes
        ):
            changes.append((latest.started_at, latest.origin, latest.target))
        told = sorted((at.timestamp(), origin, to) for at, origin, to in changes if to is not None)
        first = next((origin for _, origin, _ in told if origin is not None), None)
        self._starts = [at for at, _, _ in told]
        self._can = [capability(first or observation.volume.configuration)]
        self._can += [capability(to) for _, _, to in told if to is not None]

    def clear_days(
        self, history: VolumeActivity, pressed: set[int]
    ) -> tuple[tuple[float, float, float], ...]:
        """Days that ran under each pair of limits without touching either."""
        grid = history.read_iops
        first, step, count = grid.start.timestamp(), grid.period_s, len(grid.values)
        edges = [0, *(min(count, max(0, ceil((s - first) / step))) for s in self._starts), count]
        found = []
        for can, begin, end in zip(self._can, edges[:-1], edges[1:], strict=True):
            clear = (end - begin) - sum(begin <= place < end for place in pressed)
            known = sum(v is not None for v in grid.values[begin:end])
            days = min(clear, known) * step / 86_400
            if days > 0:
                found.append((can.burst_iops, can.burst_mibps, days))
        return tuple(found)

    def of(self, at: float, took: tuple[float, float], *, empty: bool) -> tuple[float, float]:
        """IOPS and MiB/s that could be driven at a POSIX timestamp; those of an empty bucket if `empty`.

        While a change lands, the lower of both unless more was taken than one of them lets through:
        IOPS and throughput of a change take hold together.
        """
        number = bisect_right(self._starts, at)
        now = self._of(number, empty)
        if not number or at - self._starts[number - 1] >= LANDING_S:
            return now
        before = self._of(number - 1, empty)
        if _lets(now, took) != _lets(before, took):
            return now if _lets(now, took) else before
        choose = min if _lets(now, took) else max
        return choose(before[0], now[0]), choose(before[1], now[1])

    def _of(self, number: int, empty: bool) -> tuple[float, float]:
        can = self._can[number]
        if empty:
            return can.sustained_iops, can.sustained_mibps
        return can.burst_iops, can.burst_mibps


def _lets(limits: tuple[float, float], took: tuple[float, float]) -> bool:
    """Whether so much could be taken under these limits."""
    return took[0] <= limits[0] * STILL_BELOW and took[1] <= limits[1] * STILL_BELOW


class _Row(NamedTuple):
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


def _rows(
    history: VolumeActivity,
    limits: _Limits,
    iops: Sequence[float],
    mibps: Sequence[float],
    *,
    least: tuple[float, float],
) -> list[_Row]:
    """The periods that may matter, with the limits in force in them: busy ones and pressed ones."""
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
        _row(history, limits, i, (iops[i], mibps[i]), (most_iops[i], most_mibps[i])) for i in places
    ]


def _or(values: Sequence[float | None], means: Sequence[float]) -> Sequence[float]:
    """The busiest minutes, no less than the means."""
    if not values:
        return means
    return [m if v is None or v < m else v for v, m in zip(values, means, strict=True)]


def _row(
    history: VolumeActivity, limits: _Limits, place: int, mean: tuple[float, float],
    peak: tuple[float, float],
) -> _Row:  # fmt: skip
    iops, mibps = mean
    by_iops, by_mibps = (
        history.iops_exceeded.values[place], history.throughput_exceeded.values[place]
    )  # fmt: skip
    step = history.read_iops.period_s
    balance = history.burst_balance_percent.values[place]
    iops_limit, mibps_limit = limits.of(
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
    return _Row(
        place, iops, mibps, peak[0], peak[1], iops_limit, mibps_limit,
        pressed > 0 and by_ops, pressed > 0 and not by_ops, pressed,
        saturated and at_iops, saturated and at_mibps,
    )  # fmt: skip


def _served_late(rows: list[_Row], count: int) -> list[_Row]:
    """Rows with what was wanted in place of what was served, where a limit held load back.

    All that arrived in a run of pressure that is over was served in it, some of it late: what was
    wanted is the mean of the run, however fast its backlog was served under a raised limit. A run
    that is not over wanted more than it got.
    """
    found: list[_Row] = []
    for run in _runs(rows):
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


def _runs(rows: Sequence[_Row]) -> Iterator[list[_Row]]:
    """Rows by themselves, but for pressed ones that follow each other."""
    run: list[_Row] = []
    for row in rows:
        if run and not (row.pressed > 0 and run[-1].pressed > 0 and row.place == run[-1].place + 1):
            yield run
            run = []
        run.append(row)
    if run:
        yield run


def _values(series: Series | None) -> tuple[float | None, ...]:
    return () if series is None else series.values


def _burst_ratios(rows: Sequence[_Row]) -> tuple[float, float]:
    """How far bursts inside a minute went above its mean, where a check told of them; else 1."""
    by_iops = [
        row.iops_limit / row.busiest_iops for row in rows
        if row.touched_iops and 0 < row.busiest_iops < SATURATED * row.iops_limit
    ]  # fmt: skip
    by_mibps = [
        row.mibps_limit / row.busiest_mibps for row in rows
        if row.touched_mibps and 0 < row.busiest_mibps < SATURATED * row.mibps_limit
    ]  # fmt: skip
    return _usual(by_iops), _usual(by_mibps)


def _usual(ratios: list[float]) -> float:
    if len(ratios) < TELLING_BURSTS:
        return 1.0
    return min(MOST_BURST, max(1.0, sorted(ratios)[int(USUAL_BURST * (len(ratios) - 1))]))


def _period(row: _Row, burst_iops: float, burst_mibps: float) -> Period:
    """What bursts wanted: no more than the limit where the check says it was not reached."""
    iops = row.iops_limit if row.touched_iops else min(
        row.busiest_iops * burst_iops, row.iops_limit
    )  # fmt: skip
    mibps = row.mibps_limit if row.touched_mibps else min(
        row.busiest_mibps * burst_mibps, row.mibps_limit
    )  # fmt: skip
    return Period(
        row.place, max(row.iops, iops), max(row.mibps, mibps),
        row.iops_limit if row.touched_iops else 0.0,
        row.mibps_limit if row.touched_mibps else 0.0, row.pressed,
    )  # fmt: skip
