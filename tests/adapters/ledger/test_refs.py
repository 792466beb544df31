"""A resource's ARN is its key in the ledger: read back, it is the same resource."""

from __future__ import annotations

import pytest

from headroom.adapters.ledger.items import ref_of
from headroom.domain.resources import Kind, ResourceRef
from tests.builders import ACCOUNT, REGION


@pytest.mark.parametrize(
    ("kind", "name"), [(Kind.EBS, "vol-1"), (Kind.RDS, "orders"), (Kind.RDS, "cluster:trio")]
)
def test_what_is_due_is_the_resource_that_was_kept(kind: Kind, name: str) -> None:
    ref = ResourceRef(kind=kind, account_id=ACCOUNT, region=REGION, resource_id=name)
    assert ref_of(ref.arn) == ref


@pytest.mark.parametrize(
    "arn",
    ["", "vol-1", f"arn:aws:rds:{REGION}:{ACCOUNT}:snapshot:orders", "arn:aws:rds:x:y:db:",
     f"arn:aws:ec2:{REGION}:{ACCOUNT}:instance/i-1"],
)  # fmt: skip
def test_an_arn_of_anything_else_is_none_of_ours(arn: str) -> None:
    with pytest.raises(ValueError, match="is no volume's or database's ARN"):
        ref_of(arn)
