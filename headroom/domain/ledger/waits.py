"""How long a raise waits for what others have RDS or AWS do: nightly backups, growth by RDS itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from headroom.domain.decision import Act, Decision
from headroom.domain.guardrails import Guardrail
from headroom.domain.state import BY_HEADROOM, SlowEffect, StoredState, slower

WORK_OF_OTHERS = frozenset({Guardrail.DATABASE_STATE, Guardrail.IN_FLIGHT})
AT_MOST = timedelta(hours=6)
EFFECT = timedelta(minutes=10)
"""After which a raise that waited has its effect."""
A_DAY_LATER = timedelta(hours=20), timedelta(hours=28)
"""After which a raise that waits again is expected to each day: once in a while something is always in the way."""


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
    """Whether nothing but work that Headroom did not begin is in the way of the raise that is wanted."""
    judged = decision.proposed
    if judged is None or not judged.plan.sustains_more:
        return False
    blocking = {v.guardrail for v in judged.blocking}
    known = decision.resource_state.modifications
    ours = Guardrail.IN_FLIGHT in blocking and known and known[-1].by == BY_HEADROOM
    return bool(blocking) and blocking <= WORK_OF_OTHERS and not ours
