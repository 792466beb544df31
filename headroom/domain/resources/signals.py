"""Signals: what an event claims. It is a hint to reconcile, never a measurement."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from headroom.domain.resources.volumes import ResourceRef


class Claim(StrEnum):
    """What an event claims."""

    PRESSURE = "pressure"
    """An alarm (or one contributor of it) went to ALARM for this volume."""
    CHECK_CONTRIBUTORS = "check_contributors"
    """An alarm-level transition: ask the alarm which contributors are in ALARM."""
    MODIFICATION = "modification"
    """A modification of this volume started, progressed, ended or failed."""
    HINT = "hint"
    """Its service reports a problem with this storage: reconcile it."""
    NOTHING = "nothing"
    """Understood and irrelevant (an OK, a volume created)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEvent:
    """An event by its id: what its record is about."""

    event_id: str
    claimed_at: datetime
    claim: Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One event, understood. `ref` is None only for CHECK_CONTRIBUTORS and NOTHING."""

    event_id: str
    claim: Claim
    ref: ResourceRef | None
    alarm_name: str | None
    claimed_at: datetime
    muted: bool
    detail: str

    @property
    def event(self) -> SourceEvent:
        """The event that this signal is from."""
        return SourceEvent(event_id=self.event_id, claimed_at=self.claimed_at, claim=self.claim)


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedSignal:
    """An event of unknown shape; it is recorded and counted."""

    event_id: str
    reason: str
    excerpt: str
    """The first 1,000 characters of the event."""
