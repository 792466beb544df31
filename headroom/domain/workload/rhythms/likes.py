"""The earlier hours that a coming hour is like, by the rhythms that are believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import dropwhile

from headroom.domain.state import ProfileHour
from headroom.domain.workload.rhythms.weights import DOUBT, SURE, Rhythm

LATE_HOURS = 2
"""How much later than usual load may begin."""
NOT_BEGUN = 0.2
"""Belief in the rest of an episode that has not begun by then."""
NEVER_MEASURED = 3
"""Times that an hour was due, and never measured, after which it is taken for one without load."""

Coming = tuple[Sequence[tuple[int, float]], float]
"""The busy hours that a coming hour is like, with weights, and the weight of load at any time."""


def hours_like(
    hours: Sequence[ProfileHour | None], begins: Mapping[int, int], believed: Sequence[Rhythm],
    anyhow: float, place: int, begun: dict[int, bool],
) -> Coming:  # fmt: skip
    """The busy hours that a coming hour is like, with weights, and the weight of load at any time.

    `hours` are those of the past, None where nothing was measured; the coming one is at `place`. `begins`
    names the busy hours that count, and where the episode of each began; `begun` keeps which episodes have
    begun again, by the place where each was due.
    """
    if _is_off(hours, place):
        return [], 0.0
    known = len(hours)
    found: dict[int, float] = {}
    doubt = anyhow
    for rhythm in believed:
        likes = []
        total = own_doubt = DOUBT * rhythm.failed
        unmeasured, times = 0.0, 0
        past_likes = dropwhile(known.__le__, rhythm.hypothesis.like(place))  # the latest come first
        for weight, like in zip(rhythm.hypothesis.back, past_likes, strict=False):
            if hours[like] is None:
                unmeasured, times = unmeasured + weight, times + 1
            else:
                total += weight
                if like in begins:
                    likes.append((like, weight))
        if (
            total == own_doubt
            and times >= NEVER_MEASURED
            and not any(hours[like] is not None for like in past_likes)
        ):
            total += unmeasured  # an instance that is off at these times
        doubt += rhythm.weight * own_doubt / total
        for like, weight in likes:
            due = begins[like] + place - like
            if due not in begun:
                begun[due] = _has_begun(hours, begins, due)
            if not begun[due]:
                weight *= NOT_BEGUN
            found[like] = found.get(like, 0.0) + SURE * rhythm.weight * weight / total
    return list(found.items()), doubt


def _is_off(hours: Sequence[ProfileHour | None], place: int) -> bool:
    """Whether nothing was ever measured at this hour of the day, on days of which other hours were."""
    if any(hours[place % 24 :: 24]):
        return False
    days = [day for day in range(place, -1, -24) if day < len(hours)]
    return sum(any(hours[max(0, day - 23) : day + 1]) for day in days) >= NEVER_MEASURED


def _has_begun(hours: Sequence[ProfileHour | None], begins: Mapping[int, int], due: int) -> bool:
    """Whether an episode that was due at a place began, or may yet, as far as that was measured."""
    until = due + LATE_HOURS + 1
    return until > len(hours) or any(
        hours[place] is None or place in begins for place in range(due - 1, until)
    )
