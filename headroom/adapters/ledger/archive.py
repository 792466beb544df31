"""Queries over records by resource, time and outcome, newest first; records of events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from botocore.exceptions import ClientError

from headroom.adapters.errors import code_of, reading, writing
from headroom.adapters.ledger.event_items import (
    event_item,
    event_partition,
    event_place,
    event_record_of,
)
from headroom.adapters.ledger.items import Item, unwire, wire
from headroom.adapters.ledger.reads import days
from headroom.adapters.ledger.seals import SEAL
from headroom.adapters.ledger.state_table import CONDITION_FAILED
from headroom.adapters.ledger.tables import Tables
from headroom.adapters.tables import BY_DAY, BY_OUTCOME, BY_RESOURCE, RECORDS
from headroom.domain.ledger import rejection_record
from headroom.domain.state import EventRecord, Record
from headroom.serialization import body_to_json

PARTS_AT_ONCE = 100
"""Source: DynamoDB API reference, TransactWriteItems (2026-11)."""


class Archive(Tables):
    """Queries over all chains, newest first. A query reads one partition per UTC date it spans."""

    def by_resource(self, arn: str, *, since: datetime, until: datetime) -> Iterator[Record]:
        """Records of one resource in [since, until], newest first."""
        return self._records.between(RECORDS.index(BY_RESOURCE), arn, since, until)

    def by_time(self, *, since: datetime, until: datetime) -> Iterator[Record]:
        """Records of all resources in [since, until], newest first."""
        index = RECORDS.index(BY_DAY)
        for day in days(since, until):
            yield from self._records.between(index, day.isoformat(), since, until)

    def by_outcome(self, outcome: str, *, since: datetime, until: datetime) -> Iterator[Record]:
        """Records with this outcome in [since, until], newest first."""
        index = RECORDS.index(BY_OUTCOME)
        for day in days(since, until):
            yield from self._records.between(index, f"{outcome}#{day}", since, until)

    def seals(self, decision_id: str) -> dict[int, str]:
        """The seals of a chain's records that have one, by sequence."""
        found = self._records.items(decision_id)
        return {unwire(i["sequence"]): str(unwire(i[SEAL])) for i in found if SEAL in i}

    def reject(self, event_id: str, *, reason: str, excerpt: str, at: datetime) -> None:
        """Record an event of unknown shape, once per event id."""
        body = body_to_json({"event_id": event_id, "reason": reason, "excerpt": excerpt})
        record = rejection_record(event_id, reason=reason, excerpt=excerpt, at=at, body=body)
        with writing("PutItem"):
            try:
                self._client.put_item(**self._put(record, self._new_id()))
            except ClientError as error:
                if code_of(error) != CONDITION_FAILED:  # else it is recorded already
                    raise

    def record_events(self, records: Sequence[EventRecord]) -> None:
        """Put each event's record unless a final one is there, up to 100 in one transaction.

        In no index; one write unit for one alone, two for each of several.
        """
        puts = {(i["decision_id"]["S"], i["sequence"]["N"]): i for i in map(self._event, records)}
        every = [self._unless_final(item) for item in puts.values()]
        for first in range(0, len(every), PARTS_AT_ONCE):
            some = every[first : first + PARTS_AT_ONCE]
            if len(some) == 1:
                self._put_event(some[0])
            else:
                self._put_events(some)

    def _event(self, record: EventRecord) -> Item:
        expires = None if self._keep is None else record.event.claimed_at + self._keep
        return event_item(record, expires)

    def _unless_final(self, item: Item) -> Item:
        return {
            "TableName": self._table,
            "Item": item,
            "ConditionExpression": "attribute_not_exists(#id) OR #final = :no",
            "ExpressionAttributeNames": {"#id": RECORDS.partition.name, "#final": "final"},
            "ExpressionAttributeValues": {":no": wire(False)},
        }

    def _put_event(self, put: Item) -> None:
        with writing("PutItem"):
            try:
                self._client.put_item(**put)
            except ClientError as error:
                if code_of(error) != CONDITION_FAILED:  # else its outcome is known already
                    raise

    def _put_events(self, puts: Sequence[Item]) -> None:
        """All in one transaction, without those whose outcome is known already."""
        while puts:
            cancelled = self._transactions.write(
                [{"Put": put} for put in puts], token=self._new_id(), landed=lambda: False
            )
            if cancelled is None:
                return
            puts = [put for place, put in enumerate(puts) if place not in cancelled.failed]

    def event_records(
        self, *, since: datetime, until: datetime, resource: str | None = None
    ) -> Iterator[EventRecord]:
        """Records of events that happened in [since, until], newest first, of one ARN if given."""
        for day in days(since, until):
            found = self._reads.query(
                self._table,
                condition="#id = :id AND #sequence BETWEEN :since AND :until",
                names={"#id": RECORDS.partition.name, "#sequence": RECORDS.sort.name},
                values={
                    ":id": wire(event_partition(day)),
                    ":since": wire(event_place(since)),
                    ":until": wire(event_place(until, last=True)),
                },
                newest_first=True,
            )
            for item in found:
                with reading("the record of an event"):
                    record = event_record_of(item)
                if resource is None or resource in record.resources:
                    yield record
