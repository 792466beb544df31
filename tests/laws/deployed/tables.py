"""DynamoDB behind the wire: conditions judged on every request, tokens, and indexes that lag."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.exceptions import ClientError

from headroom.adapters.tables import Table
from headroom.proving.memory.dynamodb import DynamoDbInMemory, Stored
from tests.laws.deployed.wire import Call, Refusal

OPERATIONS = {
    "BatchGetItem": "batch_get_item", "Query": "query", "PutItem": "put_item",
    "UpdateItem": "update_item", "DeleteItem": "delete_item",
    "TransactWriteItems": "transact_write_items",
}  # fmt: skip
LONG_AGO = datetime.min.replace(tzinfo=UTC)
TOKEN = timedelta(minutes=10)
"""How long a repeated token is the same transaction. Source: TransactWriteItems (2026-11)."""


class DynamoDb(DynamoDbInMemory):
    """The ledger's two tables; `lag` is how old the answers of its indexes are."""

    def __init__(self) -> None:
        super().__init__()
        self.now = LONG_AGO
        self.lag = timedelta(0)
        self.seen: set[str] = set()
        """Conditions that writes were made under."""
        self._writes: list[tuple[datetime, Table, Stored, Stored]] = []
        self._tokens: dict[str, datetime] = {}

    def answer(self, call: Call) -> Mapping[str, Any]:
        """One request as JSON; raises Refusal."""
        asked = dict(call.asked)
        asked.pop("ReturnValues", None)
        parts = [part for each in asked.get("TransactItems", ()) for part in each.values()]
        for part in (asked, *parts):
            if "ConditionExpression" in part:
                self.seen.add(f"{part['TableName']}: {part['ConditionExpression']}")
        if call.operation == "TransactWriteItems":
            token = asked["ClientRequestToken"]
            if self.now - self._tokens.get(token, LONG_AGO) < TOKEN:
                return {}
        try:
            done: Mapping[str, Any] = getattr(self, OPERATIONS[call.operation])(**asked)
        except ClientError as error:
            response: Any = error.response
            more = {k: v for k, v in response.items() if k == "CancellationReasons"}
            raise Refusal(response["Error"]["Code"], **more) from None
        if call.operation == "TransactWriteItems":
            self._tokens[token] = self.now
        return done

    def query(self, **request: Any) -> Mapping[str, Any]:
        """Indexes are eventually consistent: what was written within `lag` is not there yet."""
        if "ExclusiveStartKey" in request:
            request["ExclusiveStartKey"] = json.loads(request["ExclusiveStartKey"]["cursor"]["S"])
        recent = [w for w in self._writes[-40:] if w[0] > self.now - self.lag]
        if "IndexName" not in request or not recent:
            return _paged(super().query(**request))
        for _, table, before, after in reversed(recent):
            super()._replace(table, after, before)
        try:
            return _paged(super().query(**request))
        finally:
            for _, table, before, after in recent:
                super()._replace(table, before, after)

    def items(self, table: str) -> list[Any]:
        """Every item of a table, as it is stored."""
        return [
            stored.item
            for (name, _), stored_by_key in self._partitions.items()
            if name == table
            for stored in stored_by_key.values()
        ]

    def partition(self, name: str, value: str) -> list[Stored]:
        """The items of one partition of a table or index."""
        return list(self._partitions.get((name, value), {}).values())

    def _replace(self, table: Table, before: Stored, after: Stored) -> None:
        self._writes.append((self.now, table, before, after))
        super()._replace(table, before, after)


def _paged(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """The place where the next page begins as a key of attribute values, as DynamoDB writes it."""
    if "LastEvaluatedKey" not in answer:
        return answer
    return {**answer, "LastEvaluatedKey": {"cursor": {"S": json.dumps(answer["LastEvaluatedKey"])}}}
