"""A change of an EBS volume as one ModifyVolume call, and what code calls its settings.

Sources: EC2 API 2016-11-15, ModifyVolume; CloudFormation template reference, AWS::EC2::Volume;
Terraform AWS provider, aws_ebs_volume; Pulumi AWS, ebs.Volume (2026-10).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from headroom.domain.resources import Configuration, SettingNames, ValidStorage

_ARGUMENTS = ("type", "size", "iops", "throughput")
NAMES = SettingNames(
    cloudformation="AWS::EC2::Volume", terraform="aws_ebs_volume", pulumi="aws.ebs.Volume",
    properties=("VolumeType", "Size", "Iops", "Throughput"), arguments=_ARGUMENTS,
    pulumi_properties=_ARGUMENTS,
)  # fmt: skip


def parameters(origin: Configuration, target: Configuration) -> Mapping[str, str | int]:
    """What ModifyVolume is called with to reach `target`, beside the volume's id.

    The type, IOPS and throughput always explicitly, because what is left out falls back to the
    type's default; the size only where it grows.
    """
    sent: dict[str, str | int] = {"VolumeType": target.volume_type.value}
    if target.size_gib > origin.size_gib:
        sent["Size"] = target.size_gib
    if target.iops is not None:
        sent["Iops"] = target.iops
    if target.throughput_mibps is not None:
        sent["Throughput"] = target.throughput_mibps
    return MappingProxyType(sent)


def request(
    name: str, origin: Configuration, target: Configuration, valid: tuple[ValidStorage, ...] = ()
) -> tuple[str, Mapping[str, str | int]]:
    """The API call that leads from `origin` to `target`, and its parameters."""
    return "ModifyVolume", {"VolumeId": name, **parameters(origin, target)}
