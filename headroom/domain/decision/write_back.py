"""What to write where code keeps a resource's settings, ready to paste; pure text, nothing is sent.

Sources (2026-10): CloudFormation template reference, AWS::EC2::Volume (type, IOPS, throughput and
size update without replacement) and AWS::EC2::Instance Ebs (only DeleteOnTermination does);
CloudFormation "Detect drift"; Terraform AWS provider, aws_instance; Kubernetes "Volume Attributes
Classes" (stable in 1.34, parameters of a class cannot be changed) and Amazon EBS CSI driver
docs/modify-volume.md (type, iops, throughput). The names of each kind's settings are in `catalog`.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headroom.domain.catalog import setting_names
from headroom.domain.resources import (
    EBS_CSI,
    STORAGE_MODES,
    CodeOwner,
    Configuration,
    Kind,
    SettingNames,
    Tool,
    Volume,
    VolumeType,
)

FOUR = ("type", "size", "iops", "throughput")
Pairs = list[tuple[str, str | int]]
Settings = dict[str, str | int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteBack:
    """One piece of text for one place; `language` says what it is written in."""

    language: str
    where: str
    """One sentence: where it belongs, and what happens until it is there."""
    text: str


def write_back(volume: Volume, owner: CodeOwner, target: Configuration) -> tuple[WriteBack, ...]:
    """What `owner`'s files must say for `volume` to stay at `target`, the best way first."""
    names = setting_names(volume.ref)
    name = volume.ref.resource_id.removeprefix("cluster:")
    if volume.ref.kind is Kind.RDS and "/" in name:
        return (_additional_volume(name, target),)
    match owner.tool:
        case Tool.CLOUDFORMATION:
            return (_cloudformation(owner, volume, names, target),)
        case Tool.KUBERNETES if volume.ref.kind is not Kind.EBS:
            return (
                WriteBack(
                    language="kubernetes", text=_yaml(_pairs(names.properties, target)),
                    where=f"In the manifest that creates {name}, under the names used there.",
                ),
            )  # fmt: skip
        case Tool.KUBERNETES if owner.claim:
            return (_attributes_class(owner, target), _claim_patch(owner, target))
        case Tool.KUBERNETES:
            return (_node(names, target),)
        case Tool.PULUMI:
            pairs = _set(_terraform_settings(names.pulumi_properties, target))
            keys = ", ".join(key for key, _ in pairs)
            return (
                WriteBack(
                    language="pulumi", text=_yaml((key, json.dumps(value)) for key, value in pairs),
                    where=f"In the properties of the {names.pulumi} that is {name}, or leave them to "
                    f"Headroom with the resource option ignoreChanges: {keys}. Until then the next "
                    "`pulumi up` after a refresh restores the old values.",
                ),
            )  # fmt: skip
        case _:
            return tuple(_terraform(volume, name, names, target))


def write_back_text(owner: CodeOwner, parts: tuple[WriteBack, ...], *, noun: str = "volume") -> str:
    """All of it as lines of plain text, for a message or a terminal."""
    lines = [f"{owner} keeps this {noun}'s settings too. To keep what Headroom decided:"]
    for part in parts:
        lines += ["", part.where, part.text.rstrip("\n")]
    return "\n".join(lines)


def settings(tool: Tool, names: SettingNames, target: Configuration) -> tuple[str, Settings]:
    """What `tool` calls the resource, and its settings by the tool's names; None must be absent."""
    match tool:
        case Tool.CLOUDFORMATION:
            return names.cloudformation, _all(names.properties, target)
        case Tool.KUBERNETES if names.arguments == FOUR:
            parameters = _all(FOUR, target)
            del parameters["size"]  # a class has none; the claim's storage request is another field
            return "VolumeAttributesClass", parameters
        case Tool.PULUMI:
            return names.pulumi, _terraform_settings(names.pulumi_properties, target)
        case _:
            return names.terraform, _terraform_settings(names.arguments, target)


def _all(names: Iterable[str], target: Configuration) -> Settings:
    size = None if target.volume_type in STORAGE_MODES else target.size_gib
    values = (target.volume_type.value, size, target.iops, target.throughput_mibps)
    return dict(zip(names, values, strict=True))


def _pairs(names: Iterable[str], target: Configuration) -> Pairs:
    """Names and values of what may be set. An Aurora cluster has no size to set."""
    return _set(_all(names, target))


def _set(settings: Settings) -> Pairs:
    return [(name, value) for name, value in settings.items() if value is not None]


def _terraform_settings(names: Iterable[str], target: Configuration) -> Settings:
    """Aurora Standard is the empty storage type of Terraform's provider and of Pulumi's."""
    standard = VolumeType.AURORA.value
    return {name: "" if value == standard else value for name, value in _all(names, target).items()}


def _additional_volume(name: str, target: Configuration) -> WriteBack:
    """The volume among AdditionalStorageVolumes, the name that CloudFormation and the API have for them."""
    instance, _, volume = name.partition("/")
    names = ("StorageType", "AllocatedStorage", "Iops", "StorageThroughput")
    lines = ["AdditionalStorageVolumes:", f"  - VolumeName: {volume}"]
    return WriteBack(
        language="yaml",
        text="\n".join([*lines, *(f"    {key}: {value}" for key, value in _pairs(names, target))])
        + "\n",
        where=f"Where the DB instance {instance} is defined, in its additional storage volume {volume} (keep the "
        "others). Until it says so, an update may restore the old values.",
    )


def _yaml(pairs: Iterable[tuple[str, object]]) -> str:
    return "".join(f"{key}: {value}\n" for key, value in pairs)


def _cloudformation(
    owner: CodeOwner, volume: Volume, names: SettingNames, target: Configuration
) -> WriteBack:
    fallback = f"The{volume.ref.noun.capitalize()}"
    name = owner.logical_id if re.fullmatch(r"[A-Za-z0-9]+", owner.logical_id) else fallback
    lines = [f"{name}:", f"  Type: {names.cloudformation}", "  Properties:"]
    for key, value in _pairs(names.properties, target):
        as_text = names.size_is_text and key == names.properties[1]
        lines.append(f"    {key}: {json.dumps(str(value)) if as_text else value}")
    where = (
        f"In the template of stack {owner.stack or '(unknown)'}, these properties of {name} (keep "
        "its other ones). Until they are there, drift detection shows the resource as MODIFIED, "
        "and an update that touches it may restore the old values"
    )
    if volume.ref.kind is Kind.EBS:
        where += (
            ". Leave the block device mappings of an AWS::EC2::Instance as they are: changing them "
            "replaces the instance."
        )
    else:
        where += ", and one that names a smaller size fails." if target.size_gib else "."
    return WriteBack(language="cloudformation", where=where, text="\n".join(lines) + "\n")


def _terraform(
    volume: Volume, name: str, names: SettingNames, target: Configuration
) -> Iterator[WriteBack]:
    ebs = volume.ref.kind is Kind.EBS
    pairs = _set(_terraform_settings(names.arguments, target))
    lookup = f" (`terraform state list` with `-id={name}` names it)" if ebs else ""
    ignore = "" if ebs else f", or leave {', '.join(key for key, _ in pairs)} to ignore_changes"
    yield WriteBack(
        language="hcl", text=_block(f'resource "{names.terraform}" "this"', pairs),
        where=f"In the resource that is {name}{lookup}{ignore}. Until it says so the next apply "
        f"restores the old values, and Headroom then leaves the {volume.ref.noun} alone for a while.",
    )  # fmt: skip
    if not ebs:
        return
    yield WriteBack(
        language="hcl",
        text=_block(
            "root_block_device",
            _pairs(("volume_type", "volume_size", "iops", "throughput"), target),
        ),
        where="If the volume is part of an aws_instance: in its root_block_device. An "
        "ebs_block_device takes the same arguments, but changing it replaces the instance; use "
        "ignore_changes there.",
    )
    yield WriteBack(
        language="hcl",
        text=f"lifecycle {{\n  ignore_changes = [{', '.join(names.arguments)}]\n}}\n",
        where="Or leave these settings to Headroom permanently, in the same resource (of an "
        "aws_instance: ignore_changes = [root_block_device, ebs_block_device]):",
    )


def _block(head: str, pairs: Pairs) -> str:
    width = max(len(name) for name, _ in pairs)
    return "\n".join(
        [f"{head} {{", *(f"  {name:<{width}} = {json.dumps(v)}" for name, v in pairs), "}\n"]
    )


def class_name(target: Configuration) -> str:
    """A name that no other settings have: what is in a class can never be changed."""
    parts = [target.volume_type.value, target.iops, target.throughput_mibps]
    return "-".join(["headroom", *(str(part) for part in parts if part is not None)])


def class_manifest(target: Configuration, driver: str) -> dict[str, object]:
    """The VolumeAttributesClass that holds the settings of `target`."""
    parameters = {key: str(value) for key, value in _pairs(FOUR, target) if key != "size"}
    return {
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass",
        "metadata": {"name": class_name(target)}, "driverName": driver, "parameters": parameters,
    }  # fmt: skip


def class_text(target: Configuration, driver: str) -> str:
    """The same as YAML."""
    values = [(key, value) for key, value in _pairs(FOUR, target) if key != "size"]
    lines = [
        "apiVersion: storage.k8s.io/v1", "kind: VolumeAttributesClass", "metadata:",
        f"  name: {class_name(target)}", f"driverName: {driver}", "parameters:",
        *(f"  {key}: {json.dumps(str(value))}" for key, value in values),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _attributes_class(owner: CodeOwner, target: Configuration) -> WriteBack:
    return WriteBack(
        language="kubernetes",
        where="Once per cluster (Kubernetes 1.34 or later; v1beta1 from 1.31 on, if enabled):",
        text=class_text(target, owner.driver or EBS_CSI),
    )


def claim_patch(owner: CodeOwner, target: Configuration) -> str:
    """The command that names the class in the claim."""
    patch = json.dumps({"spec": {"volumeAttributesClassName": class_name(target)}})
    return (
        f"kubectl patch pvc {shlex.quote(owner.claim)} --namespace "
        f"{shlex.quote(owner.namespace or 'default')} --patch '{patch}'\n"
    )


def _claim_patch(owner: CodeOwner, target: Configuration) -> WriteBack:
    return WriteBack(
        language="shell",
        where="After AWS has accepted the change, set the class in the claim "
        f"{owner.namespace or 'default'}/{owner.claim}, in the cluster and in its manifest. The volume "
        "then already matches the class, so the driver modifies nothing. The driver never reverts the "
        "volume of a claim without a class.",
        text=claim_patch(owner, target),
    )


def _node(names: SettingNames, target: Configuration) -> WriteBack:
    """For a volume without a claim: it is created and deleted with its node."""
    return WriteBack(
        language="cloudformation",
        where="No claim uses this volume: it belongs to a node, and the next node gets what the "
        "launch template (or EC2NodeClass) says under BlockDeviceMappings, Ebs:",
        text=_yaml(
            ("VolumeSize" if key == "Size" else key, value)
            for key, value in _pairs(names.properties, target)
        ),
    )
