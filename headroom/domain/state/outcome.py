"""The outcome of an intent, a different type from the decision."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from headroom.domain.resources import LATER, Configuration


class Refusal(StrEnum):
    """Why AWS, or Headroom checking again just before the call, refused the change."""

    SLOTS = "slots"
    """Four modifications in 24 hours are used up."""
    IN_FLIGHT = "in_flight"
    REGION_QUOTA = "region_quota"
    GATE = "gate"
    """An Aurora cluster may become I/O-Optimized once in 30 days."""
    INVALID = "invalid"
    """AWS rejects the request as wrong: a bug in Headroom."""
    GONE = "gone"
    DENIED = "denied"
    UNSUPPORTED = "unsupported"
    FILE_SYSTEM = "file_system"
    """The file system on a volume could not follow its growth: the volume itself may be changed."""
    THROTTLED = "throttled"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """AWS accepted the change and started it at `started_at`."""

    started_at: datetime
    detail: str = field(default="", metadata=LATER)
    """Unplanned side effects of the call; empty for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlreadyThere:
    """The volume already had the target; nothing was sent, no slot was used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """The resource changed since the decision; nothing was sent."""

    expected: Configuration
    found: Configuration
    detail: str


TRANSIENT = frozenset({Refusal.SLOTS, Refusal.IN_FLIGHT, Refusal.THROTTLED})
"""Refusals after which an approval stands: they say nothing against the change."""
BRIEF = frozenset({Refusal.IN_FLIGHT, Refusal.THROTTLED})
"""Refusals that mostly clear within minutes: people need not hear of them before they last."""
IN_A_ROW = timedelta(hours=1)
"""The longest time between two refusals in a row."""
NOT_SENT = "NotSent"
"""The code of a refusal by Headroom itself: nothing was sent to AWS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """AWS certainly refused. `retry_at` is the instant that its message names, or when a file system may be
    asked again; None if none."""

    refusal: Refusal
    code: str
    message: str
    retry_at: datetime | None

    @property
    def cause(self) -> str:
        """The cause of a notification, once per episode: of pressure, or of a shortage of space."""
        if self.refusal is Refusal.FILE_SYSTEM:
            return f"space_refused:{self.refusal.value}"
        return f"refused:{self.refusal.value}"


def in_a_row(last: datetime | None, now: datetime) -> bool:
    """Whether a refusal now follows the `last` one."""
    return last is not None and now - last <= IN_A_ROW


def first_in_a_row(
    outcome: object, since: datetime | None, last: datetime | None, now: datetime
) -> datetime | None:
    """Since when AWS refuses for reasons that mostly clear within minutes, if `outcome` is such a refusal."""
    if not isinstance(outcome, Refused) or outcome.refusal not in BRIEF:
        return None
    return since if since is not None and in_a_row(last, now) else now


def declined(refusal: Refusal, message: str) -> Refused:
    """A refusal by Headroom itself, before anything was sent."""
    return Refused(refusal=refusal, code=NOT_SENT, message=message, retry_at=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """No answer, or an unclear one; only a later observation resolves it."""

    detail: str


Outcome = Applied | AlreadyThere | Stale | Refused | Unknown
