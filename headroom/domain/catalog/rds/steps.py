"""Steps from one configuration to the next that RDS takes: how small they may be, and why it refuses."""

from __future__ import annotations

from dataclasses import replace

from headroom.domain.catalog.rds.limits import why_invalid
from headroom.domain.resources import Configuration, Engine, Span, ValidStorage, VolumeType

GROWS_FREELY = (Engine.SQL_SERVER,)
"""Engines whose storage may grow by less than a tenth."""
RAISES_IOPS_FREELY = (Engine.SQL_SERVER, Engine.DB2)
"""Engines whose IOPS may be raised by less than a tenth."""


def full_copy(origin: Configuration, target: Configuration) -> bool:
    """Whether RDS copies all data for the change, which takes hours and cannot be undone.

    It does if the size crosses the striping threshold, and if the change leaves magnetic storage.
    """
    if origin.database is None or target.database is None:
        return False
    magnetic = VolumeType.STANDARD
    if origin.volume_type is magnetic and target.volume_type is not magnetic:
        return True
    before = origin.database.stripes(origin.size_gib)
    return target.database.stripes(target.size_gib) != before


def why_refused(
    origin: Configuration, target: Configuration, valid: tuple[ValidStorage, ...] = ()
) -> str | None:
    """One sentence on why one change cannot lead from `origin` to `target`, or None if it can.

    That includes a raise by less than a tenth, which RDS would round up.
    """
    if origin.database != target.database:
        return "a change of storage changes neither the engine nor the deployment"
    if target.size_gib < origin.size_gib:
        return f"storage never shrinks from {origin.size_gib} to {target.size_gib} GiB"
    least = least_size(origin, target.size_gib)
    if least > target.size_gib:
        return f"from {origin.size_gib} GiB storage grows to {least} GiB or more, not less"
    if (target.iops or 0) < least_iops(origin, target.iops or 0):
        return (
            f"from {origin.iops} IOPS the next are {least_iops(origin, target.iops or 0)} or more"
        )
    kept = (target.volume_type, target.size_gib) == (origin.volume_type, origin.size_gib)
    return why_invalid(target, _with_size(valid, origin) if kept else valid)


def _with_size(valid: tuple[ValidStorage, ...], origin: Configuration) -> tuple[ValidStorage, ...]:
    """AWS reports the sizes to grow to; the current size is always valid."""
    size = origin.size_gib
    return tuple(
        replace(reported, size_gib=(*reported.size_gib, Span(low=size, high=size)))
        if reported.volume_type is origin.volume_type and reported.size_gib
        else reported
        for reported in valid
    )


def least_size(origin: Configuration, wanted_gib: int) -> int:
    """The least size that one change leads to from `origin` where `wanted_gib` is wanted."""
    size = origin.size_gib
    if wanted_gib <= size or (origin.database and origin.database.engine in GROWS_FREELY):
        return max(size, wanted_gib)
    return max(wanted_gib, -(-11 * size // 10))


def least_iops(origin: Configuration, wanted: int) -> int:
    """The least IOPS that one change leads to from `origin` where `wanted` are wanted."""
    now, database = origin.iops, origin.database
    if now is None or wanted <= now or (database and database.engine in RAISES_IOPS_FREELY):
        return wanted
    return max(wanted, -(-11 * now // 10))
