"""The ledger's two tables as data: what the stack creates, the tests create and the adapter uses.

Standard library only. `records` is append-only: no role may update or delete in it. Only DynamoDB
itself deletes there, where the deployment limits how long records are kept. Beside the chains it holds
one item for each event, in no index: a partition `events#` and a UTC date, put again while the event is retried. `state` is the
mutable side: per resource one item and one with the profile of its past, and per account one each for budget, pause, fleet scan,
concurrency and prices, a few notes, and one per resource whose breaker ever opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key attribute; `kind` is DynamoDB's attribute type: `S` text, `N` number."""

    name: str
    kind: str = "S"


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """A global secondary index. Items without its keys are not in it.

    `carries` are the attributes projected beside the keys; empty projects keys only.
    """

    name: str
    partition: Key
    sort: Key
    carries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table, billed on demand, with its indexes."""

    name: str
    partition: Key
    sort: Key
    indexes: tuple[Index, ...]
    expires: str | None = None
    """The attribute with the second from which on DynamoDB deletes an item; None for never."""

    def index(self, name: str) -> Index:
        """The index of that name; raises KeyError."""
        return {index.name: index for index in self.indexes}[name]


GLANCE = ("step", "resource", "at", "outcome", "summary", "reason", "price_change_usd")
"""What an index of records contains; bodies stay in the table only, because each index would
store (and bill) every body again."""

EXPIRES = "expires_at"
"""In seconds since 1970; only where the deployment limits how long records are kept."""
BY_RESOURCE = "by_resource"
BY_DAY = "by_day"
BY_OUTCOME = "by_outcome"
DUE = "due"
WAITING = "waiting"

RECORDS = Table(
    name="records",
    partition=Key(name="decision_id"),
    sort=Key(name="sequence", kind="N"),
    indexes=(
        Index(name=BY_RESOURCE, partition=Key(name="resource"), sort=Key(name="moment"),
              carries=tuple(name for name in GLANCE if name != "resource")),
        Index(name=BY_DAY, partition=Key(name="day"), sort=Key(name="moment"), carries=GLANCE),
        Index(name=BY_OUTCOME, partition=Key(name="outcome_day"), sort=Key(name="moment"),
              carries=GLANCE),
    ),
    expires=EXPIRES,
)  # fmt: skip
"""`moment` is the instant with microseconds, `#`, the sequence with four digits, `#`, the id;
`day` is the UTC date; `outcome_day` is the outcome, `#`, the UTC date."""

STATE = Table(
    name="state",
    partition=Key(name="owner"),
    sort=Key(name="item"),
    indexes=(
        Index(name=DUE, partition=Key(name="due_shard"), sort=Key(name="wake_at"),
              carries=("due_at", "urgency", "due_why")),
        Index(name=WAITING, partition=Key(name="waiting_shard"), sort=Key(name="waiting_rank"),
              carries=("waiting",)),
    ),
)  # fmt: skip
"""`owner` is a resource's ARN or `account#ACCOUNT#REGION`; `due_shard` and `wake_at` are there only
while a resource is due at some instant, so the index is sparse and an empty query costs little.
`wake_at` is the due time or, once a dispatcher has claimed the resource, when that claim expires;
`waiting_shard` and `waiting_rank` likewise while it waits in the queue."""

STATE_ITEM = "resource_state"
BUDGET = "budget"
PAUSE = "pause"
"""The kill switch, and the account's breaker with what counts towards it: one item, so that an
intent checks one."""
BREAKER = "breaker"
"""Followed by `#` and an ARN: a resource whose breaker is open, or once was."""
PROFILE = "profile"
"""An hourly digest of a resource's past, in bytes; only its own worker reads and writes it."""
WORK = "work"
"""Who reconciles a resource now, until when, and when the last reconciliation began."""
SCAN = "scan"
NOTE = "note"
"""Followed by `#` and a name: notes of notifications, publishing and clusters."""
NOTICE = "notice"
"""Followed by `#`, an instant and a record: what people must hear and have not heard yet."""
CONCURRENCY_ITEM = "concurrency"
"""The changes under way in the account and Region."""
PRICES = "prices"
DUE_SHARDS = tuple(f"due#{number}" for number in range(8))
"""Partitions of the index of what is due: each takes 1,000 writes a second, also when a whole
Availability Zone becomes due in one minute."""
WAITING_SHARD = "waiting"

LEDGER_ACTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "records": ("dynamodb:BatchGetItem", "dynamodb:PutItem", "dynamodb:Query"),
        "state": (
            "dynamodb:BatchGetItem",
            "dynamodb:ConditionCheckItem",
            "dynamodb:DeleteItem",
            "dynamodb:PutItem",
            "dynamodb:Query",
            "dynamodb:UpdateItem",
        ),
    }
)
"""What the adapter ledger does to each table; its indexes are only ever queried. A transaction is
allowed by the actions of its parts. Source: DynamoDB Developer Guide, "Using IAM with DynamoDB
transactions" (checked 2026-10)."""


def due_shard(arn: str) -> str:
    """The partition of the index of what is due in which a resource always is."""
    return DUE_SHARDS[sha256(arn.encode()).digest()[0] % len(DUE_SHARDS)]


def account_key(account_id: str, region: str) -> str:
    """Partition key of what belongs to an account and Region as a whole."""
    return f"account#{account_id}#{region}"


def create_table(table: Table, name: str) -> dict[str, Any]:
    """Arguments of CreateTable for `table` under the name `name`."""
    keys = [table.partition, table.sort]
    for index in table.indexes:
        keys += [index.partition, index.sort]
    kinds = {key.name: key.kind for key in keys}
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": _key_schema(table.partition, table.sort),
        "AttributeDefinitions": [
            {"AttributeName": attribute, "AttributeType": kind}
            for attribute, kind in sorted(kinds.items())
        ],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": index.name,
                "KeySchema": _key_schema(index.partition, index.sort),
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": [*index.carries]}
                if index.carries
                else {"ProjectionType": "KEYS_ONLY"},
            }
            for index in table.indexes
        ],
    }


def _key_schema(partition: Key, sort: Key) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition.name, "KeyType": "HASH"},
        {"AttributeName": sort.name, "KeyType": "RANGE"},
    ]
