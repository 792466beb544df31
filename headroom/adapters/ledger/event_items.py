"""Records of events as items: a partition for each UTC date, in order of time, in no index."""

from __future__ import annotations

import hashlib
from datetime import UTC, date, datetime, timedelta

from headroom.adapters.ledger.breakers import instant
from headroom.adapters.ledger.items import Item, moment, unwire, wire
from headroom.adapters.tables import EXPIRES
from headroom.domain.resources import Claim, SourceEvent
from headroom.domain.state import RECORD_FORMAT, EventOutcome, EventRecord, LedTo, require_format

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LONGEST_ID = 128
"""Bytes of an event's id that are stored; the item's place follows from all of it."""
SAME_INSTANT = 10**18
"""Places for events of one microsecond; a key of DynamoDB has 38 digits."""


def event_partition(day: date) -> str:
    """The partition of events that happened on a UTC date."""
    return f"events#{day.isoformat()}"


def event_place(at: datetime, event_id: str = "", *, last: bool = False) -> int:
    """The place of an event in its partition: by time, then by a hash of its id."""
    digest = hashlib.sha256(event_id.encode("utf-8", "replace")).digest()
    among = int.from_bytes(digest[:8], "big") % SAME_INSTANT if event_id else 0
    microseconds = (at - EPOCH) // timedelta(microseconds=1)
    return microseconds * SAME_INSTANT + (SAME_INSTANT - 1 if last else among)


def event_item(record: EventRecord, expires: datetime | None) -> Item:
    """The item of an event's record."""
    event, outcome = record.event, record.outcome
    plain = {
        "format": RECORD_FORMAT,
        "decision_id": event_partition(event.claimed_at.astimezone(UTC).date()),
        "sequence": event_place(event.claimed_at, event.event_id),
        "event_id": event.event_id.encode("utf-8", "replace")[:LONGEST_ID].decode(
            "utf-8", "ignore"
        ),
        "at": moment(event.claimed_at),
        "claim": event.claim.value,
        "resources": record.resources,
        "led_to": outcome.led_to.value,
        "which": outcome.which,
        "detail": outcome.detail,
        "final": outcome.final,
        "recorded_at": moment(record.recorded_at),
    }
    if expires is not None:
        plain[EXPIRES] = int(expires.timestamp())
    return {name: wire(value) for name, value in plain.items()}


def event_record_of(item: Item) -> EventRecord:
    """The record in an item; raises KeyError or ValueError on anything else."""
    plain = {name: unwire(value) for name, value in item.items()}
    require_format(plain["format"], RECORD_FORMAT, "the record of an event")
    return EventRecord(
        event=SourceEvent(
            event_id=plain["event_id"], claimed_at=instant(plain["at"]), claim=Claim(plain["claim"])
        ),
        resources=tuple(plain["resources"]),
        outcome=EventOutcome(
            led_to=LedTo(plain["led_to"]), which=plain["which"], detail=plain["detail"]
        ),
        recorded_at=instant(plain["recorded_at"]),
    )  # fmt: skip
