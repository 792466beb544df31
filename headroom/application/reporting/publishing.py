"""The record published to other programs: every new record to the bus.

At least once: the cursor moves after publishing, and a function that dies in between leaves some
records to be published again. One function at a time publishes, by a lease in the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice

from headroom.domain.decision import Decision
from headroom.domain.ledger import (
    PublishingCursor,
    advance_cursor,
    cursor_to_text,
    lease_cursor,
    parse_publishing_cursor,
    record_key,
)
from headroom.domain.state import Record, RecordSummary, Step
from headroom.ports import Delivery, ReadFailed, Recorded, Reporting

NOTE = "cursor"
BATCH_LIMIT = 500
"""The most records that one run publishes; the next run continues."""
BATCH = 10
RESERVE_S = 20.0
"""Seconds of a function's time that are kept for storing the cursor."""
IDLE = timedelta(minutes=30)
"""How often the cursor is moved on when there is no news, so that little is read again."""
GIVE_UP = timedelta(hours=6)
"""How old a record that the bus keeps refusing gets before it is left out."""
LAST_TRY = timedelta(hours=24)
"""The same of one that the bus may take yet, while it takes others."""
SILENT = frozenset({Step.REJECTED_SIGNAL})
"""Recorded, counted and alarmed, but about no resource."""


@dataclass(slots=True, kw_only=True)
class PublishedRecords:
    """What one run published; `refused` are still tried again, `given_up` are not."""

    published: int = 0
    refused: int = 0
    abandoned: int = 0
    undone: datetime | None = None
    """The instant of the first record that was not published, None when all were."""
    keys: list[tuple[datetime, str]] = field(default_factory=list)

    def leave(self, at: datetime) -> None:
        """A record was not published."""
        self.undone = at if self.undone is None else min(self.undone, at)


def publish_records(
    reporting: Reporting,
    now: datetime,
    *,
    time_left: Callable[[], float] = lambda: float("inf"),
    log: Callable[[Recorded], None] = lambda _: None,
) -> PublishedRecords:
    """Publish the records since the last run, and `log` each; raises ReadFailed."""
    run = PublishedRecords()
    cursor = parse_publishing_cursor(reporting.notes.note(NOTE))
    news = _news(reporting, cursor, now)
    if not news and cursor.cursor is not None and now - cursor.cursor < IDLE:
        return run
    full = len(news) == BATCH_LIMIT
    mine = reporting.notes.amend(NOTE, lambda text: _claim(text, now))
    if mine is None:
        return run  # another function is at it
    news = [
        record_summary for record_summary in news if not mine.has_published(_key(record_summary))
    ]
    try:
        _publish(reporting, news, run, now, time_left, log)
        if full and news:
            run.leave(news[-1].at)  # there may be more at that very instant
    except Exception:
        for record_summary in news:
            if (record_summary.at, _key(record_summary)) not in run.keys:
                run.leave(record_summary.at)
        raise
    finally:
        reporting.notes.amend(
            NOTE,
            lambda text: (cursor_to_text(_settle(parse_publishing_cursor(text), run, now)), None),
        )
    return run


def _news(reporting: Reporting, cursor: PublishingCursor, now: datetime) -> list[RecordSummary]:
    """Records not published yet, oldest first, at most AT_ONCE."""
    known = {key for _, key in cursor.published}
    found = reporting.record_summaries.record_summaries(
        since=cursor.since(now), until=now, oldest_first=True
    )
    new = (g for g in found if g.step not in SILENT and _key(g) not in known)
    return list(islice(new, BATCH_LIMIT))


def _publish(
    reporting: Reporting, news: Sequence[RecordSummary], run: PublishedRecords, now: datetime,
    time_left: Callable[[], float], log: Callable[[Recorded], None],
) -> None:  # fmt: skip
    stuck = False
    for batch in _batches(news):
        if stuck or time_left() < RESERVE_S:
            run.leave(batch[0].at)
            return
        records = reporting.record_summaries.records([(g.decision_id, g.sequence) for g in batch])
        recorded = [Recorded(record=r, decision=_decision(reporting, r)) for r in records]
        deliveries = reporting.events.publish(recorded)
        stuck = _note(run, records, deliveries, now)
        for one, delivery in zip(recorded, deliveries, strict=True):
            if delivery is Delivery.ACCEPTED:
                log(one)


def _note(
    run: PublishedRecords, records: Sequence[Record], deliveries: Sequence[Delivery], now: datetime
) -> bool:
    """Count what became of a batch; whether the bus takes nothing at all.

    A record that it refuses is given up after six hours; one that it may still take, after a day, if it takes others.
    """
    takes = run.published > 0 or Delivery.ACCEPTED in deliveries
    for record, delivery in zip(records, deliveries, strict=True):
        refused = delivery is Delivery.REFUSED and record.at < now - GIVE_UP
        if refused or (delivery is Delivery.UNSENT and takes and record.at < now - LAST_TRY):
            run.abandoned += 1
        elif delivery is not Delivery.ACCEPTED:
            run.refused += 1
            run.leave(record.at)
            continue
        else:
            run.published += 1
        run.keys.append((record.at, record_key(record.decision_id, record.sequence)))
    return bool(deliveries) and all(delivery is Delivery.UNSENT for delivery in deliveries)


def _decision(reporting: Reporting, record: Record) -> Decision | None:
    """The decision that a later record of its chain belongs to; None where it cannot be had."""
    if record.step is Step.DECIDED or record.sequence == 0:
        return None
    with suppress(LookupError, ReadFailed):
        return reporting.ledger.decision(record.decision_id)
    return None


def _claim(text: str, now: datetime) -> tuple[str, PublishingCursor | None]:
    mine = lease_cursor(parse_publishing_cursor(text), now)
    return (text, None) if mine is None else (cursor_to_text(mine), mine)


def _settle(cursor: PublishingCursor, run: PublishedRecords, now: datetime) -> PublishingCursor:
    return advance_cursor(cursor, published=run.keys, undone=run.undone, now=now)


def _key(record_summary: RecordSummary) -> str:
    return record_key(record_summary.decision_id, record_summary.sequence)


def _batches(news: Sequence[RecordSummary]) -> Iterator[Sequence[RecordSummary]]:
    return (news[start : start + BATCH] for start in range(0, len(news), BATCH))
