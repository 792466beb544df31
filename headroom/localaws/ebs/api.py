"""EC2's volume operations over HTTP, under AWS's rules; everything else stays moto's."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from moto.core.responses import ActionResult, EmptyResult
from moto.ec2.exceptions import DryRunClientError
from moto.ec2.responses import EC2Response

from headroom.domain.catalog.ebs import capability
from headroom.domain.resources import Modification
from headroom.localaws.ebs.creation import delete_volume, make_volume
from headroom.localaws.ebs.events import put_modify_volume_call
from headroom.localaws.ebs.volumes import MODIFIED, VolumeStore, volume_store
from headroom.localaws.events import iso
from headroom.localaws.state import AccountRegion, AwsError, current_cloud
from headroom.proving.awsrules import ModificationRefused

MOST_MODIFICATIONS = 500
MOST_VOLUMES = 1_000
_FILTERS: dict[str, Callable[[str, Modification], object]] = {
    "volume-id": lambda volume, m: volume,
    "modification-state": lambda volume, m: m.state.value,
    "start-time": lambda volume, m: iso(m.started_at),
    "original-size": lambda volume, m: m.origin.size_gib,
    "original-iops": lambda volume, m: m.origin.iops,
    "original-volume-type": lambda volume, m: m.origin.volume_type.value,
    "target-size": lambda volume, m: m.target.size_gib,
    "target-iops": lambda volume, m: m.target.iops,
    "target-volume-type": lambda volume, m: m.target.volume_type.value,
}
_VOLUME_FILTERS: dict[str, Callable[[Any], str]] = {
    "multi-attach-enabled": lambda volume: str(bool(volume.multi_attach_enabled)).lower(),
    "volume-type": lambda volume: str(volume.volume_type),
    "availability-zone-id": lambda volume: str(volume.availability_zone_id),
    "operator.managed": lambda volume: "false",
}
"""Filters of DescribeVolumes that moto lacks."""
_CREATED_WITH = (
    "Size", "SnapshotId", "VolumeType", "Iops", "Throughput", "Encrypted", "KmsKeyId",
    "MultiAttachEnabled", "AvailabilityZone", "AvailabilityZoneId",
)  # fmt: skip


class Ec2Api(EC2Response):  # type: ignore[misc]
    """Volumes: create, modify, delete and describe, and their modifications."""

    @property
    def _account_region(self) -> AccountRegion:
        return AccountRegion(self.current_account, self.region)

    @property
    def _store(self) -> VolumeStore:
        return volume_store(current_cloud(), self._account_region)

    def create_volume(self) -> ActionResult:
        """Ranges and ratios are those of the type; gp3 without values gets 3,000 and 125."""
        request = {name: self._get_param(name) for name in _CREATED_WITH}
        volume = make_volume(
            current_cloud(), self._account_region, request,
            tags=self._parse_tag_specification().get("volume", {}),
            dry_run=bool(self._get_param("DryRun", False)),
        )  # fmt: skip
        return ActionResult(volume)

    def delete_volume(self) -> ActionResult:
        """Gone at once; refused while attached."""
        self.error_on_dryrun()
        delete_volume(current_cloud(), self._account_region, self._get_param("VolumeId"))
        return EmptyResult()

    def modify_volume(self) -> ActionResult:
        """One atomic change, or AWS's refusal; a dry run checks the permission only."""
        volume = self.ec2_backend.get_volume(self._get_param("VolumeId"))
        if self._get_param("DryRun", False):
            raise DryRunClientError
        if self._get_param("MultiAttachEnabled") is not None:
            raise AwsError(
                "UnsupportedOperation", "MultiAttachEnabled cannot be modified at this endpoint."
            )
        cloud, agent = current_cloud(), self.headers.get("User-Agent", "")
        values = {name: self._get_param(name) for name in MODIFIED}
        change = {name: value for name, value in values.items() if value is not None}
        request, request_id = {"VolumeId": volume.id, **change}, cloud.ids.uuid("request")
        try:
            modification = self._store.modify(volume, request_id, change)
        except ModificationRefused as refused:
            put_modify_volume_call(
                cloud, self._account_region, request, request_id, agent=agent,
                error=(refused.code, refused.message),
            )  # fmt: skip
            raise AwsError(refused.code, refused.message) from refused
        shape = modification_shape(volume.id, modification)
        put_modify_volume_call(
            cloud, self._account_region, request, request_id, agent=agent, shape=shape
        )
        return ActionResult({"VolumeModification": shape})

    def describe_volumes(self) -> ActionResult:
        """Volumes in order of creation, MaxResults a page."""
        ids = self._get_param("VolumeIds", [])
        most = self._get_param("MaxResults")
        if ids and most is not None:
            raise AwsError(
                "InvalidParameterCombination",
                "The parameter volumeSet cannot be used with the parameter maxResults",
            )
        if most is not None and int(most) < 5:
            raise AwsError(
                "InvalidParameterValue",
                f"Value ( {most} ) for parameter maxResults is invalid. Expecting a value of at "
                "least 5.",
            )
        _refuse_unknown(ids, self.ec2_backend.volumes)
        for volume in list(self.ec2_backend.volumes.values()):
            self._store.refresh(volume)  # before the filters read it
            volume.availability_zone_id = volume.zone.zone_id if volume.zone else None
        filters = self._filters_from_querystring()
        own = {name: filters.pop(name) for name in list(filters) if name in _VOLUME_FILTERS}
        volumes = [
            volume
            for volume in self.ec2_backend.describe_volumes(volume_ids=ids, filters=filters)
            if all(
                any(fnmatchcase(_VOLUME_FILTERS[name](volume), value) for value in values)
                for name, values in own.items()
            )
        ]
        page, token = self._page(volumes, MOST_VOLUMES if most is not None else None)
        return ActionResult({"Volumes": page, "NextToken": token})

    def describe_volumes_modifications(self) -> ActionResult:
        """The latest modification of each volume that had one."""
        ids = self._get_param("VolumeIds", [])
        filters = self._filters_from_querystring()
        unknown = set(filters) - set(_FILTERS)
        if unknown:
            raise AwsError("InvalidParameterValue", f"The filter '{min(unknown)}' is invalid")
        _refuse_unknown(ids, self.ec2_backend.volumes)
        found = []
        for volume in self.ec2_backend.describe_volumes(volume_ids=ids):
            modification = self._store.latest(volume)
            if modification is None:
                if ids:
                    raise AwsError(
                        "InvalidVolumeModification.NotFound",
                        f"Modification for volume '{volume.id}' does not exist.",
                    )
                continue
            if _matches(filters, volume.id, modification):
                found.append(modification_shape(volume.id, modification))
        page, token = self._page(found, MOST_MODIFICATIONS)
        return ActionResult({"VolumesModifications": page, "NextToken": token})

    def _page(self, found: Sequence[Any], most: int | None) -> tuple[Sequence[Any], str | None]:
        asked, token = self._get_param("MaxResults"), self._get_param("NextToken")
        if asked is None and not token and (most is None or len(found) <= most):
            return found, None
        skip, size = _read_token(token) if token else (0, int(asked or most or len(found)))
        size = min(int(asked) if asked is not None else size, most or size)
        more = len(found) > skip + size
        return found[skip : skip + size], _token(skip + size, size) if more else None


def _refuse_unknown(ids: Sequence[str], known: Mapping[str, Any]) -> None:
    unknown = [volume_id for volume_id in ids if volume_id not in known]
    if not unknown:
        return
    phrase = "volume '{}' does" if len(unknown) == 1 else "volumes '{}' do"
    raise AwsError("InvalidVolume.NotFound", f"The {phrase.format(', '.join(unknown))} not exist.")


def modification_shape(volume_id: str, modification: Modification) -> dict[str, Any]:
    """A VolumeModification in the shape of the API."""
    shape: dict[str, Any] = {
        "VolumeId": volume_id,
        "ModificationState": modification.state.value,
        "Progress": modification.progress_percent,
        "StartTime": modification.started_at,
        "TargetMultiAttachEnabled": False,
        "OriginalMultiAttachEnabled": False,
    }
    for prefix, side in (("Target", modification.target), ("Original", modification.origin)):
        shape |= {f"{prefix}Size": side.size_gib, f"{prefix}VolumeType": side.volume_type.value}
        iops = side.iops
        if side.volume_type.value == "gp2":
            iops = int(capability(side).sustained_iops)
        if iops is not None:
            shape[f"{prefix}Iops"] = iops
        if side.throughput_mibps is not None:
            shape[f"{prefix}Throughput"] = side.throughput_mibps
    if modification.ended_at is not None:
        shape["EndTime"] = modification.ended_at
    return shape


def _matches(filters: dict[str, list[str]], volume_id: str, modification: Modification) -> bool:
    return all(
        any(fnmatchcase(str(_FILTERS[name](volume_id, modification)), value) for value in values)
        for name, values in filters.items()
    )


def _token(offset: int, size: int) -> str:
    return base64.urlsafe_b64encode(json.dumps([offset, size]).encode()).decode()


def _read_token(token: str) -> tuple[int, int]:
    try:
        offset, size = json.loads(base64.urlsafe_b64decode(token))
        return int(offset), int(size)
    except (ValueError, TypeError) as error:
        raise AwsError(
            "InvalidParameterValue", f"Unable to parse pagination token {token}"
        ) from error
