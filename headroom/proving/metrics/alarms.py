"""The deployed alarms of one volume, evaluated every minute; an event only on a change of state.

The same thresholds as the template deploys: BurstBalance below 70 %, each Exceeded check at 1,
both in 2 of the last 3 minutes. Missing data never breaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from headroom.proving.metrics.published import PublishedVolume

LOW_BALANCE_PERCENT = 70.0
EVALUATED_MIN, BREACHING_MIN = 3, 2
CHECKS = ("iops_exceeded", "throughput_exceeded")
SERIES = ("burst_balance_percent", *CHECKS)


class VolumeAlarms:
    """State of the three alarms of one volume."""

    def __init__(self) -> None:
        self._alarmed: dict[str, bool] = {}
        self._seen: list[tuple[float | None, ...]] = []

    def raised(self, published: PublishedVolume, now: datetime) -> tuple[str, ...]:
        """Names of the alarms that went to ALARM at `now`."""
        seen = published.recent(SERIES, now, EVALUATED_MIN)
        if seen == self._seen:  # as in nearly every minute: no alarm changes
            return ()
        self._seen = seen
        return tuple([name for name, on in _breaching(*seen) if self._moves(name, on)])

    def _moves(self, name: str, breaching: bool) -> bool:
        before = self._alarmed.get(name, False)
        self._alarmed[name] = breaching
        return breaching and not before


def _breaching(
    balance: Sequence[float | None], *checks: Sequence[float | None]
) -> list[tuple[str, bool]]:
    low = [value for value in balance if value is not None and value < LOW_BALANCE_PERCENT]
    found = [("burst_balance", len(low) >= BREACHING_MIN)]
    for check, values in zip(CHECKS, checks, strict=True):
        reached = [value for value in values if value is not None and value >= 1]
        found.append((check, len(reached) >= BREACHING_MIN))
    return found
