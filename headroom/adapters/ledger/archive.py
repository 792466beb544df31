"""Queries over records by resource, time and outcome, newest first; records of events."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from botocore.exceptions import ClientError

from headroom.adapters.errors import code_of, reading
from headroom.adapters.ledger.event_items import (
    event_item,
    event_partition,
    event_place,
    event_record_of,
)
from headroom.adapters.ledger.items import unwire, wire
from headroom.adapters.ledger.reads import days
from headroom.adapters.ledger.seals import SEAL
from headroom.adapters.ledger.state_table import CONDITION_FAILED
from headroom.adapters.ledger.tables import Tables
from headroom.adapters.tables import BY_DAY, BY_OUTCOME, BY_RESOURCE, RECORDS
from headroom.domain.ledger import rejection_record
from headroom.domain.state import EventRecord, Record
from headroom.serialization import body_to_json


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
        with reading("PutItem"):
            try:
                self._client.put_item(**self._put(record, self._new_id()))
            except ClientError as error:
                if code_of(error) != CONDITION_FAILED:  # else it is recorded already
                    raise

    def record_event(self, record: EventRecord) -> None:
        """Put the record of an event unless a final one is there; one write unit, in no index."""
        expires = None if self._keep is None else record.event.claimed_at + self._keep
        put = {
            "TableName": self._table,
            "Item": event_item(record, expires),
            "ConditionExpression": "attribute_not_exists(#id) OR #final = :no",
            "ExpressionAttributeNames": {"#id": RECORDS.partition.name, "#final": "final"},
            "ExpressionAttributeValues": {":no": wire(False)},
        }
        with reading("PutItem"):
            try:
                self._client.put_item(**put)
            except ClientError as error:
                if code_of(error) != CONDITION_FAILED:  # else its outcome is known already
                    raise

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
