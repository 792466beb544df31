"""An index that DynamoDB is still making: moto makes each at once."""

from __future__ import annotations

from typing import Any

import pytest

from headroom.adapters.tables import RECORDS
from headroom.cli.doctor import parts
from headroom.cli.doctor.findings import Finding

NAMES = [index.name for index in RECORDS.indexes]


class Dynamo:
    """A healthy table, but for the state of its first index."""

    def __init__(self, state: str) -> None:
        self.state = state

    def describe_table(self, TableName: str) -> dict[str, Any]:
        indexes = [
            {"IndexName": name, "IndexStatus": self.state if name == NAMES[0] else "ACTIVE"}
            for name in NAMES
        ]
        table = {"TableStatus": "UPDATING", "TableArn": TableName}
        return {"Table": {**table, "GlobalSecondaryIndexes": indexes}}

    def describe_continuous_backups(self, TableName: str) -> dict[str, Any]:
        on = {"PointInTimeRecoveryStatus": "ENABLED"}
        return {"ContinuousBackupsDescription": {"PointInTimeRecoveryDescription": on}}

    def describe_time_to_live(self, TableName: str) -> dict[str, Any]:
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED"}}

    def get_resource_policy(self, ResourceArn: str) -> dict[str, Any]:
        return {"Policy": "{}"}


@pytest.mark.parametrize(
    ("state", "problems"),
    [
        ("ACTIVE", []),
        ("UPDATING", []),
        (
            "CREATING",
            [f"the index {NAMES[0]} of the table t is being made: what reads it fails"],
        ),
    ],
)
def test_an_index_that_cannot_be_read_yet_is_a_finding(state: str, problems: list[str]) -> None:
    found = parts._table(Dynamo(state), "t", RECORDS)
    assert [one.problem for one in found if isinstance(one, Finding)] == problems
