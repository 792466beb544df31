"""Load that arrived faster than it was served: the same operations in order, earlier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from headroom.proving.workloads import Bools, Floats


@dataclass(frozen=True, slots=True)
class TimeShift:
    """Steps `first` to `last` of the past came faster than they were served for a while.

    If `burst` is 0: share `front` of it at `front_pace` times its rate, the rest at `pace` times,
    then nothing more came. Else at `pace` for `burst` steps, then the rest evenly.
    """

    first: int
    last: int
    pace: float
    front: float = 0.0
    front_pace: float = 1.0
    burst: int = 0

    def places(self) -> Floats:
        """For every edge of the stretch, the place in the past up to which load had come."""
        edges = np.arange(self.last - self.first + 1, dtype=np.float64)
        last = float(edges[-1])
        if self.burst:
            done = self.burst * self.pace
            instants = [0.0, float(self.burst), last]
            come = [0.0, done, last]
        else:
            front = last * self.front
            turn = front / self.front_pace
            instants = [0.0, turn, turn + (last - front) / self.pace, last]
            come = [0.0, front, last, last]
        return np.interp(edges, instants, come) + self.first


def time_shifted(columns: Sequence[Floats], runs: Sequence[TimeShift]) -> list[Floats]:
    """The columns with every run moved to its pace; totals stay."""
    if not runs:
        return list(columns)
    edges = np.arange(len(columns[0]) + 1, dtype=np.float64)
    places = edges.copy()
    for run in runs:
        places[run.first : run.last + 1] = run.places()
    found = []
    for column in columns:
        total = np.concatenate(([0.0], np.cumsum(np.nan_to_num(column))))
        faster = np.maximum(0.0, np.diff(np.interp(places, edges, total)))
        found.append(np.where(np.isnan(column), np.nan, faster))
    return found


def spans(flags: Bools) -> Iterator[tuple[int, int]]:
    """Runs of True as (first, one past the last)."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False])).astype(np.int8)))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
