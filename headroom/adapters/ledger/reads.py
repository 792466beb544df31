"""Reads of the ledger's tables: items by key, chains, and records by index, newest first."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from headroom.adapters.errors import reading
from headroom.adapters.ledger.items import Item, moment, record_of, unwire
from headroom.adapters.tables import RECORDS, Index
from headroom.domain.state import RECORD_FORMAT, Record, require_format
from headroom.ports import ReadFailed

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

BODIES_PER_BATCH = 100
"""BatchGetItem answers with 100 items and 16 MB at most; bodies have at most 64 KB."""
ROUNDS = 10
AFTER_LAST_KEY = "~"
"""Sorts after the `#` that follows an instant in `moment`."""


T = TypeVar("T")
_log = logging.getLogger(__name__)


def understood(
    items: Iterable[Item], read: Callable[[Item], T], what: str, left_out: list[str] | None = None
) -> Iterator[T]:
    """What `read` makes of items; one that it does not understand hides no other, and is logged with its owner."""
    for item in items:
        try:
            one = read(item)
        except Exception as problem:
            owner = str(item.get("owner", {}).get("S", "nobody"))
            _log.error("%s: the entry of %s is left out: %r", what, owner, problem)
            if left_out is not None:
                left_out.append(owner)
            continue
        yield one


class Reads:
    """Reads that all fail with ReadFailed."""

    def __init__(self, client: DynamoDBClient) -> None:
        self._client: Any = client

    def items(self, table: str, keys: Sequence[Item], *, consistent: bool = True) -> list[Item]:
        """The items of these keys that exist, in no order; not consistent, they cost half."""
        wanted: dict[str, Any] = {table: {"Keys": list(keys), "ConsistentRead": consistent}}
        found: list[Item] = []
        for _ in range(ROUNDS):
            with reading("BatchGetItem"):
                answer = self._client.batch_get_item(RequestItems=wanted)
                found += answer["Responses"].get(table, [])
            wanted = answer.get("UnprocessedKeys", {})
            if not wanted:
                return found
        raise ReadFailed(f"BatchGetItem: {table} did not give all items in {ROUNDS} rounds")

    def query(
        self, table: str, *, condition: str, values: Item, names: dict[str, str],
        index: str | None = None, newest_first: bool = False, page: int | None = None,
    ) -> Iterator[Item]:  # fmt: skip
        """Items of one partition in order of their sort key, page by page, as they are asked for.

        Consistent unless an index is read.
        """
        request: dict[str, Any] = {
            "TableName": table,
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": values,
            "ExpressionAttributeNames": names,
            "ScanIndexForward": not newest_first,
        }
        request |= {"ConsistentRead": True} if index is None else {"IndexName": index}
        request |= {} if page is None else {"Limit": page}
        while True:
            with reading("Query"):
                answer = self._client.query(**request)
                found = answer["Items"]
            yield from found
            if "LastEvaluatedKey" not in answer:
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


class RecordReads:
    """Queries over the records table."""

    def __init__(self, reads: Reads, table: str) -> None:
        self._reads = reads
        self._table = table

    def items(
        self, decision_id: str, *, newest_first: bool = False, page: int | None = None
    ) -> Iterator[Item]:
        """The items of a chain."""
        return self._reads.query(
            self._table, condition="#id = :id", names={"#id": RECORDS.partition.name},
            values={":id": {"S": decision_id}}, newest_first=newest_first, page=page,
        )  # fmt: skip

    def chain(self, decision_id: str) -> tuple[Record, ...]:
        """All records of a chain, oldest first."""
        return tuple(self._read(item) for item in self.items(decision_id))

    def last(self, decision_id: str) -> Record | None:
        """The newest record of a chain, None when there is none; ReadFailed for a newer format."""
        item = next(self.items(decision_id, newest_first=True, page=1), None)
        return None if item is None else usable(self._read(item))

    def entries(
        self, index: Index, partition: str, since: datetime, until: datetime, *,
        newest_first: bool = True, page: int | None = None,
    ) -> Iterator[Item]:  # fmt: skip
        """Entries of one partition of an index in [since, until]; without bodies."""
        return self._reads.query(
            self._table,
            condition="#partition = :partition AND #moment BETWEEN :since AND :until",
            names={"#partition": index.partition.name, "#moment": index.sort.name},
            values={
                ":partition": {"S": partition},
                ":since": {"S": moment(since)},
                ":until": {"S": moment(until) + AFTER_LAST_KEY},
            },
            index=index.name, newest_first=newest_first, page=page,
        )  # fmt: skip

    def between(
        self, index: Index, partition: str, since: datetime, until: datetime
    ) -> Iterator[Record]:
        """Records of one partition of an index in [since, until], newest first."""
        found = self.entries(index, partition, since, until, page=BODIES_PER_BATCH)
        batch: list[Item] = []
        for item in found:
            batch.append({name: item[name] for name in ("decision_id", "sequence")})
            if len(batch) == BODIES_PER_BATCH:
                yield from self._bodies(batch)
                batch = []
        yield from self._bodies(batch)

    def _bodies(self, keys: list[Item]) -> Iterator[Record]:
        """The whole records of these keys, in their order."""
        if not keys:
            return
        records = [self._read(item) for item in self._reads.items(self._table, keys)]
        by_key = {(record.decision_id, record.sequence): record for record in records}
        for key in keys:  # one that expired since the index was read is no more
            record = by_key.get((unwire(key["decision_id"]), unwire(key["sequence"])))
            if record is not None:
                yield record

    def _read(self, item: Item) -> Record:
        with reading("a record"):
            return record_of(item)


def usable(record: Record) -> Record:
    """The same record; raises ReadFailed when a newer release wrote it, so nothing may follow it."""
    with reading(f"decision {record.decision_id}"):
        require_format(record.format, RECORD_FORMAT, f"record {record.sequence}")
    return record


def days(since: datetime, until: datetime) -> Iterator[date]:
    """The UTC dates from `until` back to `since`; both must be aware."""
    if since.tzinfo is None or until.tzinfo is None:
        raise ValueError("since and until need a time zone; pass aware instants.")
    day, first = until.astimezone(UTC).date(), since.astimezone(UTC).date()
    while day >= first:
        yield day
        day -= timedelta(days=1)
