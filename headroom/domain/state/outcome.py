"""What became of an intent: wanting and having done are different types."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from headroom.domain.resources import LATER, Configuration


class Refusal(StrEnum):
    """Why AWS (or we, looking again) did not do it."""

    SLOTS = "slots"
    """Four modifications in 24 hours are used up."""
    IN_FLIGHT = "in_flight"
    REGION_QUOTA = "region_quota"
    GATE = "gate"
    """An Aurora cluster was made I/O-Optimized within 30 days: AWS takes that once in this time."""
    INVALID = "invalid"
    """AWS calls the request wrong: our mistake."""
    GONE = "gone"
    DENIED = "denied"
    UNSUPPORTED = "unsupported"
    THROTTLED = "throttled"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """AWS accepted the change and started it at `started_at`."""

    started_at: datetime
    detail: str = field(default="", metadata=LATER)
    """What else came of the call that nobody planned; empty for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlreadyThere:
    """The volume already had the target; nothing was sent, no slot was used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """The world is no longer the one the decision saw; nothing was sent."""

    expected: Configuration
    found: Configuration
    detail: str


NOT_SENT = "NotSent"
"""The code of what was refused by ourselves, looking again: AWS was not asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """AWS said no, for certain. `retry_at` is the instant its message names, None if none."""

    refusal: Refusal
    code: str
    message: str
    retry_at: datetime | None

    @property
    def cause(self) -> str:
        """What the owner is told of once per episode, beside the causes of escalations."""
        return f"refused:{self.refusal.value}"


def declined(refusal: Refusal, message: str) -> Refused:
    """A refusal of our own, before anything was sent."""
    return Refused(refusal=refusal, code=NOT_SENT, message=message, retry_at=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """No answer, or one that does not tell; only a later look at AWS resolves it."""

    detail: str


Outcome = Applied | AlreadyThere | Stale | Refused | Unknown
