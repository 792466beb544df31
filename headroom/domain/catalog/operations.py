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


def served(
    reads: float | None, read_mibps: float | None, writes: float | None, write_mibps: float | None,
    io_bytes: int,
) -> Served | None:  # fmt: skip
    """Reads and writes of one period, in operations/s and MiB/s; None where neither was published.

    Each direction counts separately: a read of 1 MiB and a write of 4 KiB are 4 operations and 1.
    """
    if reads is None and writes is None:
        return None
    if reads is None or read_mibps is None or writes is None or write_mibps is None:
        read_bytes = reads is not None and read_mibps is not None
        write_bytes = writes is not None and write_mibps is not None
        reads, read_mibps = (0.0, 0.0) if reads is None else (reads, read_mibps or 0.0)
        writes, write_mibps = (0.0, 0.0) if writes is None else (writes, write_mibps or 0.0)
        bytes_known, whole = read_bytes or write_bytes, read_bytes and write_bytes
    else:
        bytes_known = whole = True
    mibps = read_mibps + write_mibps
    least = mibps * MIB / io_bytes
    most = _unmerged(reads, read_mibps, writes, write_mibps, io_bytes)
    ssd_least, ssd_most = least, most
    if io_bytes != SSD_IO_BYTES:
        ssd_least = mibps * MIB / SSD_IO_BYTES
        ssd_most = _unmerged(reads, read_mibps, writes, write_mibps, SSD_IO_BYTES)
    return tuple.__new__(  # asked for every minute: a third of the time of the class's own way
        Served, (reads + writes, mibps, least, most, ssd_least, ssd_most, bytes_known, whole)
    )


def _unmerged(
    reads: float, read_mibps: float, writes: float, write_mibps: float, io_bytes: int
) -> float:
    """EBS operations/s if none were merged."""
    read_ios, write_ios = read_mibps * MIB / io_bytes, write_mibps * MIB / io_bytes
    return (read_ios if read_ios > reads else reads) + (write_ios if write_ios > writes else writes)


def merged(one: Served, iops_limit: float) -> bool:
    """Whether operations were merged: more were served than the limit permits unmerged."""
    return one.bytes_known and one.most_ops > ABOVE * iops_limit


def same_io_size(one: Served, other: Served) -> bool:
    """Whether both have I/O of about one size."""
    a, b = one.io_bytes, other.io_bytes
    return min(a, b) > 0 and max(a, b) <= ALIKE * min(a, b)
