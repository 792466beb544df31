"""How long a raise waits for the backup that RDS makes every night."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from headroom.domain.decision import Act, Decision
from headroom.domain.guardrails import Guardrail
from headroom.domain.state import SlowEffect, StoredState, slower

BACKING_UP = "backing-up"
"""The status during a backup. What else passes, such as maintenance, comes once."""
AT_MOST = timedelta(hours=4)
"""Of a longer wait only so much counts: to hold storage for longer costs more than a late raise."""
EFFECT = timedelta(minutes=10)
"""After which a raise that waited has its effect."""
A_DAY_LATER = timedelta(hours=20), timedelta(hours=28)
"""After which a raise that waits again is expected to each day."""


def after_waiting(state: StoredState, decision: Decision) -> StoredState:
    """The state with how long raises wait, once `decision` is recorded.

    The shorter of two waits on two days running counts as a raise that took as long.
    """
    at, since = decision.at, state.wanted_since
    if _waits(decision):
        return replace(state, wanted_since=since or at)
    if since is None:
        return state
    raises = isinstance(decision.answer, Act) and decision.answer.plan.sustains_more
    if not raises and not decision.demand.pressed_minutes:  # what was foreseen stayed away
        return replace(state, wanted_since=None)
    waited, last = min(at - since + EFFECT, AT_MOST), state.waited
    now = SlowEffect(minutes=int(waited / timedelta(minutes=1)), seen_at=at)
    slow = state.slow_effect
    if last is not None and A_DAY_LATER[0] <= at - last.seen_at <= A_DAY_LATER[1]:
        slow = slower(slow, replace(now, minutes=min(now.minutes, last.minutes)))
    return replace(state, wanted_since=None, waited=now, slow_effect=slow)


def _waits(decision: Decision) -> bool:
    """Whether nothing but a backup is in the way of the raise that is wanted."""
    judged = decision.proposed
    return (
        judged is not None
        and judged.plan.sustains_more
        and {v.guardrail for v in judged.blocking} == {Guardrail.DATABASE_STATE}
        and all(v.value == BACKING_UP for v in judged.blocking)
    )
