"""Which volumes are on one instance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headroom.domain.resources import Kind
from headroom.ports import StorageView


def by_instance(views: Iterable[StorageView]) -> list[list[StorageView]]:
    """`views` in groups, those of one instance together; anything else by itself, in order."""
    groups: dict[str, list[StorageView]] = {}
    for view in views:
        groups.setdefault(_instance(view), []).append(view)
    return list(groups.values())


def chunks(views: Sequence[StorageView], size: int) -> list[list[StorageView]]:
    """`views` in chunks of `size` or a little less; more only where one instance has more."""
    found: list[list[StorageView]] = []
    for group in by_instance(views):
        if found and len(found[-1]) + len(group) <= size:
            found[-1] += group
        else:
            found.append(group)
    return found


def _instance(view: StorageView) -> str:
    volume = view.volume
    one = volume.ref.kind is Kind.EBS and len(volume.instance_ids) == 1 and not volume.multi_attach
    return f"{volume.ref.region}/{volume.instance_ids[0]}" if one else volume.ref.arn
