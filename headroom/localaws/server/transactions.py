"""DynamoDB's transactions, isolated from each other, and undone without a copy of the whole table.

moto copies every table of a transaction before it begins and puts the copies back if a condition fails:
what others wrote meanwhile is lost, and the time of each transaction grows with the tables.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from threading import RLock
from typing import Any

from moto.dynamodb import urls
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType

ONE_AT_A_TIME = RLock()
"""Held for each request of DynamoDB: moto's operations are none to other threads."""
_Place = tuple[DynamoType, DynamoType | None]


class LocalDynamoDb(DynamoDBBackend):  # type: ignore[misc]
    """Transactions run on a copy of the items that they name, which takes their place if all went well."""

    _url_module = urls

    def transact_write_items(self, transact_items: list[dict[str, Any]]) -> None:
        """All or nothing."""
        with ONE_AT_A_TIME:
            named: dict[str, list[_Place]] = defaultdict(list)
            for name, place in _places(self.tables, transact_items):
                named[name].append(place)
            apart = copy.copy(self)
            apart.tables = dict(self.tables) | {
                name: _with_only(self.tables[name], places) for name, places in named.items()
            }
            DynamoDBBackend.transact_write_items(apart, transact_items)
            for name, places in named.items():
                _put_back(apart.tables[name], self.tables[name], places)


def _places(
    tables: Mapping[str, Any], actions: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, _Place]]:
    """Table and key of each action that names a known table; moto refuses the others."""
    for action in actions:
        for part in action.values():
            table = tables.get(part.get("TableName", ""))
            key = part.get("Key") or part.get("Item") or {}
            if table is None or table.hash_key_attr not in key:
                continue
            sort = None if table.range_key_attr is None else key.get(table.range_key_attr)
            place = DynamoType(key[table.hash_key_attr]), sort and DynamoType(sort)
            yield part["TableName"], place


def _with_only(table: Any, places: Sequence[_Place]) -> Any:
    """The table with copies of these items and no others."""
    found = copy.copy(table)
    found.items = defaultdict(dict)
    _put_back(table, found, places, copied=True)
    return found


def _put_back(source: Any, target: Any, places: Sequence[_Place], *, copied: bool = False) -> None:
    """These items of `target` as they are in `source`."""
    for partition, sort in places:
        item = source.get_item(partition, sort) if partition in source.items else None
        if item is None:
            target.delete_item(partition, sort)
        elif sort is None:
            target.items[partition] = copy.deepcopy(item) if copied else item
        else:
            target.items[partition][sort] = copy.deepcopy(item) if copied else item
