"""The account's concurrency item, and the queue of resources that wait."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from headroom.adapters.errors import reading
from headroom.adapters.ledger.items import (
    BESIDE,
    Item,
    readable,
    ref_of,
    unwire,
    versioned_put,
    wire,
)
from headroom.adapters.ledger.reads import Reads, understood
from headroom.adapters.tables import CONCURRENCY_ITEM, WAITING, WAITING_SHARD
from headroom.domain.resources import VolumeType
from headroom.domain.state import STATE_FORMAT, ConcurrencyState, QueueEntry
from headroom.ports import QueuedResource
from headroom.serialization import from_plain, to_plain

PAGE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcurrencyItem:
    """The concurrency state and the version that a write requires to be in place."""

    concurrency: ConcurrencyState
    version: int


class ConcurrencyTable:
    """Reads the concurrency state of one account and Region, and builds the parts that write it."""

    def __init__(self, reads: Reads, *, table: str, account: str) -> None:
        self._reads = reads
        self._table = table
        self._account = account

    def held(self) -> ConcurrencyItem:
        """The concurrency state, read consistently."""
        found = self._reads.items(self._table, [self._key()])
        with reading("the changes under way"):
            return concurrency_of(found[0] if found else None)

    def put(self, held: ConcurrencyItem, moved: ConcurrencyState, written_by: str) -> Item:
        """Part of a transaction: `moved` in place of the version that was read."""
        plain = to_plain(moved) | {
            "format": STATE_FORMAT, "version": held.version + 1, "written_by": written_by,
        }  # fmt: skip
        item = {name: wire(value) for name, value in plain.items()} | self._key()
        return versioned_put(self._table, item, over=held.version)

    def moves(self, held: ConcurrencyItem, moved: ConcurrencyState, written_by: str) -> list[Item]:
        """The same where the state changed; nothing otherwise."""
        return [] if moved is held.concurrency else [self.put(held, moved, written_by)]

    def queue(self, limit: int) -> tuple[QueuedResource, ...]:
        """Queued resources in order; read from an eventually consistent index."""
        found = self._reads.query(
            self._table,
            condition="#shard = :shard",
            names={"#shard": "waiting_shard"},
            values={":shard": wire(WAITING_SHARD)},
            index=WAITING,
            page=min(limit, PAGE),
        )
        return tuple(islice(understood(found, _queued, "the queue"), limit))

    def _key(self) -> Item:
        return {"owner": wire(self._account), "item": wire(CONCURRENCY_ITEM)}


def concurrency_of(item: Item | None) -> ConcurrencyItem:
    """The concurrency state in an item and its version; an empty one at version 0 without an item."""
    if item is None:
        return ConcurrencyItem(concurrency=ConcurrencyState(), version=0)
    plain = {name: unwire(value) for name, value in readable(item).items() if name not in BESIDE}
    if isinstance(full := plain.get("quota_full"), list):
        plain["quota_full"] = [one for one in full if _is_known(one)]
    return ConcurrencyItem(
        concurrency=from_plain(plain, ConcurrencyState), version=int(unwire(item["version"]))
    )


def _is_known(quota_full: object) -> bool:
    """Whether this release knows the type: of one that only a newer one knows, it changes nothing."""
    return isinstance(quota_full, dict) and quota_full.get("volume_type") in set(VolumeType)


def _queued(item: Item) -> QueuedResource:
    return QueuedResource(
        ref=ref_of(unwire(item["owner"])),
        waiting=from_plain(unwire(item["waiting"]), QueueEntry),
    )
