"""All that takes up an account's budget, read from the state table with a person's own rights.

The functions never read it like this: they need one resource at a time. Needs `dynamodb:Scan`
beside what `headroom status` needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from headroom.adapters.errors import reading
from headroom.adapters.ledger.items import Item, readable, ref_of, state_of, unwire, wire
from headroom.adapters.ledger.reads import Reads
from headroom.adapters.ledger.state_table import SUM
from headroom.adapters.tables import BUDGET, STATE_ITEM, account_key
from headroom.domain.ledger import Budget, budget
from headroom.domain.resources import ResourceRef
from headroom.domain.state import StoredState
from headroom.ports import ReadFailed

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

NEEDED = (
    "owner", "item", "format", "version", "enrolment_usd", "in_force_micro_usd", "in_force_since", "in_force_by",
    "reserved", "chain",
)  # fmt: skip
"""Attributes of a resource's item that its part of the budget follows from."""
TRIES = 3


def account_sum(client: DynamoDBClient, *, table: str, account_id: str, region: str) -> int:
    """The account's sum of increases in micro-USD, read consistently; raises ReadFailed."""
    key = {"owner": wire(account_key(account_id, region)), "item": wire(BUDGET)}
    found = Reads(client).items(table, [key])
    with reading("the account's budget"):
        return int(unwire(readable(found[0])[SUM])) if found else 0


def read_budget(client: DynamoDBClient, *, table: str, account_id: str, region: str) -> Budget:
    """The account's budget at one instant; raises ReadFailed, also while it never stands still.

    A scan takes a while and is no snapshot: it counts only if the sum is the same after it.
    """
    for _ in range(TRIES):
        before = account_sum(client, table=table, account_id=account_id, region=region)
        found = budget(before, _states(client, table, account_id, region))
        after = account_sum(client, table=table, account_id=account_id, region=region)
        if before == after or not found.drift_usd:
            return found
    raise ReadFailed(f"the budget moved each of the {TRIES} times it was read; ask again")


def _states(
    client: Any, table: str, account_id: str, region: str
) -> Iterator[tuple[ResourceRef, StoredState]]:
    """Every resource's state in so far as the budget needs it, a page of 1 MB at a time."""
    names = {f"#{number}": name for number, name in enumerate(NEEDED)}
    request: dict[str, Any] = {
        "TableName": table,
        "ConsistentRead": True,
        "FilterExpression": "#item = :state",
        "ProjectionExpression": ", ".join(names),
        "ExpressionAttributeNames": names | {"#item": "item"},
        "ExpressionAttributeValues": {":state": wire(STATE_ITEM)},
    }
    while True:
        with reading("Scan"):
            answer = client.scan(**request)
            page = [_state(item) for item in answer["Items"]]
        for ref, state in page:
            if (ref.account_id, ref.region) == (account_id, region):
                yield ref, state
        if "LastEvaluatedKey" not in answer:
            return
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


def _state(item: Item) -> tuple[ResourceRef, StoredState]:
    state, _ = state_of(item)
    return ref_of(unwire(item["owner"])), state
