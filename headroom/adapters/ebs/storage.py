"""EBS volumes through EC2's API; `EbsStorage.apply` is the only write to storage there is."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from headroom.adapters.ebs import shapes
from headroom.adapters.errors import code_of, reading, refusal_of
from headroom.adapters.preconditions import moved_on, unread
from headroom.domain.catalog.ebs import parameters
from headroom.domain.resources import (
    Configuration,
    Instance,
    InstanceLimits,
    Modification,
    ResourceRef,
    Volume,
    VolumeType,
)
from headroom.domain.state import Applied, Outcome, Refusal, Unknown, declined
from headroom.ports import ReadFailed, ResourceGone, StorageView

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import (
        DescribeVolumesModificationsResultTypeDef,
        FilterTypeDef,
        InstanceTypeDef,
    )

_PAGE = 500
IDS_AT_ONCE = 200
"""Values that one filter of a Describe call takes. Source: EC2 API reference, "Filter"."""
_GONE = ("InvalidVolume.NotFound", "InvalidVolumeID.Malformed")
_LEAVING = ("deleting", "deleted")
_USABLE = ("available", "in-use")
_log = logging.getLogger(__name__)


class EbsStorage:
    """The volumes of one account and Region.

    `modify_client` must not retry by itself: a repeated ModifyVolume could use a second slot.
    Limits of instance types are kept as long as the object, since AWS does not change them.
    """

    def __init__(
        self,
        ec2_client: EC2Client,
        *,
        modify_client: EC2Client | None = None,
        account_id: str,
        region: str,
    ) -> None:
        self._ec2 = ec2_client
        self._modify = modify_client or ec2_client
        self._account_id = account_id
        self._region = region
        self._limits: dict[tuple[str, bool], InstanceLimits | None] = {}

    def fleet(self, filters: Sequence[FilterTypeDef] = ()) -> Iterator[StorageView]:
        """Every volume (that `filters` match) with its latest modification, instances left None.

        Reads pages of 500 and passes over what is being deleted and what is not understood: a
        unknown type, an element that lacks something. A modification that is not
        understood is one in flight, of that volume alone. Raises ReadFailed.
        """
        modifications, unclear = self._all_modifications()
        asked: dict[str, Any] = {"Filters": list(filters)} if filters else {}
        pages = self._ec2.get_paginator("describe_volumes").paginate(
            **asked, PaginationConfig={"PageSize": _PAGE}
        )
        pages_read = iter(pages)
        while True:
            with reading("DescribeVolumes"):
                page = next(pages_read, None)
                found = [] if page is None else [self._known(v) for v in page["Volumes"]]
            if page is None:
                return
            for volume in found:
                if volume is not None and in_use(volume):
                    name = volume.ref.resource_id
                    latest = modifications.get(name)
                    if name in unclear:
                        latest = shapes.unreadable_answer(volume, unclear[name])
                    yield StorageView(volume=volume, modification=latest, instance=None)

    def view(self, ref: ResourceRef) -> StorageView:
        """One volume, its latest modification and its instance; raises ResourceGone, ReadFailed."""
        volume, modification = self._observe(ref)
        instance = None
        if len(volume.instance_ids) == 1 and not volume.multi_attach:
            instance = self._instance(volume.instance_ids[0])
        return StorageView(volume=volume, modification=modification, instance=instance)

    def attached(self, instance_id: str) -> tuple[StorageView, ...]:
        """Every volume attached to one instance, each with its latest modification and instance.

        Volumes first: a change that starts in between shows as one in flight. Raises ReadFailed.
        """
        volumes: list[Volume] = []
        with reading(f"DescribeVolumes of {instance_id}"):
            pages = self._ec2.get_paginator("describe_volumes").paginate(
                Filters=[{"Name": "attachment.instance-id", "Values": [instance_id]}]
            )
            for shape in (one for page in pages for one in page["Volumes"]):
                volume = self._known(shape)
                if volume is None:
                    raise ReadFailed(f"{shape.get('VolumeId')} of {instance_id} is not understood")
                if in_use(volume) and instance_id in volume.instance_ids:
                    volumes.append(with_iops(volume))
        latest, unclear = self._all_modifications([v.ref.resource_id for v in volumes])
        instance = self._instance(instance_id) if volumes else None
        views = []
        for volume in volumes:
            name = volume.ref.resource_id
            change = latest.get(name)
            if name in unclear:
                change = shapes.unreadable_answer(volume, unclear[name])
            alone = volume.instance_ids == (instance_id,) and not volume.multi_attach
            views.append(
                StorageView(
                    volume=volume, modification=change, instance=instance if alone else None
                )
            )
        return tuple(views)

    def instances(self, instance_ids: Iterable[str]) -> Mapping[str, Instance]:
        """The instances there are of these, by id, 200 a call; raises ReadFailed."""
        wanted = sorted(set(instance_ids))
        found: dict[str, Instance] = {}
        for first in range(0, len(wanted), IDS_AT_ONCE):
            ids = wanted[first : first + IDS_AT_ONCE]
            with reading("DescribeInstances"):
                pages = self._ec2.get_paginator("describe_instances").paginate(
                    Filters=[{"Name": "instance-id", "Values": ids}]
                )
                for page in pages:
                    for shape in (i for r in page["Reservations"] for i in r.get("Instances", ())):
                        found[shape["InstanceId"]] = self._as_instance(shape)
        return found

    def apply(
        self,
        ref: ResourceRef,
        *,
        expected: Configuration,
        seen: datetime | None,
        target: Configuration,
        decided_on: Volume | None = None,
    ) -> Outcome:
        """Change the volume to `target` if it still is as the decision saw it.

        One ModifyVolume call at most, never one that changes nothing (it would use a slot).
        """
        try:
            volume, modification = self._observe(ref)
        except (ResourceGone, ReadFailed) as error:
            return unread(error, "read it again")
        found = volume.configuration
        moved = moved_on(
            volume, modification, expected=expected, seen=seen, target=target, decided_on=decided_on
        )
        if moved is not None:
            return moved
        if volume.state not in _USABLE:
            return declined(Refusal.INVALID, f"EC2 reports the volume as {volume.state}")
        if modification is not None and modification.in_flight:
            return declined(Refusal.IN_FLIGHT, "the last modification has not completed")
        if target.size_gib < found.size_gib:
            return declined(Refusal.INVALID, f"a volume never shrinks: {found} to {target}")
        return self._send(ref, found, target)

    def _send(self, ref: ResourceRef, found: Configuration, target: Configuration) -> Outcome:
        change: dict[str, Any] = dict(parameters(found, target))
        try:
            answer = self._modify.modify_volume(VolumeId=ref.resource_id, **change)
        except Exception as error:  # once it may have been sent, anything is an outcome
            return refusal_of(error)
        started = answer.get("VolumeModification", {}).get("StartTime")
        if started is None:
            return Unknown(detail="ModifyVolume was answered without a start time")
        return Applied(started_at=started.astimezone(UTC))

    def _observe(self, ref: ResourceRef) -> tuple[Volume, Modification | None]:
        """Volume first: a change that starts in between shows as one in flight."""
        volume_id = ref.resource_id
        with reading(f"DescribeVolumes {volume_id}"):
            try:
                found = self._ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"]
            except ClientError as error:
                if code_of(error) in _GONE:
                    raise ResourceGone(f"{volume_id} does not exist") from error
                raise
            if not found or found[0]["State"] in _LEAVING:
                raise ResourceGone(f"{volume_id} does not exist")
            volume = shapes.volume(found[0], account_id=self._account_id, region=self._region)
            with_iops(volume)
        with reading(f"DescribeVolumesModifications {volume_id}"):
            return volume, self._modification(volume)

    def _modification(self, volume: Volume) -> Modification | None:
        """The latest; one that is not understood counts as in flight, which stops us."""
        volume_id = volume.ref.resource_id
        try:
            answer = self._ec2.describe_volumes_modifications(VolumeIds=[volume_id])
        except ClientError as error:
            if code_of(error) == "InvalidVolumeModification.NotFound":
                return None  # never modified
            raise
        found = answer["VolumesModifications"]
        try:
            return shapes.latest(shapes.modification(m) for m in found)
        except shapes.MALFORMED as error:
            _log.warning("a modification of %s is not understood: %r", volume_id, error)
            return shapes.unreadable_answer(volume, shapes.start_of(found[0]))

    def _all_modifications(
        self, of: Sequence[str] | None = None
    ) -> tuple[dict[str, Modification], dict[str, datetime | None]]:
        """The latest by volume id, and the starts (where known) of those not understood.

        Of all volumes, or of some by a filter. Not asked by id: AWS refuses a list with one
        never-modified volume.
        """
        latest: dict[str, Modification] = {}
        unclear: dict[str, datetime | None] = {}
        with reading("DescribeVolumesModifications"):
            for page in self._modification_pages(of):
                for shape in page["VolumesModifications"]:
                    name = shape.get("VolumeId", "")
                    try:
                        one = shapes.modification(shape)
                    except shapes.MALFORMED as error:
                        _log.warning("a modification of %s is not understood: %r", name, error)
                        unclear[name] = shapes.start_of(shape)
                        continue
                    known = latest.get(name)
                    latest[name] = shapes.latest(filter(None, (known, one))) or one
        return latest, unclear

    def _modification_pages(
        self, of: Sequence[str] | None
    ) -> Iterator[DescribeVolumesModificationsResultTypeDef]:
        paginator = self._ec2.get_paginator("describe_volumes_modifications")
        if of is None:
            yield from paginator.paginate(PaginationConfig={"PageSize": _PAGE})
            return
        for first in range(0, len(of), IDS_AT_ONCE):
            ids = list(of[first : first + IDS_AT_ONCE])
            yield from paginator.paginate(Filters=[{"Name": "volume-id", "Values": ids}])

    def _known(self, shape: shapes.Shape) -> Volume | None:
        try:
            return shapes.volume(shape, account_id=self._account_id, region=self._region)
        except shapes.MALFORMED as error:
            _log.warning("volume %s is not understood: %r", shape.get("VolumeId"), error)
            return None

    def _instance(self, instance_id: str) -> Instance | None:
        with reading(f"DescribeInstances {instance_id}"):
            try:
                answer = self._ec2.describe_instances(InstanceIds=[instance_id])
            except ClientError as error:
                if code_of(error).startswith("InvalidInstanceID"):
                    return None
                raise
            found = [i for r in answer["Reservations"] for i in r.get("Instances", ())]
            if not found:
                return None
            return self._as_instance(found[0])

    def _as_instance(self, shape: InstanceTypeDef) -> Instance:
        mappings = shape.get("BlockDeviceMappings", ())
        return Instance(
            instance_id=shape["InstanceId"],
            limits=self._instance_limits(shape),
            volume_ids=tuple(m["Ebs"]["VolumeId"] for m in mappings if "Ebs" in m),
        )

    def _instance_limits(self, instance: InstanceTypeDef) -> InstanceLimits | None:
        """None as well for an old type that is not EBS-optimized though it could be."""
        key = (str(instance["InstanceType"]), bool(instance.get("EbsOptimized")))
        if key not in self._limits:
            self._limits[key] = self._reported_limits(key[0], optimized=key[1])
        return shapes.weighted(self._limits[key], instance)

    def _reported_limits(self, name: str, *, optimized: bool) -> InstanceLimits | None:
        try:
            answer = self._ec2.describe_instance_types(InstanceTypes=[name])  # type: ignore[list-item]
        except ClientError as error:
            if code_of(error) == "InvalidInstanceType":
                return None
            raise
        if not answer["InstanceTypes"]:
            return None
        described = answer["InstanceTypes"][0]
        support = described.get("EbsInfo", {}).get("EbsOptimizedSupport")
        if support == "supported" and not optimized:
            return None
        return shapes.instance_limits(described)


def in_use(volume: Volume) -> bool:
    """Whether it is not being deleted."""
    return volume.state not in _LEAVING


def with_iops(volume: Volume) -> Volume:
    """The volume itself; raises ReadFailed where its type has IOPS and it reports none."""
    settings = volume.configuration
    if settings.volume_type in (VolumeType.IO1, VolumeType.IO2) and not settings.iops:
        name = volume.ref.resource_id
        raise ReadFailed(f"{name} is {settings.volume_type} and reports no IOPS")
    return volume
