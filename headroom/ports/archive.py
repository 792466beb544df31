"""Queries over the records: by resource, time and outcome, and summaries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Protocol

from headroom.domain.state import EventRecord, Record, RecordSummary


class Archive(Protocol):
    """Queries over all chains, newest first, for audit and explain."""

    def by_resource(self, arn: str, *, since: datetime, until: datetime) -> Iterable[Record]:
        """Records of one resource."""

    def by_time(self, *, since: datetime, until: datetime) -> Iterable[Record]:
        """Records of all resources."""

    def by_outcome(self, outcome: str, *, since: datetime, until: datetime) -> Iterable[Record]:
        """Records whose `outcome` is this one (act, hold, escalate, applied, relieved, ...)."""

    def reject(self, event_id: str, *, reason: str, excerpt: str, at: datetime) -> None:
        """Record an event of unknown shape, once per event id."""

    def record_events(self, records: Sequence[EventRecord]) -> None:
        """Record what events led to, in place of what is known of each unless that is final.

        One record for each event id. Raises ReadFailed; some may be recorded then.
        """

    def event_records(
        self, *, since: datetime, until: datetime, resource: str | None = None
    ) -> Iterable[EventRecord]:
        """Records of events that happened in [since, until], newest first, of one ARN if given."""


class RecordIndex(Protocol):
    """Summaries of records from the indexes, and whole records by key."""

    def record_summaries(
        self, *, since: datetime, until: datetime, outcome: str | None = None,
        resource: str | None = None, oldest_first: bool = False, page: int | None = None,
    ) -> Iterable[RecordSummary]:  # fmt: skip
        """Records in [since, until], of one outcome or resource if given, newest first unless `oldest_first`.

        Read from an eventually consistent index, as many at once as fit, or `page`.
        """

    def records(self, keys: Sequence[tuple[str, int]]) -> tuple[Record, ...]:
        """The whole records of these ids and sequences, in order; missing ones are left out."""
