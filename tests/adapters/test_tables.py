"""The tables as data: what CreateTable gets, and what it must never allow."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headroom.adapters.tables import (
    DUE,
    LEDGER_ACTIONS,
    RECORDS,
    STATE,
    Table,
    account_key,
    create_table,
)


@pytest.mark.parametrize("table", [RECORDS, STATE])
def test_every_key_is_defined_and_nothing_else(table: Table) -> None:
    arguments = create_table(table, "name")
    defined = {a["AttributeName"] for a in arguments["AttributeDefinitions"]}
    keys = {k["AttributeName"] for k in arguments["KeySchema"]}
    for index in arguments["GlobalSecondaryIndexes"]:
        keys |= {k["AttributeName"] for k in index["KeySchema"]}
    assert defined == keys
    assert arguments["BillingMode"] == "PAY_PER_REQUEST"


def test_no_index_carries_bodies() -> None:
    for index in RECORDS.indexes:
        assert "body" not in index.carries


def test_the_index_of_what_is_due_carries_what_orders_it() -> None:
    index, _ = create_table(STATE, "s")["GlobalSecondaryIndexes"]
    assert index["IndexName"] == DUE
    assert index["Projection"] == {
        "ProjectionType": "INCLUDE",
        "NonKeyAttributes": ["due_at", "urgency", "due_why"],
    }


def test_nothing_in_records_can_be_changed_or_removed() -> None:
    for action in LEDGER_ACTIONS["records"]:
        assert not any(word in action for word in ("Update", "Delete", "BatchWrite", "PartiQL"))


def test_two_regions_of_an_account_have_a_key_each() -> None:
    assert account_key("123456789012", "us-east-1") != account_key("123456789012", "eu-west-1")


def test_the_schema_loads_without_a_single_package() -> None:
    code = (
        "import sys, headroom.adapters.tables as s; "
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'boto3', 'botocore', 'cattrs'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
