"""What the owner was notified of lately, and need not hear again in the next episode of load."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import (
    AMOUNTS,
    FOR_GOOD,
    KEPT_FROM,
    KNOWN_EVENT,
    LEFT_AS_CHANGED,
    Act,
    Decision,
    Escalate,
    Reason,
    still_short,
)
from headroom.domain.decision import SPACE_CAUSE as SPACE
from headroom.domain.guardrails import Guardrail
from headroom.domain.state import Notified, StoredState
from headroom.domain.workload import Binding

KEPT_CAUSES = 20
LASTING = (Guardrail.REVERTED.value, SPACE, KNOWN_EVENT, LEFT_AS_CHANGED, KEPT_FROM)
"""How causes begin that last longer than an episode of load, and are notified by rules of their own."""
ALSO_A_WEEK = (LEFT_AS_CHANGED, KEPT_FROM)
"""Those of them that may end and come again within days."""
ENOUGH = timedelta(days=1)
"""How long one notification of a cause is enough."""
OWNERS = timedelta(days=7)
"""The same where only the owner can change it."""
LEFT_TO_OWNERS = (
    Reason.BLOCKED_PERMANENTLY, Reason.NOT_COST_EFFECTIVE, Reason.INSTANCE_LIMITED, Reason.HIGH_LATENCY,
    Reason.OBSERVE_ONLY,
)  # fmt: skip
NEW_HIGH = 1.05
"""Times more than the storage ever had, as far as that is remembered, that shows that a limit was moved."""


def causes_after(causes: Sequence[str], decision: Decision) -> tuple[str, ...]:
    """The causes notified in the present episode, after `decision`.

    Once more is allowed and a raise is made, its owner hears if the same limit is still too low. Once it grows, the next
    shortage of space is news.
    """
    answer, kept = decision.answer, tuple(causes)
    binding = decision.diagnosis.binding
    if binding in (Binding.NOTHING, Binding.LATENCY):  # no limit is touched
        # A revert and what is announced last longer than an episode of load, and are notified once.
        kept = tuple(c for c in kept if c.startswith(LASTING) or c == binding.value)
    if decision.effective.enrolled:
        kept = tuple(c for c in kept if c != LEFT_AS_CHANGED)
    facts = decision.observation.volume.facts
    if facts is None or not facts.pending:
        lasts = not isinstance(answer, Act)  # what forbids it: it is over with the next change
        kept = tuple(c for c in kept if not c.startswith(KEPT_FROM) or (lasts and FOR_GOOD in c))
    grows = isinstance(answer, Act) and answer.plan.growth is not None
    if grows or not still_short(decision.space, decision.observation.volume.facts):
        kept = tuple(c for c in kept if not c.startswith(SPACE))
    if isinstance(answer, Act) and (answer.plan.sustains_more or _makes_way(answer)):
        kept = tuple(c for c in kept if not _amounts(c))
    escalates = isinstance(answer, Escalate) and decision.rollback_of is None
    if isinstance(answer, Escalate) and escalates and answer.cause not in kept:
        kept = (*kept, answer.cause)[-KEPT_CAUSES:]
    return kept


def notified_after(
    notified: Sequence[Notified], causes: Sequence[str], decision: Decision
) -> tuple[Notified, ...]:
    """What need not be notified again after `decision`; `causes` were notified in the present episode.

    Once more is allowed and a raise is made, in that episode or to more than ever, its owner hears if the same limit is
    still too low. In the next one, raised for as the last, it is no news.
    """
    answer, at = decision.answer, decision.at
    instance = decision.observation.instance
    kind = "" if instance is None or instance.limits is None else instance.limits.instance_type
    kept = tuple(
        one
        for one in notified
        if at < one.until and (not kind or one.instance_type in ("", kind))  # unknown is no other
    )
    if isinstance(answer, Act) and (answer.plan.sustains_more or _makes_way(answer)):
        again = _new_high(decision) or _makes_way(answer)
        news = {one.cause for one in kept if again or one.cause in causes}
        return tuple(one for one in kept if one.cause not in news or not _amounts(one.cause))
    escalates = isinstance(answer, Escalate) and decision.rollback_of is None
    if not isinstance(answer, Escalate) or not escalates:
        return kept
    if answer.cause.startswith(LASTING) and not answer.cause.startswith(ALSO_A_WEEK):
        return kept
    found = Notified(
        cause=answer.cause, until=at + (OWNERS if answer.reason in LEFT_TO_OWNERS else ENOUGH),
        instance_type=kind if answer.reason is Reason.INSTANCE_LIMITED else "",
    )  # fmt: skip
    return (*kept, found)[-KEPT_CAUSES:]


def _makes_way(act: Act) -> bool:
    """Whether less of what serves the load pays for growth: what the load may miss then is news."""
    return act.plan.growth is not None and act.plan.lowers


def _new_high(decision: Decision) -> bool:
    """Whether a raise leads to more than the storage has had in the changes that are remembered."""
    if not isinstance(decision.answer, Act):
        return False
    plan, known = decision.answer.plan, decision.resource_state.modifications
    had = [capability(plan.origin)]
    had += [capability(one) for m in known for one in (m.origin, m.target) if one is not None]
    then = plan.capability
    return all(
        then.sustained_iops > NEW_HIGH * can.sustained_iops
        or then.sustained_mibps > NEW_HIGH * can.sustained_mibps
        for can in had
    )


def _amounts(cause: str) -> bool:
    """Whether only limits that the owner may move by a little are named."""
    return AMOUNTS.issuperset(cause.split("+"))


def notified_causes(state: StoredState, now: datetime) -> tuple[str, ...]:
    """Causes that were notified in the present episode, and those of earlier ones that are still enough."""
    lately = (one.cause for one in state.notified if now < one.until)
    return tuple(dict.fromkeys((*state.escalated_causes, *lately)))
