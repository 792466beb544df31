"""Whether storage still is as a decision saw it: what every `apply` asks before its one write."""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime

from headroom.adapters.errors import THROTTLES
from headroom.domain.resources import Configuration, Modification, Volume
from headroom.domain.state import AlreadyThere, Outcome, Refusal, Refused, Stale, declined
from headroom.ports import ReadFailed, ResourceGone

_VIEWS_KEPT = 1_000
"""Far more than a worker decides on at a time."""


class Viewed:
    """The volumes as they were last viewed: by that they are decided on."""

    def __init__(self) -> None:
        self._volumes: OrderedDict[str, Volume] = OrderedDict()

    def keep(self, volume: Volume) -> None:
        """Remember the view, and forget the oldest beyond a thousand."""
        self._volumes.pop(volume.ref.arn, None)
        self._volumes[volume.ref.arn] = volume
        if len(self._volumes) > _VIEWS_KEPT:
            self._volumes.popitem(last=False)

    def stale(self, now: Volume) -> Stale | None:
        """Why what was decided on does not hold any more: its owner's tags, its instances or who manages it."""
        seen = self._volumes.get(now.ref.arn, now)
        if seen.tags != now.tags:
            said = "its tags changed since it was decided on"
        elif _attachment(seen) != _attachment(now):
            said = "its instances, or who manages it, changed since it was decided on"
        else:
            return None
        return Stale(expected=seen.configuration, found=now.configuration, detail=said)


def _attachment(volume: Volume) -> tuple[object, ...]:
    return (volume.instance_ids, volume.multi_attach, volume.managed_by, volume.on_outpost)


def moved_on(
    found: Configuration,
    modification: Modification | None,
    *,
    expected: Configuration,
    seen: datetime | None,
    target: Configuration,
) -> Outcome | None:
    """AlreadyThere or Stale where it is not as it was decided on; None where it is."""
    if found == target and (modification is None or not modification.in_flight):
        return AlreadyThere()
    started = None if modification is None else modification.started_at
    if found == expected and started == seen:
        return None
    said = f"is {found}, last modified {started}; decided on {expected}, {seen}"
    return Stale(expected=expected, found=found, detail=said)


def unread(error: ResourceGone | ReadFailed, what: str) -> Refused:
    """The refusal of an act because storage is gone, or could not be read to do `what`.

    AWS throttles reads where many volumes need something at once: that says nothing against the change.
    """
    if isinstance(error, ResourceGone):
        return declined(Refusal.GONE, str(error))
    throttled = any(code in str(error) for code in THROTTLES)
    return declined(Refusal.THROTTLED if throttled else Refusal.OTHER, f"could not {what}: {error}")
