"""The instance that a volume is attached to, with the load of its other volumes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from headroom.domain.resources import InstanceLimits
from headroom.proving.physics.instances import BOUNDLESS
from headroom.proving.physics.other_load import OtherLoad
from headroom.proving.physics.queue import InstanceShare


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """The instance of a volume, and the load of its other volumes (IOPS and MiB/s).

    That load is constant, or as recorded in `others`.
    """

    limits: InstanceLimits
    other_iops: float = 0.0
    other_mibps: float = 0.0
    others: OtherLoad | None = None

    def other_load(self, minute: datetime) -> tuple[float, float]:
        """What the other volumes ask for in the minute that begins at `minute`."""
        if self.others is None:
            return self.other_iops, self.other_mibps
        return self.others.at(minute)

    @property
    def has_other_load(self) -> bool:
        """Whether a load of other volumes is given."""
        return self != Attachment(limits=self.limits)

    def share(self) -> InstanceShare | None:
        """The share of this volume, from full balances on; None if the instance never binds."""
        if self.limits == BOUNDLESS:
            return None
        return InstanceShare(self.limits, other_iops=self.other_iops, other_mibps=self.other_mibps)
