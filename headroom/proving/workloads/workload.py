"""What an application asks of a volume over time, as stretches of constant load.

Seconds count from the workload's start; a stretch without a load was not measured.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import accumulate
from math import inf
from typing import Protocol

from headroom.domain.catalog.ebs import HDD_IO_BYTES, SSD_IO_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """What the operations of a load are like, and what each costs on average in EBS operations.

    EBS counts an operation per 256 KiB on SSD and per 1 MiB on HDD, at least one per I/O
    unless sequential I/O is merged. Source: EBS User Guide, "I/O characteristics".
    """

    read_share: float
    read_bytes: float
    write_bytes: float
    sequential: bool = False
    bytes_per_op: float = field(init=False)
    ssd_ops: float = field(init=False)
    hdd_ops: float = field(init=False)

    def __post_init__(self) -> None:
        put, share = object.__setattr__, self.read_share
        put(self, "bytes_per_op", share * self.read_bytes + (1 - share) * self.write_bytes)
        for name, unit in (("ssd_ops", SSD_IO_BYTES), ("hdd_ops", HDD_IO_BYTES)):
            least = 0.0 if self.sequential else 1.0
            cost = share * max(least, self.read_bytes / unit)
            put(self, name, cost + (1 - share) * max(least, self.write_bytes / unit))


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A constant load: open (`ops_per_s` arrive whatever happens) or a pool (`outstanding` > 0).

    A pool has `outstanding` workers. Each thinks for `think_s`, asks for one operation and waits
    for it; the operation takes `service_s` when nothing limits it.
    """

    ops_per_s: float
    mix: Mix
    outstanding: float = 0.0
    service_s: float = 0.0
    think_s: float = 0.0

    @property
    def free_rate(self) -> float:
        """Operations per second of a pool that nothing limits; 0 for an open load."""
        return self.outstanding / (self.service_s + self.think_s) if self.outstanding else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A stretch of constant load; `load` is None where nothing was measured."""

    start_s: float
    end_s: float
    load: Load | None


class Workload(Protocol):
    """A load over time, whatever it comes from."""

    @property
    def start(self) -> datetime:
        """The instant of second 0."""

    @property
    def duration_s(self) -> float:
        """Seconds from the start to the end of the last stretch."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed while reading it, a sentence each."""

    def segments(self, start_s: float, end_s: float) -> Sequence[Segment]:
        """The stretches between two instants, in order and cut to them."""

    def next_edge(self, second: float) -> float:
        """Where the stretch in force at `second` ends; infinite after the last."""


NO_MIX = Mix(read_share=1.0, read_bytes=0.0, write_bytes=0.0)
IDLE = Load(ops_per_s=0.0, mix=NO_MIX)
"""Nothing is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A load and how long it lasts."""

    duration_s: float
    load: Load


class Steps:
    """Loads one after the other."""

    def __init__(self, start: datetime, stretches: Sequence[Stretch]) -> None:
        self.start = start
        self.notes: tuple[str, ...] = ()
        self._loads = tuple(stretch.load for stretch in stretches)
        self._edges = (0.0, *accumulate(stretch.duration_s for stretch in stretches))

    @property
    def duration_s(self) -> float:
        """Seconds from the start to the end of the last step."""
        return self._edges[-1]

    def segments(self, start_s: float, end_s: float) -> Sequence[Segment]:
        """The steps between two instants, in order and cut to them."""
        found = []
        first = max(0, bisect_right(self._edges, start_s) - 1)
        for index in range(first, len(self._loads)):
            begin, end = max(self._edges[index], start_s), min(self._edges[index + 1], end_s)
            if begin >= end_s:
                break
            if end > begin:
                found.append(Segment(start_s=begin, end_s=end, load=self._loads[index]))
        return found

    def next_edge(self, second: float) -> float:
        """Where the step in force at `second` ends; infinite after the last."""
        place = bisect_right(self._edges, second)
        return self._edges[place] if place < len(self._edges) else inf


def open_load(
    *, iops: float, io_kib: float, read_fraction: float = 0.5, sequential: bool = False
) -> Load:
    """A load whose operations arrive at `iops` per second, each of `io_kib` KiB."""
    return Load(ops_per_s=iops, mix=_even(io_kib, read_fraction, sequential))


def closed_load(
    *,
    outstanding: float,
    io_kib: float,
    service_ms: float,
    think_ms: float = 0.0,
    read_fraction: float = 0.5,
    sequential: bool = False,
) -> Load:
    """A pool of `outstanding` workers: operations take `service_ms` if nothing limits them."""
    return Load(
        ops_per_s=0.0,
        mix=_even(io_kib, read_fraction, sequential),
        outstanding=outstanding,
        service_s=service_ms / 1000,
        think_s=think_ms / 1000,
    )


def minute_floor(instant: datetime) -> datetime:
    """The start of the clock minute that `instant` lies in."""
    return instant - timedelta(seconds=instant.second, microseconds=instant.microsecond)


def _even(io_kib: float, read_fraction: float, sequential: bool) -> Mix:
    size = io_kib * 1024
    return Mix(read_share=read_fraction, read_bytes=size, write_bytes=size, sequential=sequential)
