"""The account's traffic item, and the queue: what is under way, and who waits for its turn."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from headroom.adapters.errors import reading
from headroom.adapters.ledger.items import BESIDE, Item, readable, ref_of, unwire, wire
from headroom.adapters.ledger.reads import Reads
from headroom.adapters.ledger.schema import CONCURRENCY_ITEM, WAITING, WAITING_SHARD
from headroom.domain.state import STATE_FORMAT, ConcurrencyState, QueueEntry
from headroom.ports import QueuedResource
from headroom.serialization import from_plain, to_plain

PAGE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcurrencyItem:
    """Traffic as it was read; a write of what follows needs the same version in place."""

    concurrency: ConcurrencyState
    version: int


class TrafficItem:
    """Reads the traffic of one account and Region, and makes the parts that move it."""

    def __init__(self, reads: Reads, *, table: str, account: str) -> None:
        self._reads = reads
        self._table = table
        self._account = account

    def held(self) -> ConcurrencyItem:
        """The traffic, read consistently."""
        found = self._reads.items(self._table, [self._key()])
        with reading("the changes under way"):
            return traffic_of(found[0] if found else None)

    def put(self, held: ConcurrencyItem, moved: ConcurrencyState, written_by: str) -> Item:
        """Part of a transaction: `moved` in place of the version that was read."""
        plain = to_plain(moved) | {
            "format": STATE_FORMAT, "version": held.version + 1, "written_by": written_by,
        }  # fmt: skip
        item = {name: wire(value) for name, value in plain.items()} | self._key()
        put: Item = {
            "TableName": self._table,
            "Item": item,
            "ConditionExpression": "attribute_not_exists(#version)",
            "ExpressionAttributeNames": {"#version": "version"},
        }
        if held.version:
            put["ConditionExpression"] = "#version = :version"
            put["ExpressionAttributeValues"] = {":version": wire(held.version)}
        return {"Put": put}

    def moves(self, held: ConcurrencyItem, moved: ConcurrencyState, written_by: str) -> list[Item]:
        """The same where there is something to move; nothing otherwise."""
        return [] if moved is held.concurrency else [self.put(held, moved, written_by)]

    def queue(self, limit: int) -> tuple[QueuedResource, ...]:
        """Who waits, in the order of the queue; read from an index that is a moment late."""
        found = self._reads.query(
            self._table,
            condition="#shard = :shard",
            names={"#shard": "waiting_shard"},
            values={":shard": wire(WAITING_SHARD)},
            index=WAITING,
            page=min(limit, PAGE),
        )
        with reading("the queue"):
            return tuple(
                QueuedResource(
                    ref=ref_of(unwire(item["owner"])),
                    waiting=from_plain(unwire(item["waiting"]), QueueEntry),
                )
                for item in islice(found, limit)
            )

    def _key(self) -> Item:
        return {"owner": wire(self._account), "item": wire(CONCURRENCY_ITEM)}


def traffic_of(item: Item | None) -> ConcurrencyItem:
    """The traffic in an item and its version; none at version 0 when there is no item."""
    if item is None:
        return ConcurrencyItem(concurrency=ConcurrencyState(), version=0)
    plain = {name: unwire(value) for name, value in readable(item).items() if name not in BESIDE}
    return ConcurrencyItem(
        concurrency=from_plain(plain, ConcurrencyState), version=int(unwire(item["version"]))
    )
