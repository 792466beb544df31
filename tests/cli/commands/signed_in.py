"""An account of moto that the command line is signed in to, and a deployment's ledger in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import boto3
import pytest
from moto import mock_aws

from headroom.adapters.ledger import DynamoLedger
from headroom.adapters.tables import RECORDS, STATE, create_table
from headroom.policy import canonical_json, default_policy
from tests.builders import ACCOUNT, REGION

STACK = json.dumps(
    {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {"RecordsTable": {"Value": "records"}, "StateTable": {"Value": "state"}},
    }
)


@contextmanager
def account(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty account, and keys of it in the environment."""
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
        patch.setenv(f"AWS_{name}", "test")
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL"):
        patch.delenv(name, raising=False)
    with mock_aws():
        yield


def tables() -> DynamoLedger:
    """The ledger of new tables."""
    client = boto3.client("dynamodb", region_name=REGION)
    client.create_table(**create_table(RECORDS, "records"))
    client.create_table(**create_table(STATE, "state"))
    return DynamoLedger(
        client, records_table="records", state_table="state", account_id=ACCOUNT, region=REGION
    )


def deployed() -> DynamoLedger:
    """The ledger of a new deployment, with the default policy."""
    ledger = tables()
    boto3.client("cloudformation", region_name=REGION).create_stack(
        StackName="HeadroomState", TemplateBody=STACK
    )
    boto3.client("ssm", region_name=REGION).put_parameter(
        Name="/headroom/policy", Value=canonical_json(default_policy()), Type="String"
    )
    return ledger
