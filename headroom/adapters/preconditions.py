"""Whether storage still is as a decision saw it: what every `apply` asks before its one write."""

from __future__ import annotations

from datetime import datetime

from headroom.adapters.errors import THROTTLES
from headroom.domain.resources import Configuration, Modification, Volume
from headroom.domain.state import AlreadyThere, Outcome, Refusal, Refused, Stale, declined
from headroom.ports import ReadFailed, ResourceGone


def _attachment(volume: Volume) -> tuple[object, ...]:
    return (volume.instance_ids, volume.multi_attach, volume.managed_by, volume.on_outpost)


def moved_on(
    found: Volume,
    modification: Modification | None,
    *,
    expected: Configuration,
    seen: datetime | None,
    target: Configuration,
    decided_on: Volume | None,
) -> Outcome | None:
    """AlreadyThere or Stale where it is not as it was decided on; None where it is.

    Its tags, its instances and who manages it count as well, where they are known of the volume it was `decided_on`.
    """
    settings = found.configuration
    if settings == target and (modification is None or not modification.in_flight):
        return AlreadyThere()
    started = None if modification is None else modification.started_at
    seen_then = decided_on or found
    if settings != expected or started != seen:
        said = f"is {settings}, last modified {started}; decided on {expected}, {seen}"
    elif seen_then.tags != found.tags:
        said = "its tags changed since it was decided on"
    elif _attachment(seen_then) != _attachment(found):
        said = "its instances, or who manages it, changed since it was decided on"
    else:
        return None
    return Stale(expected=expected, found=settings, detail=said)


def unread(error: ResourceGone | ReadFailed, what: str) -> Refused:
    """The refusal of an act because storage is gone, or could not be read to do `what`.

    AWS throttles reads where many volumes need something at once: that says nothing against the change.
    """
    if isinstance(error, ResourceGone):
        return declined(Refusal.GONE, str(error))
    throttled = any(code in str(error) for code in THROTTLES)
    return declined(Refusal.THROTTLED if throttled else Refusal.OTHER, f"could not {what}: {error}")
