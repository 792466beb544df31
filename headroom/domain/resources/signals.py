"""What an event claimed: a hint where to look, never a measurement."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from headroom.domain.resources.volumes import ResourceRef


class Claim(StrEnum):
    """What the event said."""

    PRESSURE = "pressure"
    """An alarm (or one contributor of it) went to ALARM for this volume."""
    CHECK_CONTRIBUTORS = "check_contributors"
    """An alarm-level transition: ask the alarm which contributors are in ALARM."""
    MODIFICATION = "modification"
    """A modification of this volume started, moved on, ended or failed."""
    HINT = "hint"
    """Its service says that something is the matter with this storage: worth a look, no more."""
    NOTHING = "nothing"
    """Understood and of no consequence (an OK, a volume created)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One event, understood. `ref` is None only for LOOK_AT_CONTRIBUTORS and NOTHING."""

    event_id: str
    claim: Claim
    ref: ResourceRef | None
    alarm_name: str | None
    claimed_at: datetime
    muted: bool
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedSignal:
    """An event of a shape nobody knows; recorded and counted, never guessed at."""

    event_id: str
    reason: str
    excerpt: str
    """The first 1,000 characters of what came."""
