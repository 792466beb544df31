"""Free space of databases in the rhythm of looks: who deserves one, and when the next is due."""

from __future__ import annotations

from datetime import datetime, timedelta

from headroom.domain.decision import Act, Decision
from headroom.domain.space_answer import STORAGE_FULL
from headroom.ports import Glance, StorageView

SUSPECT_FREE = 0.10
"""Share of the storage below which a look is worth it; RDS's autoscaling wakes there too."""
GLANCES_A_DAY = 48
"""A glance is of half an hour: full within a day, if it went on like that."""
UNCLEAR = timedelta(minutes=10)
SHORT = timedelta(minutes=15)
SOONEST = timedelta(minutes=15)
DAILY = timedelta(hours=24)
"""Whatever comes later is found by the look of every day."""


def may_fill_up(view: StorageView, glance: Glance | None) -> bool:
    """Whether a database may be running out of space; a threshold that wakes, it never decides."""
    volume = view.volume
    if volume.facts is not None and volume.facts.status == STORAGE_FULL:
        return True
    free = None if glance is None else glance.lowest_free_gib
    if glance is None or free is None:
        return False
    filled = glance.filled_gib or 0.0
    return free <= SUSPECT_FREE * volume.configuration.size_gib or 0 < free < filled * GLANCES_A_DAY


def space_look(decision: Decision) -> datetime | None:
    """When free space is to be looked at again without waiting for a scan; None where it can wait."""
    space, at = decision.space, decision.at
    if space is None or not decision.effective.enrolled or isinstance(decision.answer, Act):
        return None
    if space.unclear:
        return at + UNCLEAR if decision.effective.limits.grow_space else None
    if space.short:
        return at + SHORT
    slack = space.lowest_gib - space.reserve_gib
    if space.fill_gib_per_day <= 0 or slack >= space.fill_gib_per_day:
        return None
    return at + max(SOONEST, DAILY * max(0.0, slack / space.fill_gib_per_day))
