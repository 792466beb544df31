"""Records and state as DynamoDB items and back."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from headroom.adapters.tables import EXPIRES, STATE_ITEM, WAITING_SHARD, due_shard
from headroom.domain.resources import Kind, ResourceRef
from headroom.domain.state import (
    STATE_FORMAT,
    Record,
    StoredState,
    plain_cents,
    require_format,
    step_of,
)
from headroom.serialization import from_plain, instant_text, to_plain

Item = dict[str, Any]
"""An item in DynamoDB's own notation: `{"step": {"S": "decided"}}`."""

BESIDE = (
    "owner", "item", "format", "version", "written_by", "due_shard", "wake_at", "due_why",
    "waiting_shard", "waiting_rank",
)  # fmt: skip
"""Attributes of an item in `state` that are not its content."""
USABLE = "(attribute_not_exists(#item) OR #format <= :format)"
"""Condition of an update: a new item, or one in a format that this release reads."""
USABLE_NAMES = {"#format": "format", "#item": "item"}


def moment(at: datetime) -> str:
    """An instant as text that sorts by time: ISO 8601 in UTC, always with microseconds."""
    if at.tzinfo is None:
        raise ValueError(f"{at!r} has no time zone; pass an aware instant.")
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def day(at: datetime) -> str:
    """The UTC date of an instant, YYYY-MM-DD."""
    return at.astimezone(UTC).date().isoformat()


def wire(value: Any) -> Item:
    """JSON's own types, and bytes, in DynamoDB's notation."""
    match value:
        case str():
            return {"S": value}
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case bytes():
            return {"B": value}
        case int() | float():
            return {"N": repr(value)}
        case list() | tuple():
            return {"L": [wire(part) for part in value]}
        case dict():
            return {"M": {name: wire(part) for name, part in value.items()}}
    raise TypeError(f"a {type(value).__name__} has no place in an item")


def unwire(attribute: Item) -> Any:
    """JSON's own types from DynamoDB's notation."""
    ((kind, value),) = attribute.items()
    if kind == "S":
        return value
    match kind:
        case "NULL":
            return None
        case "N":
            return float(value) if "." in value or "e" in value.lower() else int(value)
        case "L":
            return [unwire(part) for part in value]
        case "M":
            return {name: unwire(part) for name, part in value.items()}
        case _:
            return value


def item_of(record: Record, written_by: str, expires: datetime | None = None) -> Item:
    """The item of a record; `written_by` distinguishes a lost response from a lost race.

    DynamoDB deletes it some time after `expires`, never without one.
    """
    at, price = record.at, record.price_change_usd
    attributes = {
        "format": record.format,
        "decision_id": record.decision_id,
        "sequence": record.sequence,
        "step": record.step.value,
        "resource": record.resource,
        "at": instant_text(at),
        "outcome": record.outcome,
        "summary": record.summary,
        "body": record.body,
        "previous_hash": record.previous_hash,
        "hash": record.hash,
        "moment": f"{moment(at)}#{record.sequence:04}#{record.decision_id}",
        "day": day(at),
        "outcome_day": f"{record.outcome}#{day(at)}",
        "written_by": written_by,
    }
    if record.reason:
        attributes["reason"] = record.reason
    if expires is not None:
        attributes[EXPIRES] = int(expires.timestamp())
    item = {name: wire(value) for name, value in attributes.items()}
    return item if price is None else item | {"price_change_usd": {"N": str(price)}}


def price_change_of(item: Item) -> Decimal | None:
    """The change of the monthly price of an item in `records`, exactly as it is stored."""
    found = item.get("price_change_usd")
    return None if found is None else plain_cents(Decimal(found["N"]))


def record_of(item: Item) -> Record:
    """The record in an item, of whatever format; raises KeyError or ValueError on anything else.

    Who acts on it calls `require_format` first.
    """
    plain = {name: unwire(attribute) for name, attribute in item.items()}
    return Record(
        format=plain["format"],
        decision_id=plain["decision_id"], sequence=plain["sequence"], step=step_of(plain["step"]),
        resource=plain["resource"], at=datetime.fromisoformat(plain["at"]).astimezone(UTC),
        outcome=plain["outcome"], summary=plain["summary"], body=plain["body"],
        previous_hash=plain["previous_hash"], hash=plain["hash"],
        reason=plain.get("reason", ""), price_change_usd=price_change_of(item),
    )  # fmt: skip


def readable(item: Item) -> Item:
    """The same item of the table `state`; raises WrongFormat when this release may not use it."""
    found = unwire(item["format"]) if "format" in item else None
    require_format(found, STATE_FORMAT, f"the item {unwire(item['item'])}")
    return item


def stamped(update: Item, *, usable: bool = True) -> Item:
    """The same update of an item of the table `state`, in this release's format.

    Its condition fails on an item that this release cannot read. Not `usable` is for what must
    happen to any item: it keeps the format that the item has.
    """
    expression = update["UpdateExpression"]
    sets = expression.removeprefix("SET ")
    joint = ", " if sets != expression else " "
    stamp = "#format = :format" if usable else "#format = if_not_exists(#format, :format)"
    guarded = update | {
        "UpdateExpression": f"SET {stamp}{joint}{sets}",
        "ExpressionAttributeNames": update["ExpressionAttributeNames"] | {"#format": "format"},
        "ExpressionAttributeValues": update.get("ExpressionAttributeValues", {})
        | {":format": wire(STATE_FORMAT)},
    }
    if usable:
        guarded["ExpressionAttributeNames"] |= USABLE_NAMES
        condition = update.get("ConditionExpression")
        guarded["ConditionExpression"] = f"({condition}) AND {USABLE}" if condition else USABLE
    return guarded


def versioned_put(table: str, item: Item, *, over: int) -> Item:
    """Part of a transaction: `item` in place of version `over`, 0 being no item."""
    put: Item = {
        "TableName": table,
        "Item": item,
        "ConditionExpression": "attribute_not_exists(#version)",
        "ExpressionAttributeNames": {"#version": "version"},
    }
    if over:
        put["ConditionExpression"] = "#version = :version"
        put["ExpressionAttributeValues"] = {":version": wire(over)}
    return {"Put": put}


def state_item(ref: ResourceRef, state: StoredState, *, version: int, written_by: str) -> Item:
    """The item of a resource; in the indexes of what is due and what waits only while it is."""
    plain = to_plain(state) | {
        "owner": ref.arn, "item": STATE_ITEM, "format": STATE_FORMAT, "version": version,
        "written_by": written_by,
    }  # fmt: skip
    if state.due_at is not None:
        due_at = moment(state.due_at)
        plain |= {"due_at": due_at, "wake_at": due_at, "due_shard": due_shard(ref.arn)}
    if state.waiting is not None:
        plain |= {"waiting_rank": state.waiting.rank, "waiting_shard": WAITING_SHARD}
    return {name: wire(value) for name, value in plain.items() if value is not None}


def state_of(
    item: Item | None, like: tuple[Item, StoredState] | None = None
) -> tuple[StoredState, int]:
    """The state in an item and its version; a fresh one at version 0 when there is no item.

    Of `like`, another item with its state, is taken what both have: a reconciliation reads one item often.
    """
    if item is None:
        return StoredState(), 0
    known, state = like or ({}, StoredState())
    changed = [
        name
        for name in readable(item).keys() | known.keys()
        if name not in BESIDE and item.get(name) != known.get(name)
    ]
    plain = {name: unwire(item[name]) for name in changed if name in item}
    found: StoredState = from_plain(plain, StoredState)
    moved = {name: getattr(found, name) for name in changed if name in _STATE}
    return replace(state, **moved), int(unwire(item["version"]))


_STATE = {field.name for field in fields(StoredState)}


def ref_of(arn: str) -> ResourceRef:
    """The resource that an ARN names; raises ValueError when it is no storage's.

    The ARN of an Aurora cluster looks the same as that of a Multi-AZ DB cluster: it is read as the latter.
    """
    parts = arn.split(":", 5)
    kind, name = Kind.EBS, ""
    if len(parts) == 6 and parts[2] == "rds":
        kind = Kind.RDS
        name = parts[5].removeprefix("db:") if parts[5].startswith("db:") else ""
        name = name or (parts[5] if parts[5].startswith("cluster:") else "")
    elif len(parts) == 6 and parts[5].startswith("volume/"):
        name = parts[5].removeprefix("volume/")
    if not name:
        raise ValueError(f"{arn!r} is no volume's or database's ARN")
    return ResourceRef(kind=kind, account_id=parts[4], region=parts[3], resource_id=name)
