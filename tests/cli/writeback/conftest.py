"""A volume in its account."""

from __future__ import annotations

from collections.abc import Iterator

import boto3
import pytest

from tests.builders import REGION
from tests.cli.commands.signed_in import account


@pytest.fixture
def made_volume(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The id of a volume as the change of `repository.event` made it."""
    with account(monkeypatch):
        made = boto3.client("ec2", region_name=REGION).create_volume(
            AvailabilityZone=f"{REGION}a", Size=100, VolumeType="gp3", Iops=6000, Throughput=400
        )
        yield made["VolumeId"]
