"""What to write where the volume's settings are kept, ready to paste; pure text, nothing is sent.

Sources (2026-10): CloudFormation template reference, AWS::EC2::Volume (type, IOPS, throughput and
size update without replacement) and AWS::EC2::Instance Ebs (only DeleteOnTermination does);
CloudFormation "Detect drift"; Terraform AWS provider, aws_ebs_volume and aws_instance; Kubernetes
"Volume Attributes Classes" (stable in 1.34, parameters of a class cannot be changed) and Amazon
EBS CSI driver docs/modify-volume.md (type, iops, throughput).
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from headroom.domain.decision.write_back_rds import database_text
from headroom.domain.resources import STORAGE_MODES, CodeOwner, Configuration, Tool, Volume


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteBack:
    """One piece of text for one place; `language` says what it is written in."""

    language: str
    where: str
    """One sentence: where it belongs, and what happens until it is there."""
    text: str


def write_back(volume: Volume, owner: CodeOwner, target: Configuration) -> tuple[WriteBack, ...]:
    """What `owner`'s files must say for `volume` to stay at `target`, the best way first."""
    if target.database is not None or target.volume_type in STORAGE_MODES:
        language, where, text = database_text(
            owner, volume.ref.resource_id.removeprefix("cluster:"), target
        )
        return (WriteBack(language=language, where=where, text=text),)
    match owner.tool:
        case Tool.CLOUDFORMATION:
            return (_cloudformation(owner, target),)
        case Tool.KUBERNETES if owner.claim:
            return (_attributes_class(target), _claim_patch(owner, target))
        case Tool.KUBERNETES:
            return (_node(target),)
        case Tool.PULUMI:
            return (_pulumi(target),)
        case _:
            return tuple(_hcl(volume, target))


def write_back_text(owner: CodeOwner, parts: tuple[WriteBack, ...], *, noun: str = "volume") -> str:
    """All of it as lines of plain text, for a message or a terminal."""
    lines = [f"{owner} keeps this {noun}'s settings too. To keep what Headroom decided:"]
    for part in parts:
        lines += ["", part.where, part.text.rstrip("\n")]
    return "\n".join(lines)


def _cloudformation(owner: CodeOwner, target: Configuration) -> WriteBack:
    name = owner.logical_id if re.fullmatch(r"[A-Za-z0-9]+", owner.logical_id) else "TheVolume"
    lines = [f"{name}:", "  Type: AWS::EC2::Volume", "  Properties:"]
    lines += [f"    {key}: {value}" for key, value in _properties(target)]
    return WriteBack(
        language="cloudformation",
        where=f"In the template of stack {owner.stack or '(unknown)'}, these properties of "
        f"{name} (keep its other ones). Until they are there, drift detection shows the resource "
        "as MODIFIED, and an update that touches it may put the old values back. The block device "
        "mappings of an AWS::EC2::Instance are something else: a change of theirs replaces the "
        "instance, so leave those as they are.",
        text="\n".join(lines) + "\n",
    )


def _properties(target: Configuration) -> Iterator[tuple[str, object]]:
    yield "VolumeType", target.volume_type.value
    yield "Size", target.size_gib
    if target.iops is not None:
        yield "Iops", target.iops
    if target.throughput_mibps is not None:
        yield "Throughput", target.throughput_mibps


def _hcl(volume: Volume, target: Configuration) -> Iterator[WriteBack]:
    volume_id = volume.ref.resource_id
    yield WriteBack(
        language="hcl",
        where=f"In the resource that is {volume_id} (`terraform state list` with `-id={volume_id}` "
        "names it). Until it says so the next apply puts the old values back, and Headroom then "
        "leaves the volume alone for a while.",
        text=_block('resource "aws_ebs_volume" "this"', target, "type", "size"),
    )
    yield WriteBack(
        language="hcl",
        where="If the volume is part of an aws_instance: in its root_block_device. An "
        "ebs_block_device takes the same arguments, but a change of it replaces the instance; "
        "use ignore_changes there.",
        text=_block("root_block_device", target, "volume_type", "volume_size"),
    )
    yield WriteBack(
        language="hcl",
        where="Or leave these settings to Headroom for good, in the same resource "
        "(of an aws_instance: ignore_changes = [root_block_device, ebs_block_device]):",
        text="lifecycle {\n  ignore_changes = [type, size, iops, throughput]\n}\n",
    )


def _block(head: str, target: Configuration, kind: str, size: str) -> str:
    pairs: list[tuple[str, str]] = [
        (kind, json.dumps(target.volume_type.value)), (size, str(target.size_gib)),
    ]  # fmt: skip
    if target.iops is not None:
        pairs.append(("iops", str(target.iops)))
    if target.throughput_mibps is not None:
        pairs.append(("throughput", str(target.throughput_mibps)))
    width = max(len(name) for name, _ in pairs)
    return "\n".join([f"{head} {{", *(f"  {name:<{width}} = {v}" for name, v in pairs), "}\n"])


def class_name(target: Configuration) -> str:
    """A name that no other settings have: what is in a class can never be changed."""
    parts = [target.volume_type.value, target.iops, target.throughput_mibps]
    return "-".join(["headroom", *(str(part) for part in parts if part is not None)])


def _attributes_class(target: Configuration) -> WriteBack:
    values = [("type", target.volume_type.value)]
    if target.iops is not None:
        values.append(("iops", str(target.iops)))
    if target.throughput_mibps is not None:
        values.append(("throughput", str(target.throughput_mibps)))
    lines = [
        "apiVersion: storage.k8s.io/v1", "kind: VolumeAttributesClass", "metadata:",
        f"  name: {class_name(target)}", "driverName: ebs.csi.aws.com", "parameters:",
        *(f"  {key}: {json.dumps(value)}" for key, value in values),
    ]  # fmt: skip
    return WriteBack(
        language="kubernetes",
        where="Once per cluster (Kubernetes 1.34 or later; v1beta1 from 1.31 on, if enabled):",
        text="\n".join(lines) + "\n",
    )


def _claim_patch(owner: CodeOwner, target: Configuration) -> WriteBack:
    namespace = owner.namespace or "default"
    spec: dict[str, object] = {"volumeAttributesClassName": class_name(target)}
    patch = json.dumps({"spec": spec})
    return WriteBack(
        language="shell",
        where=f"Then the claim {namespace}/{owner.claim}, here and wherever its manifest is kept. "
        "The driver finds the volume as the class wants it, though it may use one of AWS's four "
        "changes a day to say so. A claim without a class is never put back.",
        text=f"kubectl patch pvc {shlex.quote(owner.claim)} --namespace {shlex.quote(namespace)} "
        f"--patch '{patch}'\n",
    )


def _node(target: Configuration) -> WriteBack:
    """A volume of a cluster that no claim stands behind comes and goes with its node."""
    return WriteBack(
        language="cloudformation",
        where="No claim stands behind this volume: it is a node's own, and the next node gets what "
        "the launch template (or EC2NodeClass) says under BlockDeviceMappings, Ebs:",
        text="".join(
            f"{'VolumeSize' if key == 'Size' else key}: {value}\n"
            for key, value in _properties(target)
        ),
    )


def _pulumi(target: Configuration) -> WriteBack:
    values = {"type": target.volume_type.value, "size": target.size_gib}
    if target.iops is not None:
        values["iops"] = target.iops
    if target.throughput_mibps is not None:
        values["throughput"] = target.throughput_mibps
    return WriteBack(
        language="pulumi",
        where="In the properties of the aws.ebs.Volume, or leave them to Headroom with the "
        "resource option ignoreChanges: type, size, iops, throughput. Until then the next "
        "`pulumi up` after a refresh puts the old values back.",
        text="\n".join(f"{key}: {json.dumps(value)}" for key, value in values.items()) + "\n",
    )
