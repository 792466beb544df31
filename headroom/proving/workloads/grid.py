"""Puts the timestamps of a trace on a regular grid in spite of their jitter.

Samplers are late and early. The grid is one interval and one origin with every row near its own
place; without such a grid the trace is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

JITTER = 0.25
"""Share of the interval by which a row may be off its place on the grid."""
CLOSE = 0.02
"""An interval this close to a round one counts as the round one."""
EXACT = 1e-5
"""A row closer to its place than this share of the interval counts as exact."""
FEWEST = 8
"""Rows needed to see an interval that is neither round nor the usual spacing."""
FIRST_ROWS = 4
"""A refusal names the first row that leaves the grid which these begin."""
MOST_PLACES = 20_000_000
_STEPS = (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30)
ROUND = (
    *(0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5),
    *(unit * step for unit in (1, 60) for step in _STEPS),
    *(3_600 * hours for hours in (1, 2, 3, 4, 6, 8, 12, 24)),
)
"""Intervals (seconds) that people set."""

Seconds = NDArray[np.float64]
Places = NDArray[np.int64]


class Grid(NamedTuple):
    """Interval, instant of place 0 and the place of each row on it (the first row's is 0).

    Rows are up to `off_s` off their places; the origin may be moved by `leeway_s` without
    contradicting any of them.
    """

    interval_s: float
    origin_s: float
    places: Places
    off_s: float
    leeway_s: float


class OffGrid(Exception):
    """Row `index` fits no grid; `why` says how, after the words "line N"."""

    def __init__(self, index: int, why: str) -> None:
        super().__init__(why)
        self.index = index
        self.why = why


class _Fit(NamedTuple):
    interval: float
    origin: float
    places: Places
    worst: float

    @property
    def score(self) -> float:
        """Lower is better: rows near their places, and few places without a row."""
        return self.worst + 0.5 * (1 - len(self.places) / (int(self.places[-1]) + 1))


def on_grid(seconds: Sequence[float]) -> Grid:
    """The grid of at least two ascending instants; raises OffGrid if they have none."""
    times = np.asarray(seconds, dtype=np.float64)
    spacings = np.diff(times)
    usual, held = _usual(spacings)
    fit = _fitted(times, usual)
    if fit is None or fit.worst > EXACT:
        found = _near(times, usual) if held else _anywhere(times, spacings)
        if found is None or not _believed(found, spacings):
            raise _first_off(times, _rounded(usual))
        fit = found
    if int(fit.places[-1]) >= MOST_PLACES:
        raise OffGrid(int(spacings.argmax()) + 1, "lies too far from the row before it.")
    if fit.worst <= EXACT:
        return Grid(fit.interval, 0.0, fit.places, 0.0, 0.0)
    off = float(np.abs((times - fit.origin) / fit.interval - fit.places).max())
    leeway = fit.interval * min(off, JITTER - off)
    return Grid(fit.interval, fit.origin, fit.places, fit.interval * off, leeway)


def _usual(spacings: Seconds) -> tuple[float, bool]:
    """The usual spacing, and whether at least half of the rows keep it to within 2 %."""
    values, counts = np.unique(np.round(spacings, 6), return_counts=True)
    if 2 * counts.max() >= len(spacings):
        return float(values[counts.argmax()]), True
    ordered = np.sort(spacings)
    until = np.searchsorted(ordered, ordered * (1 + 2 * CLOSE), side="right")
    first = int((until - np.arange(len(ordered))).argmax())
    window = ordered[first : until[first]]
    return _rounded(float(np.median(window))), 2 * len(window) >= len(spacings)


def _believed(fit: _Fit, spacings: Seconds) -> bool:
    """Whether the interval is round, or kept to by some rows, or seen in many."""
    kept = np.count_nonzero(np.abs(spacings - fit.interval) < EXACT * fit.interval)
    return fit.interval in ROUND or bool(kept >= 2) or len(spacings) >= FEWEST - 1


def _near(times: Seconds, usual: float) -> _Fit | None:
    """The grid whose interval is the usual spacing, or the round or fitted one next to it."""
    seeds = [usual, *(each for each in ROUND if abs(each / usual - 1) <= 2 * CLOSE)]
    fits = _tried(times, seeds)
    if not fits:
        locked = (_locked(times, seed) for seed in seeds)
        fits = [fit for fit in locked if fit and abs(fit.interval / usual - 1) < 3 * CLOSE]
    return _snapped(times, min(fits, key=lambda fit: fit.score)) if fits else None


def _anywhere(times: Seconds, spacings: Seconds) -> _Fit | None:
    """The best grid for spacings that vary much: a round one, else one fitted to many rows."""
    middle = float(np.median(spacings))
    fits = _tried(times, [each for each in ROUND if 0.25 * middle <= each <= 2 * middle])
    if not fits and len(times) >= FEWEST:
        seeds = middle * np.arange(0.3, 1.7, 0.04)
        fits = [fit for seed in seeds if (fit := _locked(times, float(seed))) is not None]
        fits = [fit for fit in fits if _consecutive(fit)]
    return _snapped(times, min(fits, key=lambda fit: fit.score)) if fits else None


def _tried(times: Seconds, intervals: Sequence[float]) -> list[_Fit]:
    fits = (_fitted(times, float(interval)) for interval in intervals)
    return [fit for fit in fits if fit is not None and _consecutive(fit)]


def _consecutive(fit: _Fit) -> bool:
    """Whether enough rows follow one another for the interval not to be a mere divisor."""
    return 4 * int(np.count_nonzero(np.diff(fit.places) == 1)) >= len(fit.places) - 1


def _snapped(times: Seconds, fit: _Fit) -> _Fit:
    """The same grid with the round interval that is meant, if the rows bear it as well."""
    meant = _fitted(times, _rounded(fit.interval))
    return meant if meant is not None and meant.worst <= 3 * fit.worst else fit


def _rounded(interval: float) -> float:
    nearest = min(ROUND, key=lambda each: abs(each / interval - 1))
    return float(nearest) if abs(nearest / interval - 1) <= CLOSE else interval


def _fitted(times: Seconds, interval: float) -> _Fit | None:
    """The rows on a grid of exactly `interval`, None unless each has a place of its own."""
    places, off = _placed(times, interval)
    worst = float(off.max() - off.min()) / 2
    if worst > JITTER - 1e-9 or (np.diff(places) < 1).any():
        return None
    middle = float(np.median(off))
    if np.abs(off - middle).max() > JITTER:
        middle = float(off.max() + off.min()) / 2
    origin = float(times[0]) + (middle - float(off[0])) * interval
    return _Fit(interval, origin, places - places[0], worst)


def _placed(times: Seconds, interval: float) -> tuple[Places, Seconds]:
    """Place of each row on a grid through the mean phase, and how far off it is, in intervals."""
    turns = (times - times[0]) / interval
    phase = np.angle(np.exp(2j * np.pi * turns).mean()) / (2 * np.pi)
    places = np.rint(turns - phase)
    return places.astype(np.int64), turns - phase - places


def _locked(times: Seconds, interval: float) -> _Fit | None:
    """A grid fitted by least squares to ever more rows, from a first guess of its interval."""
    for count in _doubling(len(times)):
        part = times[:count]
        places, _ = _placed(part, interval)
        if places[-1] == places[0]:
            return None
        slope = float(np.polyfit(places - places.mean(), part - part[0], 1)[0])
        if slope <= 0 or abs(slope / interval - 1) > 0.1 or _fitted(part, slope) is None:
            return None
        interval = slope
    return _fitted(times, interval)


def _doubling(length: int) -> Iterator[int]:
    count = FEWEST
    while count < length:
        yield count
        count *= 2
    yield length


def _first_off(times: Seconds, interval: float) -> OffGrid:
    """The first row that leaves the grid on which the file begins."""
    turns = (times - times[0]) / interval
    _, off = _placed(times[:FIRST_ROWS], interval)
    places = np.rint(turns + float(np.median(off)) - float(off[0]))
    residual = turns - places
    residual -= float(np.median(residual[:FIRST_ROWS]))
    astray = np.flatnonzero(np.abs(residual) > JITTER)
    twice = np.flatnonzero(np.diff(places) < 1) + 1
    if len(twice) and (not len(astray) or twice[0] <= astray[0]):
        return OffGrid(
            int(twice[0]),
            f"falls into the same interval of {interval:g} s as the row before it; keep one row "
            "per interval.",
        )
    if not len(astray):
        return OffGrid(
            len(times) - 1, "is the last of rows that keep no regular grid; put them on one."
        )
    index = int(astray[0])
    return OffGrid(
        index,
        f"is {abs(residual[index]) * interval:.3g} s off its place on the file's grid of "
        f"{interval:g} s; put the rows on a regular grid, each at most a quarter of the interval "
        "off.",
    )
