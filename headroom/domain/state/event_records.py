"""What one event led to: a small record beside the chains of decisions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from headroom.domain.resources import SourceEvent

LONGEST_DETAIL = 200
"""Bytes of a detail: an event's record stays below 1 KB, one write unit of DynamoDB."""
MOST_RESOURCES = 4
"""ARNs that an event's record names."""


class LedTo(StrEnum):
    """What an event led to."""

    DECISION = "decision"
    CHANGE_OPEN = "change_open"
    """A change of the resource is in flight; the event made Headroom check it."""
    REQUEST_CONCLUDED = "request_concluded"
    """A request for approval ended, and there was nothing more to decide."""
    COALESCED = "coalesced"
    """A reconciliation that began after the event was finished already."""
    SPREAD = "spread"
    """The event names several resources, or none and an alarm that does: work for each."""
    SCAN = "scan"
    """Which resources the alarm means is not known; the next scan finds them."""
    GONE = "gone"
    OFF = "off"
    """The policy leaves the resource alone."""
    MUTED = "muted"
    """The alarm is muted: only the scan acts on the volume."""
    IRRELEVANT = "irrelevant"
    """Understood, and no reason to reconcile anything, such as an alarm that is OK again."""
    UNREADABLE = "unreadable"
    """Something could not be read or written; the event is retried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventOutcome:
    """What an event led to; `which` is the decision's id, or the instant of a reconciliation."""

    led_to: LedTo
    which: str = ""
    detail: str = ""

    @property
    def final(self) -> bool:
        """Whether the event is done with."""
        return self.led_to is not LedTo.UNREADABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecord:
    """The one record of an event: replaced while the event is retried, never once it is final."""

    event: SourceEvent
    resources: tuple[str, ...]
    """ARNs, at most MOST_RESOURCES."""
    outcome: EventOutcome
    recorded_at: datetime


def event_record(
    event: SourceEvent, resources: tuple[str, ...], outcome: EventOutcome, *, at: datetime
) -> EventRecord:
    """The record of an event, its texts cut to what a record holds."""
    raw = outcome.detail.encode("utf-8", "replace")[:LONGEST_DETAIL]
    detail = raw.decode("utf-8", "ignore")
    return EventRecord(
        event=event, resources=resources[:MOST_RESOURCES], recorded_at=at,
        outcome=EventOutcome(led_to=outcome.led_to, which=outcome.which, detail=detail),
    )  # fmt: skip
