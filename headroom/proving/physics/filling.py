"""How a database's storage fills: used space grows until the storage is full."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

MINUTES_PER_HOUR = 60


@dataclass(slots=True, kw_only=True)
class Filling:
    """GiB used, and GiB that come every hour; negative where data is deleted."""

    used_gib: float
    gib_per_hour: float = 0.0
    earlier_gib: deque[float] = field(default_factory=lambda: deque(maxlen=MINUTES_PER_HOUR))
    """GiB used at the start of each minute of the last hour, oldest first."""

    @property
    def grown_gib(self) -> float:
        """GiB by which the data grew in the last hour, or since it is known; never negative."""
        if not self.earlier_gib:
            return 0.0
        return max(0.0, round(self.used_gib - self.earlier_gib[0], 6))

    def minute(self, size_gib: int) -> float:
        """Let a minute pass on storage of `size_gib`; the GiB that are free at its end."""
        self.earlier_gib.append(self.used_gib)
        used = self.used_gib + self.gib_per_hour / MINUTES_PER_HOUR
        self.used_gib = min(float(size_gib), max(0.0, used))
        return size_gib - self.used_gib
