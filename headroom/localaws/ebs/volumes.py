"""Volumes of one account and Region under AWS's modification rules, and the events they cause."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from headroom.domain.catalog.ebs import capability
from headroom.domain.resources import Configuration, Modification, VolumeType
from headroom.localaws.state import AccountRegion, Cloud
from headroom.proving.awsrules import (
    Delays,
    ModificationRefused,
    VolumeLifecycle,
    refuse_out_of_range,
)

MODIFIED = {
    "VolumeType": "volume_type", "Size": "size_gib", "Iops": "iops",
    "Throughput": "throughput_mibps",
}  # fmt: skip
"""Parameters of ModifyVolume, and what the rules call them."""
GP3_DEFAULTS = (3_000, 125)
"""IOPS and MiB/s of a gp3 volume created without."""
_SETTABLE_IOPS = (VolumeType.GP3, VolumeType.IO1, VolumeType.IO2)


_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class TrackedVolume:
    """A volume's lifecycle, and until when its modification events have been sent."""

    lifecycle: VolumeLifecycle
    request_ids: dict[datetime, str] = field(default_factory=dict)
    reported_until: datetime = _LONG_AGO


class VolumeStore:
    """The lifecycle of each of moto's volumes; one that moto made by itself gets its lifecycle on first use."""

    def __init__(self, cloud: Cloud, account_region: AccountRegion) -> None:
        self._cloud = cloud
        self._account_region = account_region
        self._tracked: dict[str, TrackedVolume] = {}
        self._lock = threading.RLock()

    @property
    def _delays(self) -> Delays:
        return self._cloud.options.delays or Delays()

    def tracked(self, volume: Any) -> TrackedVolume:
        """The lifecycle of one of moto's volumes."""
        with self._lock:
            present = self._tracked.get(volume.id)
            if present is None:
                present = self._tracked[volume.id] = self._begin(volume)
            return present

    def lifecycle(self, volume_id: str) -> VolumeLifecycle:
        """The lifecycle of a volume by id; raises KeyError."""
        return self.tracked(self.volumes()[volume_id]).lifecycle

    def volumes(self) -> Mapping[str, Any]:
        """moto's volumes by id."""
        from moto.ec2 import ec2_backends

        volumes: Mapping[str, Any] = self._account_region.backend(ec2_backends).volumes
        return volumes

    def modify(self, volume: Any, request_id: str, change: Mapping[str, Any]) -> Modification:
        """One ModifyVolume, by the parameters in MODIFIED; raises ModificationRefused and then changes nothing."""
        with self._lock:
            tracked, now = self.tracked(volume), self._cloud.clock.now()
            modification = tracked.lifecycle.modify(
                now, **{MODIFIED[name]: value for name, value in change.items()}
            )
            tracked.request_ids[modification.started_at] = request_id
            self.refresh(volume)
            return modification

    def refresh(self, volume: Any) -> None:
        """Set moto's volume to what DescribeVolumes reports now."""
        with self._lock:
            lifecycle = self.tracked(volume).lifecycle
            copy_configuration_to(volume, lifecycle.described(self._cloud.clock.now()))

    def latest(self, volume: Any) -> Modification | None:
        """The most recent modification; None for a volume that never had one."""
        return self.tracked(volume).lifecycle.modification(self._cloud.clock.now())

    def transitions(self, until: datetime) -> Iterator[tuple[datetime, str, str, str]]:
        """Modification states entered since the last call and by `until`.

        Yields (instant, volume id, result, request id), in order of instant.
        """
        found = []
        with self._lock:
            present = self.volumes()
            for volume_id in [known for known in self._tracked if known not in present]:
                del self._tracked[volume_id]
            for volume_id, tracked in self._tracked.items():
                for start, request_id in tracked.request_ids.items():
                    delays = tracked.lifecycle.delays_at(start)
                    for result, delay in (
                        ("optimizing", delays.modifying),
                        ("completed", delays.completed),
                    ):
                        if tracked.reported_until < start + delay <= until:
                            found.append((start + delay, volume_id, result, request_id))
                tracked.reported_until = until
        yield from sorted(found)

    def plan_history(self, volume_id: str, starts: list[datetime]) -> None:
        """Give a never-modified volume earlier modifications."""
        volume = self.volumes()[volume_id]
        with self._lock:
            lifecycle = self.tracked(volume).lifecycle
            if lifecycle.starts:
                raise ValueError(f"{volume_id} has modifications already.")
            self._tracked[volume_id] = TrackedVolume(self._storage_rules(volume, starts))

    def _begin(self, volume: Any) -> TrackedVolume:
        configuration = configuration_of(volume)
        copy_configuration_to(volume, configuration)
        return TrackedVolume(self._storage_rules(volume, []))

    def _storage_rules(self, volume: Any, history: list[datetime]) -> VolumeLifecycle:
        return VolumeLifecycle(
            configuration_of(volume),
            created_at=volume.create_time.replace(tzinfo=UTC),
            delays=self._delays,
            volume_id=volume.id,
            multi_attach=bool(volume.multi_attach_enabled),
            root=_is_root(volume),
            names_instant=self._cloud.options.names_instant,
            history=history,
        )


def volume_store(cloud: Cloud, account_region: AccountRegion) -> VolumeStore:
    """The volumes of an account and Region."""
    return cloud.part(VolumeStore, account_region, lambda: VolumeStore(cloud, account_region))


def configuration_of(volume: Any) -> Configuration:
    """The configuration of one of moto's volumes, with AWS's defaults."""
    kind = VolumeType(volume.volume_type)
    iops = int(volume.iops) if volume.iops and kind in _SETTABLE_IOPS else None
    throughput = int(volume.throughput) if volume.throughput else None
    if kind is VolumeType.GP3:
        iops, throughput = iops or GP3_DEFAULTS[0], throughput or GP3_DEFAULTS[1]
    else:
        throughput = None
    return Configuration(
        volume_type=kind, size_gib=int(volume.size), iops=iops, throughput_mibps=throughput
    )


def requested_configuration(
    kind: str | None, size: int, iops: int | None, throughput: int | None
) -> Configuration:
    """The configuration that CreateVolume asks for; raises ModificationRefused."""
    try:
        volume_type = VolumeType(kind or "gp2")
    except ValueError:
        raise ModificationRefused(
            "InvalidParameterValue", f"Value ({kind}) for parameter volumeType is invalid."
        ) from None
    settable = volume_type in _SETTABLE_IOPS
    if iops is not None and not settable:
        raise ModificationRefused(
            "InvalidParameterCombination",
            f"The parameter iops is not supported for {volume_type.value} volumes.",
        )
    if throughput is not None and volume_type is not VolumeType.GP3:
        raise ModificationRefused(
            "InvalidParameterCombination",
            f"The parameter throughput is not supported for {volume_type.value} volumes.",
        )
    if volume_type in (VolumeType.IO1, VolumeType.IO2) and iops is None:
        raise ModificationRefused("MissingParameter", "The request must contain the parameter iops")
    gp3 = volume_type is VolumeType.GP3
    configuration = Configuration(
        volume_type=volume_type,
        size_gib=size,
        iops=iops if iops is not None else (GP3_DEFAULTS[0] if gp3 else None),
        throughput_mibps=throughput
        if throughput is not None
        else (GP3_DEFAULTS[1] if gp3 else None),
    )
    refuse_out_of_range(configuration)
    return configuration


def copy_configuration_to(volume: Any, configuration: Configuration) -> None:
    """Make DescribeVolumes report `configuration`; a gp2 volume's Iops is its baseline."""
    volume.size = configuration.size_gib
    volume.volume_type = configuration.volume_type.value
    volume.iops = configuration.iops
    volume.throughput = configuration.throughput_mibps
    if configuration.volume_type is VolumeType.GP2:
        volume.iops = math.floor(capability(configuration).sustained_iops)
    volume.operator = {"Managed": False}


def _is_root(volume: Any) -> bool:
    attachment = volume.attachment
    return bool(
        attachment and attachment.device == getattr(attachment.instance, "root_device_name", None)
    )
