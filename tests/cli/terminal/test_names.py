"""What people call storage, and what it is then."""

from __future__ import annotations

import pytest

from headroom.cli.terminal.names import named, short
from headroom.cli.terminal.problems import BadRequest

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
    with pytest.raises(BadRequest, match=r"is not (a volume id|an ARN of)"):
        named(said, **PLACE)


def test_a_plain_name_is_answered_with_the_two_it_could_be() -> None:
    """RDS lets an instance and a cluster of one account and Region have the same name."""
    with pytest.raises(BadRequest) as raised:
        named("orders", **PLACE)
    assert "write db:orders for a DB instance of that name, cluster:orders for" in str(raised.value)


@pytest.mark.parametrize("name", ["vol-0abc", "db:orders", "cluster:trio-2"])
def test_a_displayed_name_can_be_typed(name: str) -> None:
    arn = named(name, **PLACE).arn
    assert short(arn) == name
    assert named(short(arn), **PLACE).arn == arn


def test_anything_but_storage_is_displayed_by_its_last_part() -> None:
    assert short("account#123456789012#us-east-1") == "account#123456789012#us-east-1"
    assert short("arn:aws:events:us-east-1:1:rule/mine") == "mine"
