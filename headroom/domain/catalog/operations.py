"""How EBS counts operations: large I/O is split, small sequential I/O is merged.

Source: EBS User Guide, "I/O characteristics and monitoring" (checked 2026-10): SSD counts one per
256 KiB, HDD one per 1,024 KiB; CloudWatch reports operations and bytes, but not the counted operations.
"""

from __future__ import annotations

from typing import NamedTuple

from headroom.domain.catalog.ebs import MIB, SSD_IO_BYTES

ABOVE = 1.02
"""A served rate this far above the limit on operations proves that operations were merged."""
ALIKE = 1.25
"""I/O sizes within this ratio count as the same kind of I/O."""


class Direction(NamedTuple):
    """Operations/s and MiB/s of reads or of writes; None where nothing was published."""

    ops: float | None
    mibps: float | None


class Served(NamedTuple):
    """Reads and writes together; unknown parts count as zero.

    `least_ops` is the EBS operations/s if everything was merged, `most_ops` if nothing was,
    `ssd_most_ops` the same as an SSD volume would count it.
    """

    ops: float
    mibps: float
    least_ops: float
    most_ops: float
    ssd_least_ops: float
    ssd_most_ops: float
    bytes_known: bool
    whole: bool
    """Whether both directions were published, each with its bytes."""

    @property
    def io_bytes(self) -> float:
        """Mean bytes per operation, 0 where either is unknown."""
        return self.mibps * MIB / self.ops if self.ops else 0.0


def served(reads: Direction, writes: Direction, io_bytes: int) -> Served | None:
    """Both directions of one period together; None when neither has operations published.

    Each direction counts separately: a read of 1 MiB and a write of 4 KiB are 4 operations and 1.
    """
    known = [d for d in (reads, writes) if d.ops is not None]
    if not known:
        return None
    mibps = sum(d.mibps or 0.0 for d in known)
    return Served(
        ops=sum(d.ops or 0.0 for d in known),
        mibps=mibps,
        least_ops=mibps * MIB / io_bytes,
        most_ops=sum(_split(d, io_bytes) for d in known),
        ssd_least_ops=mibps * MIB / SSD_IO_BYTES,
        ssd_most_ops=sum(_split(d, SSD_IO_BYTES) for d in known),
        bytes_known=any(d.mibps is not None for d in known),
        whole=len(known) == 2 and all(d.mibps is not None for d in known),
    )


def _split(direction: Direction, io_bytes: int) -> float:
    return max(direction.ops or 0.0, (direction.mibps or 0.0) * MIB / io_bytes)


def merged(one: Served, iops_limit: float) -> bool:
    """Whether operations were merged: more were served than the limit permits unmerged."""
    return one.bytes_known and one.most_ops > ABOVE * iops_limit


def same_io_size(one: Served, other: Served) -> bool:
    """Whether both have I/O of about one size."""
    a, b = one.io_bytes, other.io_bytes
    return min(a, b) > 0 and max(a, b) <= ALIKE * min(a, b)
