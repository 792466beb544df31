"""Rollbacks: a person's wish, or what the policy wants of a raise that did not help."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from headroom.domain.decision import (
    Act,
    Decision,
    DecisionInput,
    decide_rollback,
    performance_still_used,
)
from headroom.domain.planning import one_way
from headroom.domain.policy import Policy, limits_for
from headroom.domain.resources import Observation
from headroom.domain.state import AUTO_ROLLBACK_INTERVAL, ROLLBACK_TTL, RollbackRequest
from headroom.ports import Ports

BY_POLICY = "the policy (roll_back_ineffective)"


def consider(ports: Ports, decision_input: DecisionInput, asked: RollbackRequest) -> Decision:
    """What becomes of a wish to undo a change, under all that is known now."""
    change = undone(ports, asked)
    if change is None:
        return decide_rollback(decision_input, asked, None)
    if not isinstance(change.answer, Act):
        raise LookupError(f"{asked.decision_id} was not a decision to act")
    return decide_rollback(decision_input, asked, change.answer.plan)


def undone(ports: Ports, asked: RollbackRequest) -> Decision | None:
    """The decision whose change is to be undone; None where its record has expired."""
    with suppress(LookupError):
        return ports.ledger.decision(asked.decision_id)
    return None


def automatic_rollback(
    ports: Ports, decision: Decision, observation: Observation, now: datetime
) -> RollbackRequest | None:
    """The wish to undo a raise that did not help, where the policy has it; None elsewhere.

    Never of a rollback, and never soon after another one: there is no loop of raise and return.
    Never of a raise that the load makes use of, though it wants still more.
    """
    policy, answer = ports.policies.current(), decision.answer
    if decision.rollback_of is not None or not isinstance(policy, Policy):
        return None
    if not limits_for(policy, observation.volume).limits.roll_back_ineffective:
        return None
    if (
        not isinstance(answer, Act)
        or one_way(answer.plan)
        or performance_still_used(observation, answer.plan.origin) is not None
    ):
        return None
    last = ports.state_store.resource_state(observation.volume.ref, now).rolled_back
    if last is not None and now < last.at + AUTO_ROLLBACK_INTERVAL:
        return None
    return RollbackRequest(
        decision_id=decision.decision_id, requested_at=now, expires=now + ROLLBACK_TTL,
        who=BY_POLICY, reason="it did not help", by_person=False,
    )  # fmt: skip
