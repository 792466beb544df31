"""Many volumes in one read: pages of the fleet, and volumes by id with their modifications and instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

from headroom.adapters.ebs import shapes
from headroom.adapters.ebs.storage import IDS_AT_ONCE, EbsStorage, in_use, with_iops
from headroom.adapters.errors import code_of, reading
from headroom.domain.resources import ResourceRef, Volume
from headroom.ports import CursorRejected, FleetPage, ReadFailed, StorageView

PAGE = 500
_UNKNOWN_CURSOR = ("InvalidParameterValue", "InvalidNextToken", "InvalidParameter")


class EbsFleet(EbsStorage):
    """The volumes of one account and Region, also many at once."""

    def page(self, cursor: str) -> FleetPage:
        """500 volumes with their latest modifications, instances left None.

        What is not understood is passed over. Raises ReadFailed and CursorRejected.
        """
        asked: dict[str, Any] = {"NextToken": cursor} if cursor else {}
        with reading("DescribeVolumes"):
            try:
                answer = self._ec2.describe_volumes(MaxResults=PAGE, **asked)
            except ClientError as error:
                if cursor and code_of(error) in _UNKNOWN_CURSOR:
                    raise CursorRejected(cursor) from error
                raise
            volumes = [v for v in map(self._known, answer["Volumes"]) if v is not None]
        views = self._with_modifications([v for v in volumes if in_use(v)])
        return FleetPage(views=views, following=answer.get("NextToken") or None)

    def views(self, refs: Sequence[ResourceRef]) -> Mapping[str, StorageView]:
        """Volumes with their latest modification and instance, by ARN; 200 ids a call.

        Volumes first: a change that starts in between shows as one in flight. Who is gone, or not
        understood, is left out. Raises ReadFailed.
        """
        wanted = {ref.resource_id: ref.arn for ref in refs}
        volumes = [v for v in self._by_id(sorted(wanted)) if in_use(v)]
        found = self._with_modifications(volumes)
        alone = {v.ref.resource_id: v.instance_ids[0] for v in volumes if _on_one(v)}
        instances = self.instances(alone.values())
        return {
            wanted[view.volume.ref.resource_id]: StorageView(
                volume=view.volume, modification=view.modification,
                instance=instances.get(alone.get(view.volume.ref.resource_id, "")),
            )
            for view in found
        }  # fmt: skip

    def _by_id(self, volume_ids: Sequence[str]) -> list[Volume]:
        """Asked by filter: by id, AWS refuses the whole list when one is gone."""
        found: list[Volume] = []
        for first in range(0, len(volume_ids), IDS_AT_ONCE):
            ids = list(volume_ids[first : first + IDS_AT_ONCE])
            with reading("DescribeVolumes"):
                pages = self._ec2.get_paginator("describe_volumes").paginate(
                    Filters=[{"Name": "volume-id", "Values": ids}]
                )
                known = [self._known(shape) for page in pages for shape in page["Volumes"]]
            for volume in known:
                try:
                    found += [] if volume is None else [with_iops(volume)]
                except ReadFailed:  # its own read says so
                    continue
        return found

    def _with_modifications(self, volumes: Sequence[Volume]) -> list[StorageView]:
        latest, unclear = self._all_modifications([v.ref.resource_id for v in volumes])
        views = []
        for volume in volumes:
            name = volume.ref.resource_id
            change = latest.get(name)
            if name in unclear:
                change = shapes.unreadable_answer(volume, unclear[name])
            views.append(StorageView(volume=volume, modification=change, instance=None))
        return views


def _on_one(volume: Volume) -> bool:
    return len(volume.instance_ids) == 1 and not volume.multi_attach
