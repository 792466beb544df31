"""Remarks on known events that the rest of the same policy leaves nothing to do for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise

from headroom.domain.policy import (
    EffectiveLimits,
    KnownEvent,
    Mode,
    Policy,
    TagsMay,
    last_chance,
    limits_for,
    occurrences,
)
from headroom.domain.resources import VolumeType
from headroom.policy.overlaps import sample_resource

NEXT_YEARS = timedelta(days=5 * 366)
LOOKED_AT, MOST_LOOKED_AT = timedelta(days=400), 60
"""How far ahead the times of an event are compared with freezes and windows; the first in the way is named."""


def events_above_limits(policy: Policy) -> Iterator[str]:
    """Known events that nothing may be raised for, or not as far as they go, or of which two have one name."""
    names = [event.name for event in policy.known_events]
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        yield (
            f"{names.count(name)} known events have the name {name!r}; a message about one does not "
            "say which."
        )
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
        coming_again = occurrences((event,), now, now + LOOKED_AT)[:MOST_LOOKED_AT]
        if any(after.start < coming.end for coming, after in pairwise(coming_again)):
            yield f"The known event {event.name!r} comes again before it ends; write the level as min_iops or one longer event."
        windows = _usual(policy, event).limits.change_windows
        found = [
            (coming, last_chance(windows, policy.freezes, coming.start, now=now))
            for coming in coming_again
            if coming.start > now
        ]
        late = [(coming, raised) for coming, raised in found if raised != coming.start]
        late.sort(
            key=lambda one: len(found) > 1 and one[1] is None
        )  # that of one that recurs passes
        for coming, raised in late[:1]:
            what = (
                "nothing is raised for it"
                if raised is None
                else f"it is raised for before {raised:%Y-%m-%d %H:%M} UTC, and paid for from then on"
            )
            yield (
                f"The known event {event.name!r} of {coming.start:%Y-%m-%d %H:%M} UTC: freezes and "
                f"change_windows let no change start shortly before it, so {what}."
            )


def _usual(policy: Policy, event: KnownEvent) -> EffectiveLimits:
    """The limits of a resource that the event names and that has nothing else to it."""
    kind = next(iter(event.selector.volume_types), VolumeType.GP3)
    return limits_for(policy, sample_resource(event.selector, kind))
