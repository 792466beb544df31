"""Creates and deletes volumes, for CreateVolume and for CloudFormation.

Source: EC2 API reference, CreateVolume and DeleteVolume; EBS User Guide, "EventBridge events for
EBS" (checked 2026-10).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moto.ec2 import ec2_backends
from moto.ec2.exceptions import DryRunClientError

from headroom.localaws.ebs.events import put_volume_notification
from headroom.localaws.ebs.volumes import (
    copy_configuration_to,
    requested_configuration,
    volume_store,
)
from headroom.localaws.state import AccountRegion, AwsError, Cloud
from headroom.proving.awsrules import ModificationRefused


def make_volume(
    cloud: Cloud,
    account_region: AccountRegion,
    request: Mapping[str, Any],
    *,
    tags: Mapping[str, str],
    dry_run: bool = False,
) -> Any:
    """One CreateVolume, `request` under the API's names; raises AwsError and then makes nothing."""
    backend = account_region.backend(ec2_backends)
    snapshot, size = request.get("SnapshotId"), request.get("Size")
    zone = _zone(backend, account_region, request)
    if size is None and snapshot:
        source = backend.get_snapshot(snapshot).volume
        volume_store(cloud, account_region).refresh(source)
        size = source.size
    if size is None:
        raise AwsError("MissingParameter", "The request must contain the parameter size/snapshot")
    try:
        configuration = requested_configuration(
            request.get("VolumeType"), int(size), _whole(request, "Iops"),
            _whole(request, "Throughput"),
        )  # fmt: skip
    except ModificationRefused as refused:
        raise AwsError(refused.code, refused.message) from refused
    if dry_run:
        raise DryRunClientError
    volume = backend.create_volume(
        size=int(size),
        zone_name=zone,
        snapshot_id=snapshot,
        encrypted=parse_bool(request.get("Encrypted")),
        kms_key_id=request.get("KmsKeyId"),
        volume_type=configuration.volume_type.value,
        iops=configuration.iops,
        throughput=configuration.throughput_mibps,
        multi_attach_enabled=parse_bool(request.get("MultiAttachEnabled")),
    )
    volume.add_tags(dict(tags))
    copy_configuration_to(volume, configuration)
    volume.availability_zone_id = volume.zone.zone_id
    volume_store(cloud, account_region).tracked(volume)
    _notify(cloud, account_region, volume.id, "createVolume", "available")
    return volume


def delete_volume(cloud: Cloud, account_region: AccountRegion, volume_id: str) -> None:
    """One DeleteVolume; raises moto's error while the volume is attached or unknown."""
    account_region.backend(ec2_backends).delete_volume(volume_id)
    _notify(cloud, account_region, volume_id, "deleteVolume", "deleted")


def parse_bool(value: Any) -> bool:
    """A boolean of the API or of a template, where it may be text."""
    return value.lower() == "true" if isinstance(value, str) else bool(value)


def _whole(request: Mapping[str, Any], name: str) -> int | None:
    value = request.get(name)
    try:
        return None if value is None else int(value)
    except (TypeError, ValueError):
        raise AwsError(
            "InvalidParameterValue", f"Value ({value}) for parameter {name} is invalid."
        ) from None


def _zone(backend: Any, account_region: AccountRegion, request: Mapping[str, Any]) -> str:
    name, zone_id = request.get("AvailabilityZone"), request.get("AvailabilityZoneId")
    zones = backend.describe_availability_zones()
    if name or not zone_id:
        name = str(name or f"{account_region.region}a")
        if not any(zone.name == name for zone in zones):
            raise AwsError("InvalidZone.NotFound", f"The zone '{name}' does not exist.")
        return name
    for zone in zones:
        if zone.zone_id == zone_id:
            return str(zone.name)
    raise AwsError("InvalidParameterValue", f"Invalid availability zone: [{zone_id}]")


def _notify(
    cloud: Cloud, account_region: AccountRegion, volume_id: str, event: str, result: str
) -> None:
    put_volume_notification(
        cloud, account_region, volume_id, event=event, result=result,
        request_id=cloud.ids.uuid("request"), at=cloud.clock.now(),
    )  # fmt: skip
