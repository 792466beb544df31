"""How likely each coming hour asks for more than a configuration serves, from history and the present."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from headroom.domain.planning.coming_hours import LEAD
from headroom.domain.planning.levels import level_of
from headroom.domain.planning.present_load import present_chances
from headroom.domain.planning.situation import Situation
from headroom.domain.resources import Configuration
from headroom.domain.state import hour_of
from headroom.domain.workload import chances_from_history


def starvation_chances(
    situation: Situation, configurations: Sequence[Configuration]
) -> tuple[tuple[tuple[float, ...], ...], datetime]:
    """The probability that some minute asks for more than it serves; `[hour][configuration]`.

    Hours are those of the schedule. The first, which is returned beside them, is the one in which a
    change made now has its effect.
    """
    levels = [level_of(situation, one) for one in (situation.current, *configurations)]
    effect = situation.observation.at + LEAD
    seen = chances_from_history(situation.past, levels, effect, situation.known_loads)
    now = present_chances(situation, levels)
    chances = tuple(
        tuple([max(pair) for pair in zip(earlier, present, strict=True)][1:])
        for earlier, present in zip(seen, now, strict=True)
    )
    return chances, hour_of(effect)
