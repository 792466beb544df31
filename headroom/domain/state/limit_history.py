"""Limits at an instant: which limits of a volume were in force, by the known modifications."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from headroom.domain.catalog.ebs import SSD_IO_BYTES, capability
from headroom.domain.resources import Observation
from headroom.domain.state.resource_state import MODIFICATION_RETENTION, KnownModification

LANDING_S = 3_600.0
"""How long after its start a change may be landing; the load then shows which limit binds."""
DAY_S, LEAST_MIBPS, MERGED_PER_MIB = 86_400.0, 125.0, 4.0
STILL_BELOW = 1.02
ABOVE = 1.02
"""Operations this far above every limit of the time prove that they were merged."""


class LimitHistory:
    """Which limits were in force when, as far as modifications are known."""

    def __init__(self, observation: Observation, known: Sequence[KnownModification]) -> None:
        changes = [(m.started_at, m.origin, m.target) for m in known]
        latest = observation.modification
        if latest is not None and all(
            abs((at - latest.started_at).total_seconds()) > 1 for at, _, _ in changes
        ):
            changes.append((latest.started_at, latest.origin, latest.target))
        dated = sorted((at.timestamp(), origin, to) for at, origin, to in changes if to is not None)
        first = next((origin for _, origin, _ in dated if origin is not None), None)
        self._starts = [at for at, _, _ in dated]
        self._can = [capability(first or observation.volume.configuration)]
        self._can += [capability(to) for _, _, to in dated if to is not None]
        self._fewest = min(c.burst_iops for c in self._can)
        instance = observation.instance
        self._instance = None if instance is None else instance.limits
        self.certain_from = float("-inf")
        """Earlier (POSIX timestamp) a modification may have been forgotten."""
        if self._starts:
            remembered = (observation.at - MODIFICATION_RETENTION).timestamp()
            self.certain_from = min(self._starts[0], remembered)

    @property
    def ssd(self) -> bool:
        """Whether all configurations are SSDs."""
        return all(can.io_bytes == SSD_IO_BYTES for can in self._can)

    def before_instance(self, limit: float, *, of_iops: bool) -> bool:
        """Whether a limit of IOPS, else of MiB/s, binds before the instance does, where that one is known."""
        limits = self._instance
        if limits is None:
            return True
        return limit <= (limits.baseline_iops if of_iops else limits.baseline_mibps)

    @property
    def lowest(self) -> tuple[float, float]:
        """The lowest sustained IOPS and MiB/s of all configurations."""
        return min(c.sustained_iops for c in self._can), min(c.sustained_mibps for c in self._can)

    def at(self, at: float, took: tuple[float, float], *, empty: bool) -> tuple[float, float]:
        """IOPS and MiB/s that were possible at a POSIX timestamp; with an empty bucket if `empty`.

        While a change lands, the lower of both limits, unless more was served than one of them permits.
        IOPS and throughput of a change take effect together.
        """
        number = bisect_right(self._starts, at)
        now = self._of(number, empty)
        if not number or at - self._starts[number - 1] >= LANDING_S:
            return now
        before = self._of(number - 1, empty)
        if permits(now, took) != permits(before, took):
            return now if permits(now, took) else before
        choose = min if permits(now, took) else max
        return choose(before[0], now[0]), choose(before[1], now[1])

    def counted(self, at: float, iops: float, mibps: float) -> float:
        """The operations that EBS counted at a POSIX timestamp: merged ones where more were served than possible.

        Small sequential ones were merged then to 256 KiB. Earlier than a day before the first known change
        it may have been another configuration: then only where the MiB/s need what this one has beyond gp3's
        least, and no more.
        """
        if iops <= ABOVE * self._fewest:
            return iops
        number = bisect_right(self._starts, at)
        around = self._can[max(0, number - 1) : number + 2]
        if not self._starts or at < self._starts[0] - DAY_S:
            around = self._can[:1]
            if not ABOVE * LEAST_MIBPS < mibps <= ABOVE * around[0].burst_mibps:
                return iops
        most = max(can.burst_iops for can in around)
        ssd = all(can.io_bytes == SSD_IO_BYTES for can in around)
        return MERGED_PER_MIB * mibps if ssd and iops > ABOVE * most else iops

    def _of(self, number: int, empty: bool) -> tuple[float, float]:
        can = self._can[number]
        if empty:
            return can.sustained_iops, can.sustained_mibps
        return can.burst_iops, can.burst_mibps


def permits(limits: tuple[float, float], took: tuple[float, float]) -> bool:
    """Whether these limits let `took` through."""
    return took[0] <= limits[0] * STILL_BELOW and took[1] <= limits[1] * STILL_BELOW
