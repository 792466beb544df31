"""Transactions of DynamoDB at the endpoint: all or nothing, and nothing of what others write is lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.localaws.conftest import Program

KEYS = ("id", "sort")


@pytest.fixture
def dynamodb(program: Program) -> Any:
    client = program.client("dynamodb")
    client.create_table(
        TableName="t", BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in KEYS],
        KeySchema=[
            {"AttributeName": key, "KeyType": kind}
            for key, kind in zip(KEYS, ("HASH", "RANGE"), strict=True)
        ],
    )  # fmt: skip
    return client


def key(name: str) -> dict[str, Any]:
    return {"id": {"S": "one"}, "sort": {"S": name}}


def put(name: str) -> dict[str, Any]:
    new = {"ConditionExpression": "attribute_not_exists(id)"}
    return {"Put": {"TableName": "t", "Item": key(name), **new}}


def more(name: str) -> dict[str, Any]:
    values = {":one": {"N": "1"}, ":none": {"N": "0"}}
    sums = "SET amount = if_not_exists(amount, :none) + :one"
    return {
        "Update": {
            "TableName": "t", "Key": key(name), "UpdateExpression": sums,
            "ExpressionAttributeValues": values,
        }
    }  # fmt: skip


def names(client: Any) -> dict[str, str]:
    found = client.scan(TableName="t")["Items"]
    return {item["sort"]["S"]: item.get("amount", {}).get("N", "") for item in found}


def test_a_condition_that_fails_leaves_every_item_as_it_was(dynamodb: Any) -> None:
    dynamodb.transact_write_items(TransactItems=[put("there"), more("sum")])
    for part in (more("sum"), more("new")):
        with pytest.raises(ClientError, match="ConditionalCheckFailed"):
            dynamodb.transact_write_items(TransactItems=[part, put("there")])
    assert names(dynamodb) == {"there": "", "sum": "1"}
    delete = {"Delete": {"TableName": "t", "Key": key("there")}}
    dynamodb.transact_write_items(TransactItems=[delete, more("sum")])
    assert names(dynamodb) == {"sum": "2"}


def test_transactions_at_once_lose_nothing(dynamodb: Any) -> None:
    dynamodb.transact_write_items(TransactItems=[put("there")])

    def write(number: int) -> None:
        dynamodb.transact_write_items(TransactItems=[put(f"n{number}"), more("sum")])
        with pytest.raises(ClientError):
            dynamodb.transact_write_items(TransactItems=[more("sum"), put("there")])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    assert names(dynamodb) == {"there": "", "sum": "40", **{f"n{n}": "" for n in range(40)}}
