"""DynamoDB in memory: the calls that the ledger makes of its client, on the ledger's two tables.

Expressions are read by Python's own grammar once a few tokens are respelled. Source: DynamoDB
Developer Guide, "Expressions in DynamoDB" (checked 2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from threading import RLock
from types import CodeType
from typing import Any

from botocore.exceptions import ClientError

from headroom.adapters.ledger import Item, unwire, wire
from headroom.adapters.tables import RECORDS, STATE, Table

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


class DynamoDbInMemory:
    """A client of the tables `records` and `state`; thread-safe, and consistent at once."""

    def __init__(self) -> None:
        self._tables: dict[str, Table] = {table.name: table for table in (RECORDS, STATE)}
        self._partitions: dict[str, dict[Any, dict[Any, Item]]] = {RECORDS.name: {}, STATE.name: {}}
        self._lock = RLock()

    def batch_get_item(self, *, RequestItems: Mapping[str, Request]) -> Request:
        """The items of these keys that exist."""
        with self._lock:
            return {
                "Responses": {
                    name: [item for key in asked["Keys"] if (item := self._item(name, key))]
                    for name, asked in RequestItems.items()
                }
            }

    def query(self, **request: Any) -> Request:
        """Items of one partition in order of their sort key, `Limit` a page."""
        table, values = self._tables[request["TableName"]], request["ExpressionAttributeValues"]
        index = table.index(request["IndexName"]) if "IndexName" in request else None
        sort, partition = (index or table).sort.name, (index or table).partition.name
        own = (partition, sort, table.partition.name, table.sort.name)
        first = None if index else unwire(next(iter(values.values())))  # the partition comes first
        with self._lock:
            found = [
                ([unwire(item[name]) for name in own], item)
                for item in self._items(table, first)
                if sort in item and partition in item
                and _value(request["KeyConditionExpression"], item, request)
            ]  # fmt: skip
        forward, after = request["ScanIndexForward"], request.get("ExclusiveStartKey")
        found.sort(key=lambda each: each[0], reverse=not forward)
        if after is not None:
            found = [each for each in found if (each[0] > after if forward else each[0] < after)]
        page = found[: request.get("Limit", len(found))]
        rest = {"LastEvaluatedKey": page[-1][0]} if len(page) < len(found) else {}
        return {"Items": [item for _, item in page], **rest}

    def put_item(self, **put: Any) -> Request:
        """One item in place of what is there, if the condition holds."""
        return self._write("PutItem", "Put", put)

    def update_item(self, **update: Any) -> Request:
        """One item changed, or made, if the condition holds; `Attributes` are those before."""
        return self._write("UpdateItem", "Update", update)

    def transact_write_items(
        self, *, TransactItems: Iterable[Mapping[str, Request]], ClientRequestToken: str
    ) -> Request:
        """All of these or none; refused with a reason for each."""
        actions = [action for part in TransactItems for action in part.items()]
        with self._lock:
            reasons = [
                {"Code": "None"} if _allowed(self._target(action), action)
                else {"Code": "ConditionalCheckFailed", "Item": self._target(action)}
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
        return {"Attributes": before}

    def _apply(self, kind: str, action: Request) -> None:
        if kind == "ConditionCheck":
            return
        table = self._tables[action["TableName"]]
        item = action["Item"] if kind == "Put" else _updated(self._target(action), action)
        partition, sort = unwire(item[table.partition.name]), unwire(item[table.sort.name])
        self._partitions[table.name].setdefault(partition, {})[sort] = item

    def _target(self, action: Request) -> Item:
        """The item that an action is about, empty where there is none."""
        return self._item(action["TableName"], action.get("Key") or action["Item"])

    def _item(self, name: str, key: Item) -> Item:
        table = self._tables[name]
        partition = self._partitions[name].get(unwire(key[table.partition.name]), {})
        return partition.get(unwire(key[table.sort.name]), {})

    def _items(self, table: Table, partition: object) -> Iterable[Item]:
        """The items of a partition, or of all (None)."""
        if partition is not None:
            return self._partitions[table.name].get(partition, {}).values()
        return [item for each in self._partitions[table.name].values() for item in each.values()]


def _allowed(item: Item, action: Request) -> bool:
    condition = action.get("ConditionExpression")
    return condition is None or bool(_value(condition, item, action))


def _updated(item: Item, update: Request) -> Item:
    sets, _, removes = update["UpdateExpression"].partition(" REMOVE ")
    names = update["ExpressionAttributeNames"]
    changed = {
        names[name]: wire(_value(expression, item, update))
        for name, expression in _ASSIGNMENT.findall(sets)
    }
    removed = {names[name] for name in re.findall(r"#\w+", removes)}
    moved = {**update["Key"], **item, **changed}
    return {name: value for name, value in moved.items() if name not in removed}


def _value(expression: str, item: Item, request: Request) -> Any:
    """What an expression is for an item, which may be empty."""
    scope = {
        f"name_{placeholder[1:]}": unwire(item[name]) if name in item else MISSING
        for placeholder, name in request["ExpressionAttributeNames"].items()
    }
    for placeholder, value in request.get("ExpressionAttributeValues", {}).items():
        scope[f"value_{placeholder[1:]}"] = unwire(value)
    return eval(_compiled(expression), FUNCTIONS, scope)  # noqa: S307 - the adapter's expressions


@lru_cache(maxsize=256)
def _compiled(expression: str) -> CodeType:
    for pattern, spelling in _RESPELLED:
        expression = re.sub(pattern, spelling, expression)
    return compile(expression, "expression", "eval")
