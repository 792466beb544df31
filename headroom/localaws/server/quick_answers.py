"""Lets moto answer faster, with the same content.

moto tries half a dozen names for every member of every shape, sorts a whole table for every query of
an index, and lists a class's methods for every request: 2 ms for EC2.
"""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from functools import cache, lru_cache
from threading import local
from typing import Any

from moto.core import responses, serialize
from moto.core.responses import ActionResult
from moto.core.utils import get_value
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import Table
from moto.dynamodb.parsing.expressions import UpdateExpressionParser
from moto.dynamodb.responses import DynamoResult

ITEMS = frozenset(
    {
        "BatchGetItem", "BatchWriteItem", "DeleteItem", "GetItem", "PutItem", "Query", "Scan",
        "TransactGetItems", "TransactWriteItems", "UpdateItem",
    }
)  # fmt: skip
"""Operations whose answers are, in moto, already what DynamoDB writes as JSON."""
_NAMES = "_local_names"
_slow = serialize.ResponseSerializer.get_value
_slow_list = serialize.BaseJSONSerializer._serialize_type_list
_slow_query, _slow_all_items = Table.query, Table.all_items
_slow_size = DynamoType.size
_asked = local()
"""`.keys`: the attributes and texts of the hash key that a query asks for."""
INDEX_NAME = 6
"""Its place among the arguments of moto's Table.query after the hash key."""


def install() -> None:
    """Replace moto's functions; once, before the first request."""
    DynamoResult.execute_result = _items
    serialize.ResponseSerializer.get_value = _member
    serialize.BaseJSONSerializer._serialize_type_list = _list
    Table.query, Table.all_items = _query, _all_items
    DynamoType.size = _size
    responses.method_names_from_class = cache(responses.method_names_from_class)
    # Parsed twice for every update; moto copies what it changes.
    UpdateExpressionParser.make = staticmethod(lru_cache(512)(UpdateExpressionParser.make))


def _items(result: Any, context: Any) -> Any:
    """The answer to an operation on items; anything else, and every error, is left to moto."""
    body, model = result.result, context.operation_model
    if (
        model.name not in ITEMS
        or not isinstance(body, dict)
        or not issubclass(context.serializer_class, serialize.BaseJSONSerializer)
    ):
        return ActionResult.execute_result(result, context)
    known = {name: v for name, v in body.items() if v is not None}
    version = model.service_model.metadata.get("jsonVersion", "1.0")
    headers = {"Content-Type": f"application/x-amz-json-{version}"}
    return 200, headers, json.dumps(known, default=_wire)


def _wire(value: object) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} is no type of an item")


def _query(table: Table, hash_key: DynamoType, *others: Any, **named: Any) -> Any:
    """A query, which sorts only the items that have the hash key it asks for."""
    of_index = others[INDEX_NAME] if len(others) > INDEX_NAME else named.get("index_name")
    own = ((table.hash_key_attr, hash_key),)
    asked = named.get("hash_key_conditions") or () if of_index else own
    _asked.keys = [(name, key.value) for name, key in asked if key.type == "S"]
    try:
        return _slow_query(table, hash_key, *others, **named)
    finally:
        _asked.keys = ()


def _all_items(table: Table) -> list[Item]:
    """The items in order of their keys; a key's value is computed once, not per comparison."""
    if table.range_key_attr:
        found = [item for hash_set in table.items.values() for item in hash_set.values()]
    else:
        found = list(table.items.values())
    for name, text in getattr(_asked, "keys", ()):
        found = [i for i in found if (at := i.attrs.get(name)) and at.value == text]
    return sorted(found, key=_keys)


def _keys(item: Item) -> Any:
    key = item.hash_key.cast_value
    return (key, item.range_key.cast_value) if item.range_key else key


def _size(value: DynamoType) -> int:
    """Its size in bytes. moto copies a map and all that it holds to measure it."""
    if type(value) is not DynamoType:
        value = DynamoType(value)
    kind, content = value.type, value.value
    if kind == "M":
        return sum(len(name.encode()) + _size(each) for name, each in content.items())
    if kind == "S":
        return len(content) if content.isascii() else len(content.encode())
    return int(_slow_size(value))


def _list(serializer: Any, serialized: Any, value: Any, shape: Any, key: str) -> None:
    """A list; one of numbers or of whole seconds, as of a metric's datapoints, in one go."""
    kind = shape.member.type_name
    if kind == "double" and all(type(each) is float for each in value):
        serializer._default_serialize(serialized, list(value), shape, key)
    elif kind == "timestamp" and _in_seconds(serializer, shape.member) and all(map(_whole, value)):
        serializer._default_serialize(serialized, [int(at.timestamp()) for at in value], shape, key)
    else:
        _slow_list(serializer, serialized, value, shape, key)


def _in_seconds(serializer: Any, shape: Any) -> bool:
    usual = serializer.DEFAULT_TIMESTAMP_FORMAT
    return bool(shape.serialization.get("timestampFormat", usual) == "unixtimestamp")


def _whole(at: object) -> bool:
    """Whether it is a whole second of UTC."""
    return type(at) is datetime and at.tzinfo is UTC and not at.microsecond


def _member(serializer: Any, value: Any, key: str, shape: Any) -> Any:
    """A member's value; the names it may have are the same for all objects of a class."""
    picker = serializer._value_picker
    if type(picker) is not serialize.XFormedAttributePicker or picker.response_transformers:
        return _slow(serializer, value, key, shape)
    names = _names(serializer, picker, value, key, shape)
    if type(value) is dict:
        for name in names:
            if name in value:
                return value[name]
        return None
    for name in names:
        found = get_value(value, name, serialize.MISSING)
        if found is not serialize.MISSING:
            return found
    return None


def _names(serializer: Any, picker: Any, value: Any, key: str, shape: Any) -> tuple[str, ...]:
    known: dict[Any, tuple[str, ...]] = shape.__dict__.setdefault(_NAMES, {})
    which = (type(value), key)
    found = known.get(which)
    if found is None:
        context = serialize.AttributePickerContext(
            obj=value, key=key, shape=shape, operation_model=serializer.operation_model,
            service_model=serializer.operation_model.service_model, key_path="",
        )  # fmt: skip
        found = known[which] = tuple(dict.fromkeys(picker.get_possible_keys(context)))
    return found
