"""The state table: one item per resource, one each per account for budget, pause and fleet scan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from headroom.adapters.errors import code_of, reading, writing
from headroom.adapters.ledger.breakers import account_stops, instant
from headroom.adapters.ledger.concurrency import ConcurrencyItem, concurrency_of
from headroom.adapters.ledger.items import (
    Item,
    moment,
    readable,
    ref_of,
    stamped,
    state_item,
    state_of,
    unwire,
    versioned_put,
    wire,
)
from headroom.adapters.ledger.reads import Reads, understood
from headroom.adapters.tables import (
    BUDGET,
    CONCURRENCY_ITEM,
    DUE,
    DUE_SHARDS,
    PAUSE,
    PROFILE,
    SCAN,
    STATE_ITEM,
    WAITING_SHARD,
    due_shard,
)
from headroom.domain.resources import ResourceRef
from headroom.domain.state import (
    STATE_FORMAT,
    AccountStopState,
    LoadProfile,
    QueueEntry,
    StoredState,
    WrongFormat,
)
from headroom.ports import Due, DueResources, Scan
from headroom.serialization import UnreadableProfile, profile_from_bytes, profile_to_bytes, to_plain

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

SUM = "account_increase_micro_usd"
DUE_NAMES = {"#due": "due_at", "#wake": "wake_at", "#shard": "due_shard", "#why": "due_why"}
DUE_SETS = "#due = :due, #wake = :wake, #shard = :shard"
CONDITION_FAILED = "ConditionalCheckFailedException"
FIRST_PERIOD = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateItem:
    """A state as it was read; a write of what follows from it needs the same version in place."""

    state: StoredState
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A resource's state beside its account's sum of increases (micro-USD), switches, concurrency."""

    held: StateItem
    account_micro_usd: int
    stop_state: AccountStopState
    concurrency: ConcurrencyItem


class StateTable:
    """Reads state, and makes the parts of transactions that move it."""

    def __init__(self, client: DynamoDBClient, reads: Reads, *, table: str, account: str) -> None:
        self._client: Any = client
        self._reads = reads
        self._table = table
        self._account = account
        self._latest: tuple[Item, StoredState] | None = None

    def held(self, ref: ResourceRef) -> StateItem:
        """The state of a resource, read consistently."""
        return self.snapshot(ref, alone=True).held

    def snapshot(self, ref: ResourceRef, *, alone: bool = False) -> Snapshot:
        """The state of a resource and, unless `alone`, the account's part of it."""
        account = (
            [] if alone else [_key(self._account, i) for i in (BUDGET, PAUSE, CONCURRENCY_ITEM)]
        )
        found = self._reads.items(self._table, [_key(ref.arn, STATE_ITEM), *account])
        items = {item["item"]["S"]: item for item in found}
        with reading(f"the state of {ref.arn}"):
            item = items.get(STATE_ITEM)
            state, version = state_of(item, self._latest)
            self._latest = self._latest if item is None else (item, state)
            return Snapshot(
                held=StateItem(state=state, version=version),
                account_micro_usd=unwire(readable(items[BUDGET])[SUM]) if BUDGET in items else 0,
                stop_state=account_stops(items.get(PAUSE), self._account),
                concurrency=concurrency_of(items.get(CONCURRENCY_ITEM)),
            )

    def put(self, ref: ResourceRef, held: StateItem, moved: StoredState, written_by: str) -> Item:
        """Part of a transaction: `moved` in place of the version that was read."""
        item = state_item(ref, moved, version=held.version + 1, written_by=written_by)
        return versioned_put(self._table, item, over=held.version)

    def add(self, delta: int, room: int | None = None) -> Item:
        """Part of a transaction: `delta` micro-USD more on the account's sum.

        Only if the sum is at most `room` before; and never below zero.
        """
        values = {":delta": wire(delta), ":zero": wire(0)}
        condition = "#sum >= :given"
        if room is not None:
            condition = "attribute_not_exists(#sum) OR #sum <= :room"
            values[":room"] = wire(room)
        elif delta < 0:
            values[":given"] = wire(-delta)
        else:
            raise ValueError("only what is given back may be added without a limit")
        return {
            "Update": stamped(
                {
                    **self._at(self._account, BUDGET),
                    "UpdateExpression": "SET #sum = if_not_exists(#sum, :zero) + :delta",
                    "ConditionExpression": condition,
                    "ExpressionAttributeNames": {"#sum": SUM},
                    "ExpressionAttributeValues": values,
                    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                }
            )
        }

    def reconciled(
        self, ref: ResourceRef, *, at: datetime, due_at: datetime | None,
        waiting: QueueEntry | None, urgency: int | None,
    ) -> None:  # fmt: skip
        """Record a reconciliation and when the next is due; it postpones an open chain only if due.

        It leaves the queue unless it is `waiting`.
        """
        names = {
            "#reconciled": "last_reconciled_at", "#version": "version", "#waiting": "waiting",
            "#rank": "waiting_rank", "#queue": "waiting_shard",
        }  # fmt: skip
        values = {":at": wire(moment(at)), ":one": wire(1), ":zero": wire(0)}
        sets = "SET #reconciled = :at, #version = if_not_exists(#version, :zero) + :one"
        removes = ["#waiting", "#rank", "#queue"]
        if urgency is not None:
            names["#urgency"], values[":urgency"] = "urgency", wire(urgency)
            sets += ", #urgency = :urgency"
        if waiting is not None:
            removes = []
            sets += ", #waiting = :waiting, #rank = :rank, #queue = :queue"
            values |= {
                ":waiting": wire(to_plain(waiting)), ":rank": wire(waiting.rank),
                ":queue": wire(WAITING_SHARD),
            }  # fmt: skip
        update = {
            **self._at(ref.arn, STATE_ITEM),
            "UpdateExpression": _expression(sets, removes),
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
        }
        free = (
            "(attribute_not_exists(#chain) AND attribute_not_exists(#asking)) "
            "OR attribute_not_exists(#due)"
        )
        due = DUE_NAMES | {
            "#chain": "chain", "#asking": "approval_request", "#called": "last_request_at",
        }  # fmt: skip
        uncalled = "attribute_not_exists(#called)"
        moved = update | {"ExpressionAttributeNames": names | due}
        if due_at is not None:
            moved["UpdateExpression"] = _expression(f"{sets}, {DUE_SETS}", [*removes, "#why"])
            moved["ConditionExpression"] = f"({free} OR #due <= :at OR #due > :due) AND {uncalled}"
            moved["ExpressionAttributeValues"] = values | _due_values(ref, due_at)
        else:
            moved["UpdateExpression"] = _expression(sets, [*removes, *DUE_NAMES])
            moved["ConditionExpression"] = f"({free}) AND {uncalled}"
        if not self._updated(moved) and not self._updated(update) and due_at is not None:
            self._postpone(ref, due_at)

    def _postpone(self, ref: ResourceRef, due_at: datetime) -> None:
        """When an item that this release cannot read is due again; nothing else of it changes."""
        names = {name: each for name, each in DUE_NAMES.items() if name != "#why"}
        with writing("UpdateItem"):
            self._client.update_item(
                **self._at(ref.arn, STATE_ITEM),
                UpdateExpression=f"SET {DUE_SETS}",
                ExpressionAttributeNames=names,
                ExpressionAttributeValues=_due_values(ref, due_at),
            )

    def mark_due(
        self, ref: ResourceRef, *, at: datetime, wake_at: datetime, urgency: int, why: str
    ) -> bool:
        """Make a resource due at `at` unless it is due by then; whether it was not."""
        names = DUE_NAMES | {"#urgency": "urgency", "#version": "version"}
        values = {
            ":wake": wire(moment(wake_at)), ":urgency": wire(urgency), ":why": wire(why),
            ":one": wire(1),
        }  # fmt: skip
        return self._updated(
            {
                **self._at(ref.arn, STATE_ITEM),
                "UpdateExpression": f"SET {DUE_SETS}, #why = :why, #urgency = :urgency, "
                "#version = if_not_exists(#version, :one)",
                "ConditionExpression": "attribute_not_exists(#due) OR #due > :due",
                "ExpressionAttributeNames": names,
                "ExpressionAttributeValues": _due_values(ref, at) | values,
            }
        )

    def claim_due(self, due: Due, until: datetime) -> bool:
        """Whether nobody else claimed what is due meanwhile; it wakes again at `until`.

        Also an item that this release cannot read: its reconciliation then fails on record.
        """
        update = {
            **self._at(due.ref.arn, STATE_ITEM),
            "UpdateExpression": "SET #wake = :until",
            "ConditionExpression": "#wake = :seen",
            "ExpressionAttributeNames": {"#wake": "wake_at"},
            "ExpressionAttributeValues": {
                ":until": wire(moment(until)), ":seen": wire(moment(due.wake_at)),
            },
        }  # fmt: skip
        return self._sent(update) is not None

    def profile(self, ref: ResourceRef) -> LoadProfile | None:
        """The stored profile; None where there is none, or none that this release can read."""
        for item in self._reads.items(self._table, [_key(ref.arn, PROFILE)]):
            with suppress(UnreadableProfile, WrongFormat, LookupError):
                return profile_from_bytes(readable(item)["hours"]["B"])
        return None

    def save_profile(self, ref: ResourceRef, profile: LoadProfile) -> None:
        """Put the profile in place of the one before, whatever that was: it is derived data."""
        plain = {"format": STATE_FORMAT, "hours": profile_to_bytes(profile)}
        item = _key(ref.arn, PROFILE) | {name: wire(value) for name, value in plain.items()}
        with writing("PutItem"):
            self._client.put_item(TableName=self._table, Item=item)

    def due(self, now: datetime, limit: int) -> DueResources:
        """Resources due at or before `now` and claimed by nobody, longest overdue first."""
        until, left_out = wire(moment(now)), list[str]()
        found = [due for shard in DUE_SHARDS for due in self._due_in(shard, until, limit, left_out)]
        every = sorted(found, key=lambda each: (each.wake_at, each.ref.arn))
        return DueResources.of(every[:limit], left_out)

    def _due_in(self, shard: str, until: Item, limit: int, left_out: list[str]) -> Iterator[Due]:
        found = self._reads.query(
            self._table,
            condition="#shard = :shard AND #wake <= :now",
            names={"#shard": "due_shard", "#wake": "wake_at"},
            values={":shard": wire(shard), ":now": until},
            index=DUE,
            page=limit,
        )
        return islice(understood(found, _due_of, "what is due", left_out), limit)

    def claim(self, period: datetime, claimant: str) -> Scan:
        """Whether `claimant` is the one that claims the scan of this period, and the first ever."""
        before = self._update(
            {
                **self._at(self._account, SCAN),
                "UpdateExpression": "SET #period = :period, #by = :by",
                "ConditionExpression": "attribute_not_exists(#period) OR #period < :period "
                # A repeated attempt whose first answer got lost finds its own claim.
                "OR #by = :by",
                "ExpressionAttributeNames": {"#period": "period", "#by": "by"},
                "ExpressionAttributeValues": {
                    ":period": wire(moment(period)), ":by": wire(claimant),
                },
                "ReturnValues": "ALL_OLD",
            }
        )  # fmt: skip
        if before is None:
            return Scan.NOT_OURS
        return Scan.AGAIN if "period" in before else Scan.FIRST

    def make_due_now(self) -> None:
        """Let the next sweep scan the fleet, whatever its period; nothing if none ever did."""
        self._updated(
            {
                **self._at(self._account, SCAN),
                "UpdateExpression": "SET #period = :period REMOVE #by",
                "ConditionExpression": "attribute_exists(#period)",
                "ExpressionAttributeNames": {"#period": "period", "#by": "by"},
                "ExpressionAttributeValues": {":period": wire(moment(FIRST_PERIOD))},
            }
        )

    def _at(self, owner: str, item: str) -> Item:
        return {"TableName": self._table, "Key": _key(owner, item)}

    def _updated(self, update: Item) -> bool:
        """Whether the update's condition held."""
        return self._update(update) is not None

    def _update(self, update: Item) -> Item | None:
        """What the item was before, empty unless asked for; None if the condition did not hold."""
        return self._sent(stamped(update))

    def _sent(self, update: Item) -> Item | None:
        with writing("UpdateItem"):
            try:
                answer: Item = self._client.update_item(**update)
            except ClientError as error:
                if code_of(error) != CONDITION_FAILED:
                    raise
                return None
        before: Item = answer.get("Attributes", {})
        return before


def _expression(sets: str, removes: Sequence[str]) -> str:
    return f"{sets} REMOVE {', '.join(removes)}" if removes else sets


def _due_values(ref: ResourceRef, due_at: datetime) -> Item:
    at = wire(moment(due_at))
    return {":due": at, ":wake": at, ":shard": wire(due_shard(ref.arn))}


def _key(owner: str, item: str) -> Item:
    return {"owner": wire(owner), "item": wire(item)}


def _due_of(item: Item) -> Due:
    return Due(
        ref=ref_of(unwire(item["owner"])),
        due_at=instant(unwire(item["due_at"])),
        wake_at=instant(unwire(item["wake_at"])),
        urgency=unwire(item["urgency"]) if "urgency" in item else 0,
        why=unwire(item["due_why"]) if "due_why" in item else "due",
    )
