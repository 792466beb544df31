"""What raises of one volume add to the load on its instance, as its other volumes meet it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil

import numpy as np

from headroom.domain.catalog.ebs import capability
from headroom.domain.resources import Configuration, ResourceRef
from headroom.domain.state import InFlight
from headroom.proving.physics import OtherLoad
from headroom.proving.simulation import ACCOUNT
from headroom.proving.workloads import Floats

MINUTE = timedelta(minutes=1)
Raise = tuple[datetime, Configuration, Configuration]
"""When, and from what to what."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AddedLoad:
    """IOPS and MiB/s that are served beyond those of the past, by the minute from `start` on.

    They are negative where work is done by then that was still being done.
    """

    start: datetime
    iops: Floats
    mibps: Floats
    raises: tuple[InFlight, ...] = ()

    def plus(self, other: AddedLoad | None) -> AddedLoad:
        """Both together; `other` begins at the same minute."""
        if other is None:
            return self
        return AddedLoad(
            start=self.start, iops=_sum(self.iops, other.iops),
            mibps=_sum(self.mibps, other.mibps), raises=self.raises + other.raises,
        )  # fmt: skip

    def onto(self, others: OtherLoad) -> OtherLoad:
        """What the other volumes take in the minutes of `others`, with this added."""
        place = (self.start - others.start) // MINUTE
        early, place = max(0, -place), max(0, place)
        columns = []
        for before, added in ((others.iops, self.iops), (others.mibps, self.mibps)):
            column = np.array(before)
            known = added[early : early + max(0, len(column) - place)]
            column[place : place + len(known)] += known
            columns.append(tuple(np.maximum(0.0, column).tolist()))
        return replace(others, iops=columns[0], mibps=columns[1])


def added_load(
    ref: ResourceRef, start: datetime, before: tuple[Floats, Floats], after: tuple[Floats, Floats],
    changes: Sequence[Raise],
) -> AddedLoad:  # fmt: skip
    """What a volume that served `before` (IOPS and MiB/s by the minute) adds if it serves `after`."""
    return AddedLoad(
        start=start, iops=np.nan_to_num(after[0] - before[0]),
        mibps=np.nan_to_num(after[1] - before[1]), raises=tuple(_raises(ref, changes)),
    )  # fmt: skip


def _raises(ref: ResourceRef, changes: Sequence[Raise]) -> list[InFlight]:
    found = []
    for number, (at, origin, target) in enumerate(changes):
        now, then = capability(origin), capability(target)
        iops, mibps = (
            then.sustained_iops - now.sustained_iops,
            then.sustained_mibps - now.sustained_mibps,
        )
        if max(iops, mibps) > 0:
            found.append(InFlight(
                resource=replace(ref, account_id=ACCOUNT).arn, since=at, zone="",
                decision_id=f"{ref.resource_id}/{number}", adds_iops=max(0, ceil(iops)),
                adds_mibps=max(0, ceil(mibps)),
            ))  # fmt: skip
    return found


def _sum(one: Floats, other: Floats) -> Floats:
    if len(one) < len(other):
        one, other = other, one
    return one + np.pad(other, (0, len(one) - len(other)))
