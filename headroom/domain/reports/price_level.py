"""How much more or less a month a resource costs by the changes within the dates, over time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise

from headroom.domain.decision import Decision
from headroom.domain.resources import Configuration, ModificationState
from headroom.domain.state import KnownModification

HOURS_PER_MONTH = 730
"""Hours of the month that AWS's prices are for."""
Levels = tuple[tuple[datetime, Decimal], ...]
"""Since when it is how many USD a month, oldest first; before that it is 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What a resource had at a decision."""

    at: datetime
    configuration: Configuration
    """What AWS works on counts as done."""
    changed_at: datetime
    """When it had it at the latest."""


@dataclass(slots=True, kw_only=True)
class LandedChange:
    """A change that AWS accepted within the dates."""

    decision_id: str
    at: datetime
    usd: Decimal
    before_usd: Decimal | None = None
    """How much more, or less, it cost a month just before than as its owner set it; None while that is not read."""
    failed: bool = False
    """Whether AWS gave it up."""
    settled: bool = False
    """Whether its verification has ended."""
    before: Observed | None = None
    after: Configuration | None = None
    """Both None while the decision is not read."""


def observed(decision: Decision) -> Observed:
    """What the resource had at that decision."""
    seen, change = decision.observation, decision.observation.modification
    found, at = seen.volume.configuration, decision.at
    if change is None or change.state is ModificationState.FAILED:
        return Observed(at=at, configuration=found, changed_at=at)
    if change.state is ModificationState.MODIFYING:
        found = change.target
    return Observed(at=at, configuration=found, changed_at=min(at, change.started_at))


def before_usd(decision: Decision, usd: Decimal, landed: Collection[str]) -> Decimal | None:
    """How much more or less a resource cost just before a change than as its owner set it; None if that is not known."""
    undone, now = decision.rollback_of, decision.current_usd
    owners = decision.resource_state.enrolment_usd
    if decision.cluster is None and owners is not None and now is not None:
        return now - owners
    earlier = (
        undone is not None and undone not in landed
    )  # a cluster has two modes, and no other price
    return -usd if earlier else None


def price_levels(
    landed: Iterable[LandedChange], ended: Sequence[datetime], newest: Observed | None
) -> Levels:
    """The levels that these changes make, which come oldest first.

    Without what earlier changes make: one that takes back an earlier raise saves nothing, and one that takes back
    an earlier saving costs nothing. It is 0 again from each of `ended`, and once a decision observed settings
    other than the latest change made: they are the owner's.
    """
    levels: list[tuple[datetime, Decimal]] = []
    changes = list(landed)
    level = (changes[0].before_usd if changes else None) or Decimal(0)
    earlier = level  # what is left of what earlier changes made
    latest, ends = None, sorted(ended)
    for change in changes:
        until = [at for at in ends if latest is not None and latest.at <= at <= change.at]
        over = until[0] if until else owners_since(latest, change.before)
        if over is not None:
            level = earlier = Decimal(0)
            levels.append((min(over, change.at), level))
        level += change.usd
        earlier = (
            min(earlier, max(level, Decimal(0)))
            if earlier > 0
            else max(earlier, min(level, Decimal(0)))
        )
        levels.append((change.at, level - earlier))
        latest = change
    if latest is not None:
        until = [at for at in ends if at >= latest.at]
        settled = latest if latest.settled else None
        over = until[0] if until else owners_since(settled, newest)
        if over is not None:
            levels.append((over, Decimal(0)))
    return tuple(levels)


def owners_since(latest: LandedChange | None, seen: Observed | None) -> datetime | None:
    """Since when a resource has settings other than `latest` made, as observed later; None if it has not."""
    if latest is None or latest.after is None or seen is None or seen.at <= latest.at:
        return None
    if _settings(seen.configuration) == _settings(latest.after):
        return None
    return seen.changed_at if seen.changed_at > latest.at else seen.at


def undone_after(
    latest: LandedChange | None, modifications: Sequence[KnownModification]
) -> Observed | None:
    """What modifications after `latest` left instead, since the first of them; None if none is known."""
    if latest is None or latest.after is None:
        return None
    made = _settings(latest.after)
    later = [
        (m.started_at, m.target)
        for m in sorted(modifications, key=lambda m: m.started_at)
        if m.started_at > latest.at and m.target is not None and _settings(m.target) != made
    ]
    if not later:
        return None
    (since, _), (at, found) = later[0], later[-1]
    return Observed(at=at, configuration=found, changed_at=since)


def accrued_usd(levels: Levels, end: datetime) -> tuple[Decimal, Decimal]:
    """Dollars above 0 and dollars below 0 until `end`, both positive."""
    above = below = Decimal(0)
    for (start, usd), (after, _) in pairwise((*levels, (end, Decimal(0)))):
        hours = max(timedelta(0), min(after, end) - start) / timedelta(hours=1)
        dollars = usd * Decimal(str(hours)) / HOURS_PER_MONTH
        above, below = above + max(dollars, Decimal(0)), below - min(dollars, Decimal(0))
    return above, below


def _settings(found: Configuration) -> tuple[object, ...]:
    """What a change for load sets; growth takes none of it back."""
    return found.volume_type, found.iops, found.throughput_mibps
