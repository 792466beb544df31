"""What the owner was notified of lately, and need not hear again in the next episode of load."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from headroom.domain.decision import KNOWN_EVENT, Act, Decision, Escalate, Reason
from headroom.domain.decision import SPACE_CAUSE as SPACE
from headroom.domain.guardrails import Guardrail
from headroom.domain.state import Notified, StoredState

KEPT_CAUSES = 20
LASTING = (Guardrail.REVERTED.value, SPACE, KNOWN_EVENT)
"""How causes begin that last longer than an episode of load, and are notified by rules of their own."""
ENOUGH = timedelta(days=1)
"""How long one notification of a cause is enough."""
OWNERS = timedelta(days=7)
"""The same where only the owner can change it."""


def notified_after(notified: Sequence[Notified], decision: Decision) -> tuple[Notified, ...]:
    """What need not be notified again after `decision`; all of it may be once Headroom makes a change."""
    answer, at = decision.answer, decision.at
    if isinstance(answer, Act):
        return ()
    kept = tuple(one for one in notified if at < one.until)
    escalates = isinstance(answer, Escalate) and decision.rollback_of is None
    if not isinstance(answer, Escalate) or not escalates or answer.cause.startswith(LASTING):
        return kept
    lasting = answer.reason in (Reason.BLOCKED_PERMANENTLY, Reason.NOT_COST_EFFECTIVE)
    found = Notified(cause=answer.cause, until=at + (OWNERS if lasting else ENOUGH))
    return (*kept, found)[-KEPT_CAUSES:]


def notified_causes(state: StoredState, now: datetime) -> tuple[str, ...]:
    """Causes that were notified in the present episode, and those of earlier ones that are still enough."""
    lately = (one.cause for one in state.notified if now < one.until)
    return tuple(dict.fromkeys((*state.escalated_causes, *lately)))
