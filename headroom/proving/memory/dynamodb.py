"""DynamoDB in memory: the calls that the ledger makes of its client, on the ledger's two tables.

Expressions are read by Python's own grammar once a few tokens are respelled. Source: DynamoDB
Developer Guide, "Expressions in DynamoDB" (checked 2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from threading import RLock
from types import CodeType
from typing import Any

from botocore.exceptions import ClientError

from headroom.adapters.ledger import Item, unwire, wire
from headroom.adapters.tables import RECORDS, STATE, Index, Table

Request = Mapping[str, Any]
_RESPELLED = (
    (r"(\S+) BETWEEN (\S+) AND (\S+)", r"\2 <= \1 <= \3"), (r"\bAND\b", "and"), (r"\bOR\b", "or"),
    (r" = ", " == "), ("#", "name_"), (":", "value_"),
)  # fmt: skip
_ASSIGNMENT = re.compile(r"(#\w+) = ((?:[^,(]|\([^)]*\))+)")


class _Missing:
    """An attribute that an item does not have: every comparison with it is false."""

    def _never(self, other: object) -> bool:
        return False

    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = _never


MISSING = _Missing()
FUNCTIONS = {
    "attribute_exists": lambda value: value is not MISSING,
    "attribute_not_exists": lambda value: value is MISSING,
    "begins_with": lambda value, start: value is not MISSING and value.startswith(start),
    "if_not_exists": lambda value, other: other if value is MISSING else value,
}


class Stored:
    """An item as it was put, and the plain values of the attributes that were asked for."""

    __slots__ = ("_plain", "item")

    def __init__(self, item: Item) -> None:
        self.item = item
        self._plain: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """The plain value of an attribute, MISSING where there is none."""
        if name not in self._plain:
            self._plain[name] = unwire(self.item[name]) if name in self.item else MISSING
        return self._plain[name]


NOTHING = Stored({})


class DynamoDbInMemory:
    """A client of the tables `records` and `state`; thread-safe, and consistent at once."""

    def __init__(self) -> None:
        self._tables: dict[str, Table] = {table.name: table for table in (RECORDS, STATE)}
        self._partitions: dict[tuple[str, Any], dict[Any, Stored]] = {}
        """Items by table or index, and then by the value of its partition key."""
        self._lock = RLock()

    def batch_get_item(self, *, RequestItems: Mapping[str, Request]) -> Request:
        """The items of these keys that exist."""
        with self._lock:
            return {
                "Responses": {
                    name: [item for key in asked["Keys"] if (item := self._stored(name, key).item)]
                    for name, asked in RequestItems.items()
                }
            }

    def query(self, **request: Any) -> Request:
        """Items of one partition in order of their sort key, `Limit` a page."""
        name, values = request["TableName"], request["ExpressionAttributeValues"]
        partition = unwire(next(iter(values.values())))  # the partition's value comes first
        if not self._partitions.get((request.get("IndexName", name), partition)):
            return {"Items": []}
        table = self._tables[name]
        index = table.index(request["IndexName"]) if "IndexName" in request else None
        own = ((index or table).sort.name, table.partition.name, table.sort.name)
        with self._lock:
            found = [
                ([stored[name] for name in own], stored.item)
                for stored in self._partitions.get(((index or table).name, partition), {}).values()
                if _value(request["KeyConditionExpression"], stored, request)
            ]
        forward, after = request["ScanIndexForward"], request.get("ExclusiveStartKey")
        found.sort(key=lambda each: each[0], reverse=not forward)
        if after is not None:
            found = [each for each in found if (each[0] > after if forward else each[0] < after)]
        page = found[: request.get("Limit", len(found))]
        rest = {"LastEvaluatedKey": page[-1][0]} if len(page) < len(found) else {}
        return {"Items": [item for _, item in page], **rest}

    def entries(self, index: str, partition: str) -> Collection[Stored]:
        """Everything in one partition of an index, in no order."""
        return self._partitions.get((index, partition), {}).values()

    def put_item(self, **put: Any) -> Request:
        """One item in place of what is there, if the condition holds."""
        return self._write("PutItem", "Put", put)

    def update_item(self, **update: Any) -> Request:
        """One item changed, or made, if the condition holds; `Attributes` are those before."""
        return self._write("UpdateItem", "Update", update)

    def delete_item(self, *, TableName: str, Key: Item) -> Request:
        """One item less; nothing where there is none."""
        with self._lock:
            self._replace(self._tables[TableName], self._stored(TableName, Key), NOTHING)
        return {}

    def transact_write_items(
        self, *, TransactItems: Iterable[Mapping[str, Request]], ClientRequestToken: str
    ) -> Request:
        """All of these or none; refused with a reason for each."""
        actions = [action for part in TransactItems for action in part.items()]
        with self._lock:
            reasons = [
                {"Code": "None"} if _allowed(self._target(action), action)
                else {"Code": "ConditionalCheckFailed", "Item": self._target(action).item}
                for _, action in actions
            ]  # fmt: skip
            if any(reason["Code"] != "None" for reason in reasons):
                code = "TransactionCanceledException"
                refused: Any = {"Error": {"Code": code}, "CancellationReasons": reasons}
                raise ClientError(refused, "TransactWriteItems")
            for kind, action in actions:
                self._apply(kind, action)
        return {}

    def _write(self, operation: str, kind: str, action: Request) -> Request:
        with self._lock:
            before = self._target(action)
            if not _allowed(before, action):
                code = "ConditionalCheckFailedException"
                raise ClientError({"Error": {"Code": code}}, operation)
            self._apply(kind, action)
        return {"Attributes": before.item}

    def _apply(self, kind: str, action: Request) -> None:
        if kind == "ConditionCheck":
            return
        table, before = self._tables[action["TableName"]], self._target(action)
        after = Stored(action["Item"] if kind == "Put" else _updated(before, action))
        self._replace(table, before, after)

    def _replace(self, table: Table, before: Stored, after: Stored) -> None:
        keys: tuple[Table | Index, ...] = (table, *table.indexes)
        for one in keys:
            for stored in (before, after):
                if one.partition.name in stored.item and one.sort.name in stored.item:
                    entries = self._partitions.setdefault(
                        (one.name, stored[one.partition.name]), {}
                    )
                    key = stored[table.partition.name], stored[table.sort.name]
                    entries.pop(key, None)
                    if stored is after:
                        entries[key] = after

    def _target(self, action: Request) -> Stored:
        """The item that an action is about, empty where there is none."""
        return self._stored(action["TableName"], action.get("Key") or action["Item"])

    def _stored(self, name: str, key: Item) -> Stored:
        table = self._tables[name]
        partition, sort = unwire(key[table.partition.name]), unwire(key[table.sort.name])
        return self._partitions.get((name, partition), {}).get((partition, sort), NOTHING)


def _allowed(item: Stored, action: Request) -> bool:
    condition = action.get("ConditionExpression")
    return condition is None or bool(_value(condition, item, action))


def _updated(before: Stored, update: Request) -> Item:
    assigned, removes = _changes(update["UpdateExpression"])
    names = update["ExpressionAttributeNames"]
    changed = {
        names[name]: wire(_value(expression, before, update)) for name, expression in assigned
    }
    removed = {names[name] for name in removes}
    moved = {**update["Key"], **before.item, **changed}
    return {name: value for name, value in moved.items() if name not in removed}


@lru_cache(maxsize=256)
def _changes(expression: str) -> tuple[list[tuple[str, str]], list[str]]:
    """What an update sets, each with its expression, and what it removes."""
    sets, _, removes = expression.partition(" REMOVE ")
    return _ASSIGNMENT.findall(sets), re.findall(r"#\w+", removes)


def _value(expression: str, item: Stored, request: Request) -> Any:
    """What an expression is for an item, which may be empty."""
    code, placeholders = _compiled(expression)
    names, values = (
        request["ExpressionAttributeNames"],
        request.get("ExpressionAttributeValues", {}),
    )
    scope = {
        spelled: item[names[placeholder]] if placeholder[0] == "#" else unwire(values[placeholder])
        for placeholder, spelled in placeholders
    }
    return eval(code, FUNCTIONS, scope)  # noqa: S307 - the adapter's expressions


@lru_cache(maxsize=256)
def _compiled(expression: str) -> tuple[CodeType, tuple[tuple[str, str], ...]]:
    """An expression as Python, and its placeholders as they are spelled there."""
    spelled = expression
    for pattern, spelling in _RESPELLED:
        spelled = re.sub(pattern, spelling, spelled)
    code = compile(spelled, "expression", "eval")
    placeholders = set(re.findall(r"[#:]\w+", expression))
    return code, tuple((p, f"{'name' if p[0] == '#' else 'value'}_{p[1:]}") for p in placeholders)
