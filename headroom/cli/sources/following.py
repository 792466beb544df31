"""Records as they are written: the newest of an index, read again every few seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from headroom.cli.sources.records import Records
from headroom.domain.state import RecordSummary

EVERY_S = 5.0
LATE = timedelta(minutes=15)
"""How long after its own instant a record may appear: as long as a function may run."""
AHEAD = timedelta(days=1)
"""How far a clock of ours may be behind that of who writes."""


def following(
    records: Records, since: datetime, *, now: datetime, outcome: str | None = None,
    resource: str | None = None,
    sleep: Callable[[float], None] = time.sleep, clock: Callable[[], float] = time.monotonic,
) -> Iterator[RecordSummary]:  # fmt: skip
    """Records from `since` on, each once, without end; only the last LATE are remembered."""
    begun, newest = clock(), since
    known: dict[tuple[str, int], datetime] = {}
    while True:
        until = max(newest, now + timedelta(seconds=clock() - begun)) + AHEAD
        for record in records.record_summaries(
            since=max(since, newest - LATE), until=until, outcome=outcome, resource=resource,
            oldest_first=True,
        ):  # fmt: skip
            key = record.decision_id, record.sequence
            if key not in known:
                known[key] = record.at
                newest = max(newest, record.at)
                yield record
        known = {key: at for key, at in known.items() if at >= newest - LATE}
        sleep(EVERY_S)
