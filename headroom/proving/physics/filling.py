"""How a database's storage fills: used space grows until the storage is full."""

from __future__ import annotations

from dataclasses import dataclass

MINUTES_PER_HOUR = 60


@dataclass(slots=True, kw_only=True)
class Filling:
    """GiB used, and GiB that come every hour; negative where data is deleted."""

    used_gib: float
    gib_per_hour: float = 0.0

    def minute(self, size_gib: int) -> float:
        """Let a minute pass on storage of `size_gib`; the GiB that are free at its end."""
        used = self.used_gib + self.gib_per_hour / MINUTES_PER_HOUR
        self.used_gib = min(float(size_gib), max(0.0, used))
        return size_gib - self.used_gib
