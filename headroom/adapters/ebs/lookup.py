"""Volumes by their ids, for people who ask about a few of many."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from headroom.adapters.ebs import shapes
from headroom.adapters.ebs.storage import IDS_AT_ONCE
from headroom.adapters.errors import reading
from headroom.domain.resources import Volume

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


def volumes_by_id(
    client: EC2Client, volume_ids: Iterable[str], *, account_id: str, region: str
) -> dict[str, Volume]:
    """The volumes there are of these, by id, 200 a call; one not understood is left out.

    Asked by filter: by id, AWS refuses the whole list when one is gone. Raises ReadFailed.
    """
    wanted = sorted(set(volume_ids))
    found: dict[str, Volume] = {}
    for first in range(0, len(wanted), IDS_AT_ONCE):
        ids = wanted[first : first + IDS_AT_ONCE]
        with reading("DescribeVolumes"):
            pages = client.get_paginator("describe_volumes").paginate(
                Filters=[{"Name": "volume-id", "Values": ids}]
            )
            for shape in (each for page in pages for each in page["Volumes"]):
                try:
                    volume = shapes.volume(shape, account_id=account_id, region=region)
                except shapes.MALFORMED:
                    continue
                found[volume.ref.resource_id] = volume
    return found
