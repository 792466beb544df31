"""The candidate configurations of the oracle: levels of IOPS and MiB/s that some minute needs.

Every level stands for a cell of configurations: none of them serves more than the level does,
and none costs less than its least one. A schedule is made of the levels themselves; a bound
counts them at the least price, so that it holds for the configurations between them too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil

import numpy as np

from headroom.domain.catalog import SECONDS_PER_MONTH
from headroom.domain.catalog.ebs import LIMITS, capability, max_iops
from headroom.domain.planning import step_of
from headroom.domain.resources import Configuration, VolumeType
from headroom.proving.oracle.demand import KnownDemand, ReachableRates, reachable_rates
from headroom.proving.trials import Conditions, within
from headroom.proving.workloads import Bools, Floats

MINUTES_PER_MONTH = SECONDS_PER_MONTH / 60
IO2_MIBPS_PER_IOPS = 0.256
GP3_IOPS, GP3_MIBPS = 3_000, 125


@dataclass(frozen=True, slots=True)
class Cell:
    """Configurations of one type and size between least and most IOPS and MiB/s, both included.

    `mibps` is (0, 0) where the type derives it.
    """

    kind: VolumeType
    size_gib: int
    iops: tuple[int, int]
    mibps: tuple[int, int] = (0, 0)

    @classmethod
    def of(cls, configuration: Configuration) -> Cell:
        """The cell of `configuration` alone."""
        iops, mibps = configuration.iops or 0, configuration.throughput_mibps or 0
        ends = (iops, iops), (mibps, mibps)
        return cls(configuration.volume_type, configuration.size_gib, *ends)

    @property
    def level(self) -> Configuration:
        """The most of them."""
        return self._corner(1)

    @property
    def least(self) -> Configuration:
        """The cheapest of them."""
        return self._corner(0)

    @property
    def reach(self) -> ReachableRates:
        """What the level sustains."""
        return reachable_rates(self.level)

    def with_side(self, name: str, ends: tuple[int, int]) -> Cell:
        """The same with other ends of `iops` or `mibps`."""
        return replace(self, iops=ends) if name == "iops" else replace(self, mibps=ends)

    def _corner(self, end: int) -> Configuration:
        gp3, iops, mibps = self.kind is VolumeType.GP3, self.iops[end], self.mibps[end]
        return Configuration(
            volume_type=self.kind,
            size_gib=self.size_gib,
            iops=max(iops, 4 * mibps) if gp3 else iops,
            throughput_mibps=mibps if gp3 else None,
        )


class Choice:
    """The candidates for one volume under one policy and load series."""

    def __init__(
        self, load: KnownDemand, savable: Bools, start: Configuration, conditions: Conditions
    ) -> None:
        self.load, self.start, self.conditions = load, start, conditions
        self._limits = conditions.policy.defaults
        self._start_usd = conditions.monthly(start)
        self._room = self._start_usd + float(self._limits.price_increase_usd)
        size, gp3 = start.size_gib, LIMITS[VolumeType.GP3].throughput_mibps
        assert gp3 is not None
        most = min(self._limits.max_iops, max_iops(VolumeType.GP3, size))
        self._most = most, min(self._limits.max_throughput_mibps, most // 4, gp3[1])
        iops, mibps = load.needed()
        asked = savable & ((iops > GP3_IOPS) | (mibps > GP3_MIBPS))
        self._asked: tuple[Floats, Floats] = iops[asked], mibps[asked]
        loaded = load.ebs > 0
        ratio = load.mib[loaded] / load.ebs[loaded]
        self._ratios = (float(ratio.min()), float(ratio.max())) if ratio.size else (0.0, 0.0)
        self._prices: dict[Configuration, float] = {}

    def spread(self, count: int) -> list[Cell]:
        """Cells that end at about `count` of the IOPS and of the MiB/s that some minute asks for."""
        cells: list[Cell] = []
        size = self.start.size_gib
        iops, mibps = self._asked
        if VolumeType.GP3 in self._limits.types:
            sides = [
                _between(self._lines(asked, count, least, most))
                for asked, least, most in zip(
                    self._asked, (GP3_IOPS, GP3_MIBPS), self._most, strict=True
                )
            ]
            cells += [Cell(VolumeType.GP3, size, i, m) for i in sides[0] for m in sides[1]]
        if VolumeType.IO2 in self._limits.types:
            asked = np.maximum(iops, mibps / IO2_MIBPS_PER_IOPS)
            lines = self._lines(asked, count, *self._io2_ends())
            cells += [Cell(VolumeType.IO2, size, side) for side in _between(lines)]
        return self.worthwhile(cells)

    def worthwhile(self, cells: Iterable[Cell]) -> list[Cell]:
        """Those of `cells` that the owner's limits pay for and no other one outdoes, cheapest first."""
        found = [c for c in cells if self.conditions.monthly(c.least) <= self._room]
        gp3 = [cell.least for cell in found if cell.kind is VolumeType.GP3]
        farthest = ReachableRates(
            max((each.iops or 0 for each in gp3), default=0),
            max((each.throughput_mibps or 0 for each in gp3), default=0),
        )
        kept: list[Cell] = []
        for cell in sorted(found, key=lambda cell: (self.price(cell.least), cell.iops, cell.mibps)):
            if not any(self._outdoes(other, cell, farthest) for other in kept):
                kept.append(cell)
        return kept

    def split(self, cell: Cell, asked: tuple[Floats, Floats]) -> list[Cell]:
        """`cell` cut along the more valuable side, at the median of what is `asked` of it.

        Cut in halves where nothing is asked; by itself if it is a single configuration.
        """
        sides = []
        for name, side, needs in zip(
            ("iops", "mibps"), (cell.iops, cell.mibps), asked, strict=True
        ):
            if side[0] >= side[1]:
                continue
            needs = np.sort(needs[(needs > side[0]) & (needs <= side[1])])
            at = ceil(needs[len(needs) // 2]) if needs.size else sum(side) // 2
            ends = {side[0] - 1, at, side[1]}
            if needs.size and ceil(needs[-1]) == at:
                ends.add(at - 1)
            parts = [cell.with_side(name, (a + 1, b)) for a, b in pairwise(sorted(ends))]
            value = self.price(cell.with_side(name, (at, at)).level) - self.price(cell.least)
            sides.append((value, name, parts))
        if not sides:
            return [cell]
        return max(sides, key=lambda each: each[:2])[2]

    def cut_by_step(
        self, cells: Sequence[Cell], origin: Configuration, target: Configuration
    ) -> list[Cell]:
        """`cells` with that of `target` cut where one step from `origin` ends, if it ends inside."""
        can, step = capability(origin), self._limits.largest_step
        ends = (
            ("iops", int(step * max(can.burst_iops, GP3_IOPS))),
            ("mibps", int(step * max(can.burst_mibps, GP3_MIBPS))),
        )
        for name, end in ends:
            found: list[Cell] = []
            for cell in cells:
                low, high = getattr(cell, name)
                inside = cell.kind is VolumeType.GP3 and _holds(cell, target) and low <= end < high
                sides = ((low, end), (end + 1, high)) if inside else ((low, high),)
                found += [cell.with_side(name, side) for side in sides]
            cells = found
        return list(cells)

    def beyond(self, cells: Sequence[Cell]) -> list[Cell]:
        """What this start can pay for of io2 above `cells`."""
        most = max((c.iops[1] for c in cells if c.kind is VolumeType.IO2), default=0)
        end = self._io2_ends()[1]
        if not most or most >= end:
            return []
        return [Cell(VolumeType.IO2, self.start.size_gib, (most + 1, end))]

    def price(self, configuration: Configuration) -> float:
        """USD per minute."""
        if configuration not in self._prices:
            monthly = self.conditions.monthly(configuration)
            self._prices[configuration] = monthly / MINUTES_PER_MONTH
        return self._prices[configuration]

    def steps(self, origins: Sequence[Configuration], targets: Sequence[Configuration]) -> Bools:
        """Whether one change may be as large as from each origin to each target."""
        most = self._limits.largest_step + 1e-9
        return np.array([[step_of(o, t) <= most for t in targets] for o in origins], dtype=bool)

    def really(self, origins: Sequence[Configuration], targets: Sequence[Configuration]) -> Bools:
        """Whether the guardrails let exactly the target through."""
        return np.array(
            [
                [within(self.conditions, o, self._start_usd, t) == t for t in targets]
                for o in origins
            ],
            dtype=bool,
        )

    def _lines(self, asked: Floats, count: int, least: int, most: int) -> list[int]:
        """`count` lines from `least` to `most`, denser below, each at the largest `asked` up to it.

        One more is the least from where one step leads to the largest.
        """
        spaced = least + (most - least) * np.linspace(0, 1, count) ** 1.5
        known = np.unique(np.ceil(asked[(asked > least) & (asked < most)]))
        places = np.searchsorted(known, spaced, side="right") - 1
        stone = ceil(min(most, asked.max(initial=0.0)) / self._limits.largest_step)
        lines = {least, most, *known[places[places >= 0]].astype(int).tolist()}
        return sorted(lines | {stone} if stone > least else lines)

    def _io2_ends(self) -> tuple[int, int]:
        """The least io2 that is useful beside gp3, and the most that the owner's limits pay for."""
        high = min(self._limits.max_iops, max_iops(VolumeType.IO2, self.start.size_gib))
        low = min(GP3_IOPS, high) if VolumeType.GP3 in self._limits.types else 100
        least, most = low, high
        while most > least:
            middle = (least + most + 1) // 2
            cell = Cell(VolumeType.IO2, self.start.size_gib, (middle, middle))
            fits = self.conditions.monthly(cell.level) <= self._room
            least, most = (middle, most) if fits else (least, middle - 1)
        return low, least

    def _outdoes(self, one: Cell, other: Cell, farthest: ReachableRates) -> bool:
        """Whether `one` serves every step as fast, costs no more, and is as easy to come to and go from.

        `farthest` is the most that any cell begins with.
        """
        if self.price(one.level) > self.price(other.level):
            return False
        a, b, step = one.reach, other.reach, self._limits.largest_step
        if a.iops < min(b.iops, farthest.iops / step):
            return False
        if a.mibps < min(b.mibps, farthest.mibps / step):
            return False
        base = Cell(VolumeType.GP3, one.size_gib, (GP3_IOPS, GP3_IOPS), (GP3_MIBPS, GP3_MIBPS))
        if step_of(base.level, one.level) > max(step, step_of(base.level, other.least)):
            return False
        low, high = self._ratios
        return all(
            max(1 / a.iops, r / a.mibps) <= max(1 / b.iops, r / b.mibps) * (1 + 1e-12)
            for r in (low, high, a.mibps / a.iops, b.mibps / b.iops)
            if low <= r <= high
        )


def _holds(cell: Cell, target: Configuration) -> bool:
    iops, mibps = target.iops or 0, target.throughput_mibps or 0
    least = max(cell.iops[0], 4 * cell.mibps[0])
    return (
        least <= iops <= max(cell.iops[1], 4 * cell.mibps[1])
        and cell.mibps[0] <= mibps <= cell.mibps[1]
    )


def _between(lines: Sequence[int]) -> list[tuple[int, int]]:
    """The first line by itself, then what lies above each line up to the next."""
    return [(lines[0], lines[0]), *((low + 1, high) for low, high in pairwise(lines))]
