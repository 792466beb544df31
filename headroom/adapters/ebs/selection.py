"""Which volumes of an account and Region are meant: by id and by tag, each with its instance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from headroom.adapters.ebs.storage import IDS_AT_ONCE, EbsStorage
from headroom.ports import StorageView

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import FilterTypeDef


def select_volumes(
    client: EC2Client,
    *,
    account_id: str,
    region: str,
    volume_ids: Sequence[str] = (),
    tags: Sequence[tuple[str, str]] = (),
) -> tuple[StorageView, ...]:
    """The volumes that carry all of `tags` and, if any are given, have one of `volume_ids`.

    Each with its latest modification and, where it hangs on exactly one, its instance. Reads
    with Describe calls only. Ids that are not there are left out. Raises ReadFailed.
    """
    storage = EbsStorage(client, account_id=account_id, region=region)
    found = [view for filters in _filters(volume_ids, tags) for view in storage.fleet(filters)]
    alone = {
        one: v.volume.instance_ids[0] for one, v in enumerate(found) if _attached_to_one_instance(v)
    }
    instances = storage.instances(alone.values())
    return tuple(
        replace(view, instance=instances.get(alone.get(number, "")))
        for number, view in enumerate(found)
    )


def _attached_to_one_instance(view: StorageView) -> bool:
    return len(view.volume.instance_ids) == 1 and not view.volume.multi_attach


def _filters(
    volume_ids: Sequence[str], tags: Sequence[tuple[str, str]]
) -> Iterator[list[FilterTypeDef]]:
    """What to ask DescribeVolumes for: all filters of a call must match."""
    by_tag: list[FilterTypeDef] = [{"Name": f"tag:{key}", "Values": [v]} for key, v in tags]
    wanted = list(dict.fromkeys(volume_ids))
    if not wanted:
        yield by_tag
    for first in range(0, len(wanted), IDS_AT_ONCE):
        ids = wanted[first : first + IDS_AT_ONCE]
        yield [*by_tag, {"Name": "volume-id", "Values": ids}]
