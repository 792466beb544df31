"""A volume in its account."""

from __future__ import annotations

from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws

from tests.builders import REGION


@pytest.fixture
def made_volume(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The id of a volume as the change of `repository.event` made it."""
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
        monkeypatch.setenv(f"AWS_{name}", "test")
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    with mock_aws():
        made = boto3.client("ec2", region_name=REGION).create_volume(
            AvailabilityZone=f"{REGION}a", Size=100, VolumeType="gp3", Iops=6000, Throughput=400
        )
        yield made["VolumeId"]
