"""A change of an EBS volume as the parameters of one ModifyVolume call.

Source: EC2 API 2016-11-15, ModifyVolume.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from headroom.domain.resources import Configuration


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
