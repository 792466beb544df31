"""What the other volumes of an instance take from it, minute by minute."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherLoad:
    """IOPS and MiB/s of the volumes `volume_ids` together, by the minute from `start` on.

    Outside these minutes they are idle.
    """

    start: datetime
    iops: tuple[float, ...]
    mibps: tuple[float, ...]
    volume_ids: tuple[str, ...]

    def at(self, minute: datetime) -> tuple[float, float]:
        """The rates in the minute that begins at `minute`."""
        place = (minute - self.start) // MINUTE
        if not 0 <= place < len(self.iops):
            return 0.0, 0.0
        return self.iops[place], self.mibps[place]
