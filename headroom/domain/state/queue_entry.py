"""An entry in the queue of decisions that wait for a limit of the whole account to clear."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal

from headroom.domain.resources import LATER

MOST_MINUTES = 99_999


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEntry:
    """A queue entry. A stored one outlives the release that wrote it."""

    since: datetime
    starved_minutes: int = 0
    zone: str = ""
    not_before: datetime | None = None
    """It is skipped until then: until its change window opens or a retry is allowed."""
    counts: tuple[tuple[str, int], ...] = ()
    """What its change would use of AWS's regional quotas, see `quota_usage`."""
    slots_needed: int = 1
    """Concurrency slots it needs at once: one for each volume of its striped set."""
    saves: bool = False
    """Whether it only saves money: then it may not use the places that are kept for load."""
    for_places: bool = field(default=False, metadata=LATER)
    """Whether it waits for places, and for nothing else."""
    adds_usd: Decimal | None = field(default=None, metadata=LATER)
    """What it adds to the account's increases, if it waits for the budget: it is skipped until that is left."""

    @property
    def rank(self) -> str:
        """Text that sorts as the queue does: most starved minutes first, then longest waiting.

        Of those as starved, what only saves money comes last.
        """
        behind = MOST_MINUTES - min(max(self.starved_minutes, 0), MOST_MINUTES)
        last = "~" if self.saves else ""
        return f"{behind:05}{last}#{self.since.astimezone(UTC).isoformat(timespec='microseconds')}"

    def is_eligible(self, now: datetime) -> bool:
        """Whether it may be dequeued now."""
        return self.not_before is None or self.not_before <= now
