"""Whether storage still is as a decision saw it: what every `apply` asks before its one write."""

from __future__ import annotations

from datetime import datetime

from headroom.adapters.errors import THROTTLES
from headroom.domain.resources import Configuration, Modification
from headroom.domain.state import AlreadyThere, Outcome, Refusal, Refused, Stale, declined
from headroom.ports import ReadFailed, ResourceGone


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
