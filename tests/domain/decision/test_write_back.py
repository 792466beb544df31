"""What is handed over is read by the parsers of those who get it."""

from __future__ import annotations

import json
import re
import shlex

import pytest
import yaml
from cfnlint.api import lint
from cfnlint.config import ManualArgs

from headroom.domain.decision import write_back_text
from headroom.domain.decision.write_back import WriteBack, class_name, write_back
from headroom.domain.resources import (
    DEFAULT_CODE_TAGS,
    CodeOwner,
    Configuration,
    VolumeType,
    code_owner,
)
from tests.builders import gp2, gp3, io, volume

STACK = {"aws:cloudformation:stack-name": "orders", "aws:cloudformation:logical-id": "DataVolume"}
CLAIM = {"kubernetes.io/created-for/pvc/name": "pg-0", "kubernetes.io/created-for/pvc/namespace": "db"}  # fmt: skip
TERRAFORM = {"ManagedBy": "terraform"}
TARGETS = pytest.mark.parametrize(
    "target", [gp3(500, 9000, 400), io(VolumeType.IO2, 500, 9000), gp2(1000)], ids=str
)


def handed(tags: dict[str, str], target: Configuration) -> tuple[WriteBack, ...]:
    owner = code_owner(tuple(tags.items()), DEFAULT_CODE_TAGS)
    assert owner is not None
    return write_back(volume(), owner, target)


def settings(target: Configuration) -> dict[str, object]:
    values = {"type": target.volume_type.value, "iops": target.iops}
    values["throughput"] = target.throughput_mibps
    return {name: value for name, value in values.items() if value is not None}


@TARGETS
def test_cloudformations_linter_takes_the_resource(target: Configuration) -> None:
    (part,) = handed(STACK, target)
    resource = yaml.safe_load(part.text)["DataVolume"]
    names = {"type": "VolumeType", "iops": "Iops", "throughput": "Throughput"}
    assert resource["Properties"] == {
        "Size": target.size_gib, **{names[k]: v for k, v in settings(target).items()},
    }  # fmt: skip
    resource["Properties"]["AvailabilityZone"] = "us-east-1a"
    resource |= {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}
    template = {"AWSTemplateFormatVersion": "2010-09-09", "Resources": {"DataVolume": resource}}
    found = lint(json.dumps(template), config=ManualArgs(regions=["us-east-1"]))
    # The zone stands here for what the template has of its own, which is not what is tested.
    assert [match for match in found if match.rule.id != "W3010"] == []


def test_the_linter_would_have_found_a_mistake() -> None:
    bad = {"Resources": {"V": {"Type": "AWS::EC2::Volume", "Properties": {"Iops": "many"}}}}
    assert lint(json.dumps(bad), config=ManualArgs(regions=["us-east-1"])) != []


@TARGETS
def test_a_claim_gets_a_class_of_its_own_values_and_the_patch_that_names_it(
    target: Configuration,
) -> None:
    one, patch = handed(CLAIM, target)
    made = yaml.safe_load(one.text)
    assert made == {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttributesClass",
        "metadata": {"name": class_name(target)},
        "driverName": "ebs.csi.aws.com",
        "parameters": {name: str(value) for name, value in settings(target).items()},
    }
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", made["metadata"]["name"])
    words = shlex.split(patch.text)
    assert words[:6] == ["kubectl", "patch", "pvc", "pg-0", "--namespace", "db"]
    assert json.loads(words[7]) == {"spec": {"volumeAttributesClassName": made["metadata"]["name"]}}


def test_a_claims_name_is_never_taken_for_part_of_the_command() -> None:
    _, patch = handed({**CLAIM, "kubernetes.io/created-for/pvc/name": "x; rm -rf /"}, gp3())
    assert shlex.split(patch.text)[3] == "x; rm -rf /"


@TARGETS
def test_terraform_gets_the_arguments_of_each_resource_it_may_be_in(target: Configuration) -> None:
    alone, root, ignored = handed(TERRAFORM, target)
    for part, kind, size in (
        (alone, "type", "size"), (root, "volume_type", "volume_size"),
    ):  # fmt: skip
        head, *lines, last = part.text.splitlines()
        assert head.endswith("{")
        assert last == "}"
        pairs = dict(re.fullmatch(r"  (\w+) += (\S+)", line).groups() for line in lines)  # type: ignore[union-attr]
        assert {name: json.loads(value) for name, value in pairs.items()} == {
            size: target.size_gib,
            **{kind if k == "type" else k: v for k, v in settings(target).items()},
        }
    assert "ignore_changes = [type, size, iops, throughput]" in ignored.text


def test_a_nodes_own_volume_is_said_to_come_with_its_launch_template() -> None:
    (part,) = handed({"kubernetes.io/cluster/prod": "owned"}, gp3(50, 4000, 200))
    assert "launch template" in part.where
    assert yaml.safe_load(part.text) == {
        "VolumeType": "gp3", "VolumeSize": 50, "Iops": 4000, "Throughput": 200,
    }  # fmt: skip


def test_pulumi_gets_properties_of_the_volume() -> None:
    (part,) = handed({"pulumi": "true"}, gp3(50, 4000, 200))
    assert yaml.safe_load(part.text) == {
        "type": "gp3", "size": 50, "iops": 4000, "throughput": 200,
    }  # fmt: skip


def test_a_logical_id_that_is_none_is_not_written_into_a_template() -> None:
    (part,) = handed({**STACK, "aws:cloudformation:logical-id": "a: b"}, gp3())
    assert list(yaml.safe_load(part.text)) == ["TheVolume"]


def test_all_of_it_is_reported_with_its_owner_first() -> None:
    owner = code_owner(tuple(STACK.items()), DEFAULT_CODE_TAGS)
    assert isinstance(owner, CodeOwner)
    text = write_back_text(owner, write_back(volume(), owner, gp3(500, 9000, 400)))
    assert text.startswith("CloudFormation (stack orders) keeps this volume's settings too.")
    assert "    Iops: 9000" in text
