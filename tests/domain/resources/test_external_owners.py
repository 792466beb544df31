from __future__ import annotations

import pytest

from headroom.domain.resources import AUTO_MODE_CSI, DEFAULT_CODE_TAGS, EBS_CSI, Tool, code_owner

STACK_ID = "arn:aws:cloudformation:us-east-1:123456789012:stack/orders/0a1b"


@pytest.mark.parametrize(
    ("tags", "tool", "text"),
    [
        ({"aws:cloudformation:stack-name": "orders"}, Tool.CLOUDFORMATION, "stack orders"),
        ({"aws:cloudformation:stack-id": STACK_ID}, Tool.CLOUDFORMATION, "stack orders"),
        ({"aws:cloudformation:logical-id": "Data"}, Tool.CLOUDFORMATION, "stack unknown"),
        (
            {
                "kubernetes.io/created-for/pvc/name": "pg",
                "kubernetes.io/created-for/pvc/namespace": "db",
            },
            Tool.KUBERNETES,
            "claim db/pg",
        ),
        ({"ebs.csi.aws.com/cluster": "true"}, Tool.KUBERNETES, "cluster unknown"),
        ({"kubernetes.io/cluster/prod": "owned"}, Tool.KUBERNETES, "cluster prod"),
        ({"eks:eks-cluster-name": "prod"}, Tool.KUBERNETES, "cluster prod"),
        ({"ManagedBy": "Terraform"}, Tool.TERRAFORM, "Terraform"),
        ({"managed_by": "terraform"}, Tool.TERRAFORM, "Terraform"),
        ({"terraform": "true"}, Tool.TERRAFORM, "Terraform"),
        ({"managed-by": "opentofu"}, Tool.OPENTOFU, "OpenTofu"),
        ({"Pulumi": "TRUE"}, Tool.PULUMI, "Pulumi"),
    ],
)
def test_another_owner_is_recognised_by_its_tags(
    tags: dict[str, str], tool: Tool, text: str
) -> None:
    owner = code_owner(tuple(tags.items()), DEFAULT_CODE_TAGS)
    assert owner is not None
    assert owner.tool is tool
    assert text in str(owner)
    assert owner.detected_from.partition("=")[0] in tags


@pytest.mark.parametrize(
    ("tags", "driver"),
    [
        ({"ebs.csi.aws.com/cluster": "true"}, EBS_CSI), ({"CSIVolumeName": "pvc-1"}, EBS_CSI),
        ({"eks:eks-cluster-name": "prod", "CSIVolumeName": "pvc-1"}, AUTO_MODE_CSI), ({}, ""),
    ],
    ids=["cluster tag", "volume name", "EKS Auto Mode", "in-tree plugin"],
)  # fmt: skip
def test_the_driver_that_made_a_claims_volume_is_known_by_its_tags(
    tags: dict[str, str], driver: str
) -> None:
    claim = {"kubernetes.io/created-for/pvc/name": "pg"}
    owner = code_owner(tuple({**claim, **tags}.items()), DEFAULT_CODE_TAGS)
    assert owner is not None
    assert owner.driver == driver
    assert str(owner).startswith("EKS Auto Mode") == (driver == AUTO_MODE_CSI)


@pytest.mark.parametrize(
    "tags",
    [{}, {"Name": "terraform"}, {"managed-by": "alice"}, {"terraform": "false"}, {"team": "iac"}],
)
def test_other_tags_say_nothing_of_an_owner(tags: dict[str, str]) -> None:
    assert code_owner(tuple(tags.items()), DEFAULT_CODE_TAGS) is None


def test_the_policys_own_tags_take_the_place_of_the_usual_ones() -> None:
    tags = (("deployed-with", "our-tool"),)
    owner = code_owner(tags, tags)
    assert owner is not None
    assert (owner.tool, owner.detected_from) == (Tool.CODE, "deployed-with=our-tool")
    assert code_owner((("managed-by", "terraform"),), tags) is None


def test_a_claim_goes_before_a_stack_and_a_stack_before_a_tag() -> None:
    code, stack = ("managed-by", "terraform"), ("aws:cloudformation:stack-name", "eks")
    claim = ("kubernetes.io/created-for/pvc/name", "pg")
    found = [code_owner(tags, DEFAULT_CODE_TAGS) for tags in ((code,), (code, stack),
             (code, stack, claim))]  # fmt: skip
    tools = [Tool.TERRAFORM, Tool.CLOUDFORMATION, Tool.KUBERNETES]
    assert [owner and owner.tool for owner in found] == tools
