"""Items of work as JSON on the queue, beside the events of EventBridge."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from headroom.adapters.ledger import moment, ref_of
from headroom.domain.resources import Claim, SourceEvent
from headroom.ports import ScanPage, WorkItem

MARK = "headroom_work"
"""The one key of a message of our own; an event of EventBridge never has it."""
TRIGGERS = ("alarm", "event", "sweep", "due")


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one message asks for."""

    items: tuple[WorkItem, ...] = ()
    page: ScanPage | None = None


def items_message(items: Sequence[WorkItem]) -> str:
    """A message with these items."""
    every = [
        {
            "arn": item.ref.arn, "trigger": item.trigger, "since": moment(item.since),
            "must_record": item.must_record,
            "events": [
                [event.event_id, moment(event.claimed_at), event.claim.value]
                for event in item.events
            ],
        }
        for item in items
    ]  # fmt: skip
    return json.dumps({MARK: {"items": every}}, separators=(",", ":"))


def page_message(page: ScanPage) -> str:
    """A message with one page of the fleet."""
    plain = {"scan": moment(page.scan), "kind": page.kind, "number": page.number}
    return json.dumps({MARK: {"page": plain}}, separators=(",", ":"))


def read_message(body: object) -> Work | None:
    """The work in a message; None where it is an event. Raises ValueError for work not understood."""
    if not isinstance(body, Mapping) or MARK not in body:
        return None
    try:
        asked = body[MARK]
        if "page" in asked:
            page = asked["page"]
            return Work(
                page=ScanPage(
                    scan=_instant(page["scan"]), kind=str(page["kind"]), number=int(page["number"])
                )
            )
        return Work(items=tuple(_item(each) for each in asked["items"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"work that is not understood: {error!r}") from error


def _item(plain: Mapping[str, Any]) -> WorkItem:
    trigger = str(plain["trigger"])
    if trigger not in TRIGGERS:
        raise ValueError(f"the trigger {trigger[:40]!r} is unknown")
    return WorkItem(
        ref=ref_of(str(plain["arn"])), trigger=trigger, since=_instant(plain["since"]),
        must_record=plain["must_record"] is True,
        events=tuple(_event(each) for each in plain.get("events", ())),
    )  # fmt: skip


def _event(plain: tuple[str, str, str]) -> SourceEvent:
    event_id, claimed_at, claim = plain
    return SourceEvent(event_id=str(event_id), claimed_at=_instant(claimed_at), claim=Claim(claim))


def _instant(text: object) -> datetime:
    at = datetime.fromisoformat(str(text))
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).astimezone(UTC)
