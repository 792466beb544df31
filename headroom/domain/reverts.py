"""Whether somebody put back what Headroom changed: then it waits, and does not fight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from headroom.domain.catalogue import capability
from headroom.domain.resources import Configuration
from headroom.domain.standing import KnownModification
from headroom.domain.way_back import OURS


@dataclass(frozen=True, slots=True, kw_only=True)
class Revert:
    """Our latest change and what somebody else made of it since."""

    at: datetime
    """When the other change started."""
    ours: Configuration
    """What we had made of the volume."""
    theirs: Configuration
    """What the other change made of it."""
    lowered: bool
    """Whether it took away what we had raised; the other way round it gave back what we took."""


def reverted(modifications: Sequence[KnownModification]) -> Revert | None:
    """The last change by somebody else if it undoes, in whole or in part, our latest one.

    Undone is what moves IOPS or throughput back the way we had moved them from; a rollback counts,
    somebody wanted it. Whoever then goes our way again, by code or by hand, has answered: nothing
    is undone any more.
    """
    known = sorted(modifications, key=lambda m: m.started_at)
    last_ours = max((i for i, m in enumerate(known) if m.by == OURS), default=None)
    if last_ours is None or last_ours == len(known) - 1:
        return None
    ours, theirs = known[last_ours], known[-1]
    if ours.origin is None or ours.target is None or theirs.target is None:
        return None
    before, made, now = (_reach(c) for c in (ours.origin, ours.target, theirs.target))
    moved = [
        (now_one - made_one) * (made_one - before_one) < 0
        for before_one, made_one, now_one in zip(before, made, now, strict=True)
    ]
    if not any(moved):
        return None
    lowered = any(n < m for n, m, undone in zip(now, made, moved, strict=True) if undone)
    return Revert(at=theirs.started_at, ours=ours.target, theirs=theirs.target, lowered=lowered)


def _reach(configuration: Configuration) -> tuple[float, float]:
    """Sustained IOPS and MiB/s."""
    can = capability(configuration)
    return can.sustained_iops, can.sustained_mibps
