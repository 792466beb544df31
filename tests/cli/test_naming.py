"""What people call storage, and what it is then."""

from __future__ import annotations

import pytest

from headroom.cli.naming import named
from headroom.cli.problems import BadRequest

PLACE = {"account_id": "123456789012", "region": "us-east-1"}
ARN = "arn:aws:{}:us-east-1:123456789012:{}"


@pytest.mark.parametrize(
    ("said", "arn"),
    [
        ("vol-0abc", ARN.format("ec2", "volume/vol-0abc")),
        (ARN.format("ec2", "volume/vol-0abc"), ARN.format("ec2", "volume/vol-0abc")),
        ("db:Orders", ARN.format("rds", "db:orders")),
        ("cluster:trio", ARN.format("rds", "cluster:trio")),
        (ARN.format("rds", "db:orders"), ARN.format("rds", "db:orders")),
    ],
)
def test_storage_is_named_by_id_by_kind_and_name_or_by_arn(said: str, arn: str) -> None:
    assert named(said, **PLACE).arn == arn


@pytest.mark.parametrize(
    "said", ["orders", "db:", "vol-", "", "arn:aws:rds:eu-west-1:123456789012:db:orders", "arn:x"]
)
def test_anything_else_is_one_clear_sentence(said: str) -> None:
    with pytest.raises(BadRequest, match=r"is no (volume's id|ARN of)"):
        named(said, **PLACE)
