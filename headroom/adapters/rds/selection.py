"""Which databases of an account and Region are meant: by name and by tag, each with its class."""

from __future__ import annotations

from collections.abc import Sequence

from headroom.domain.resources import ResourceRef
from headroom.ports import ResourceGone, Storage, StorageView


def select_databases(
    storage: Storage, *, refs: Sequence[ResourceRef] = (), tags: Sequence[tuple[str, str]] = ()
) -> tuple[StorageView, ...]:
    """The databases that carry all of `tags` and, if any are given, are one of `refs`.

    Each with the limits of its instance class. Reads with Describe calls only. Names that are not
    there, and what is gone meanwhile, are left out. Raises ReadFailed.
    """
    wanted = refs or [view.volume.ref for view in storage.fleet()]
    found = (_view(storage, ref) for ref in dict.fromkeys(wanted))
    return tuple(view for view in found if view is not None and _carries(view, tags))


def _view(storage: Storage, ref: ResourceRef) -> StorageView | None:
    try:
        return storage.view(ref)
    except ResourceGone:
        return None


def _carries(view: StorageView, tags: Sequence[tuple[str, str]]) -> bool:
    return set(tags) <= set(view.volume.tags)
