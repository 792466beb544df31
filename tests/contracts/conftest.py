"""Every implementation of the ledger, held to the same tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from typing import Any

import boto3
import pytest
from botocore.config import Config
from moto import mock_aws

from headroom.adapters.ledger import DynamoLedger
from headroom.adapters.tables import RECORDS, STATE, create_table
from headroom.proving.memory import InMemoryLedger
from tests.builders import ACCOUNT, REGION
from tests.dynamodb_local import server

_NUMBER = count()
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")


@pytest.fixture(scope="session")
def dynamodb_local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of DynamoDB Local; skips where it cannot run, except in CI, where that is a failure.

    Test workers share one; each names its tables after itself.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if WORKER else base) / "dynamodb-local"
    folder.mkdir(exist_ok=True)
    try:
        with server.running(folder) as url:
            yield url
    except server.CannotRun as problem:
        if server.required():
            pytest.fail(str(problem))
        pytest.skip(str(problem))


@pytest.fixture(scope="session")
def local_client(dynamodb_local: str) -> Any:
    """A client of DynamoDB Local for many threads."""
    return boto3.client(
        "dynamodb", region_name=REGION, endpoint_url=dynamodb_local,
        aws_access_key_id="test", aws_secret_access_key="test",
        config=Config(max_pool_connections=64, retries={"mode": "standard"}),
    )  # fmt: skip


def tables(client: Any) -> DynamoLedger:
    """A ledger over two new tables."""
    records, state = f"records-{WORKER}-{next(_NUMBER)}", f"state-{WORKER}-{next(_NUMBER)}"
    client.create_table(**create_table(RECORDS, records))
    client.create_table(**create_table(STATE, state))
    return DynamoLedger(
        client, records_table=records, state_table=state, account_id=ACCOUNT, region=REGION
    )


@pytest.fixture
def memory_ledger() -> InMemoryLedger:
    return InMemoryLedger(ACCOUNT, REGION)


@pytest.fixture(scope="module")
def moto_client() -> Iterator[Any]:
    """A client of moto; a module's tests share it, each with tables of its own."""
    with mock_aws():
        yield boto3.client(
            "dynamodb", region_name=REGION,
            aws_access_key_id="test", aws_secret_access_key="test",
        )  # fmt: skip


@pytest.fixture
def moto_ledger(moto_client: Any) -> DynamoLedger:
    return tables(moto_client)


@pytest.fixture
def local_ledger(local_client: Any) -> DynamoLedger:
    return tables(local_client)


LOCAL = pytest.param("local_ledger", marks=pytest.mark.java)
STORED = LOCAL if server.required() or server.why_not() is None else "moto_ledger"
"""The ledger on tables: AWS's own DynamoDB Local; moto only where that cannot run."""
IMPLEMENTATIONS = ("memory_ledger", STORED)


@pytest.fixture(params=IMPLEMENTATIONS)
def ledger(request: pytest.FixtureRequest) -> Any:
    """Ledger, Standings, FleetScan and Archive in one, each implementation in turn."""
    return request.getfixturevalue(request.param)


@pytest.fixture(params=["memory_ledger", LOCAL])
def raced(request: pytest.FixtureRequest) -> Any:
    """The implementations that many threads may use at once (moto's store is not one)."""
    return request.getfixturevalue(request.param)
