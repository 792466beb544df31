"""Remarks on known events that the rest of the same policy leaves nothing to do for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from headroom.domain.policy import (
    IN_SIGHT,
    EffectiveLimits,
    KnownEvent,
    Mode,
    Occurrence,
    Policy,
    TagsMay,
    frozen_until,
    limits_for,
    next_opening,
    occurrences,
)
from headroom.domain.resources import VolumeType
from headroom.policy.overlaps import sample_resource

HOUR = timedelta(hours=1)
NEXT_YEARS = timedelta(days=5 * 366)
LOOKED_AT = timedelta(days=400)
"""How far ahead each time of an event is compared with freezes and windows."""


def events_above_limits(policy: Policy) -> Iterator[str]:
    """Known events that nothing may be raised for, or not as far as they go."""
    for event in policy.known_events:
        effective = _usual(policy, event)
        limits = effective.limits
        if limits.tags_may is TagsMay.NARROW and limits.mode in (Mode.OFF, Mode.OBSERVE):
            yield (
                f"The known event {event.name!r} raises nothing: the mode is {limits.mode.value} "
                f"({effective.mode_from}), and tags_may {limits.tags_may.value} lets no tag enrol."
            )
        for name, load, most in (
            ("max_iops", event.iops, limits.max_iops),
            ("max_throughput_mibps", event.throughput_mibps, limits.max_throughput_mibps),
        ):
            if load > most:
                yield f"The known event {event.name!r} takes {load:,}, and {name} is {most:,}."


def events_in_vain(policy: Policy, now: datetime) -> Iterator[str]:
    """Known events that will not come again, or come when no raise for them may start."""
    for event in policy.known_events:
        if not occurrences((event,), now, now + NEXT_YEARS):
            yield f"The known event {event.name!r} is over; take it out."
        shut = [each for each in occurrences((event,), now, now + LOOKED_AT)
                if each.start > now and _is_shut_out(policy, event, each)]  # fmt: skip
        if shut:
            times = "" if len(shut) == 1 else f", and {len(shut) - 1:,} times more within 400 days"
            yield (
                f"The known event {event.name!r} of {shut[0].start:%Y-%m-%d %H:%M} UTC{times}: "
                f"freezes and change_windows let no change start in the {IN_SIGHT // HOUR} hours "
                "before it, so nothing is raised for it in time."
            )


def _is_shut_out(policy: Policy, event: KnownEvent, coming: Occurrence) -> bool:
    """Whether no change may start within sight of `coming` and before it."""
    windows = _usual(policy, event).limits.change_windows
    at: datetime | None = coming.start - IN_SIGHT
    while at is not None and at < coming.start:
        opens = next_opening(windows, frozen_until(policy.freezes, at) or at)
        if opens == at:
            return False
        at = opens
    return True


def _usual(policy: Policy, event: KnownEvent) -> EffectiveLimits:
    """The limits of a resource that the event names and that has nothing else to it."""
    kind = next(iter(event.selector.volume_types), VolumeType.GP3)
    return limits_for(policy, sample_resource(event.selector, kind))
