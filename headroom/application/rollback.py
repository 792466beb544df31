"""Rollbacks: a person's wish, or what the policy wants of a raise that did not help."""

from __future__ import annotations

from datetime import datetime

from headroom.domain.answers import Act
from headroom.domain.decision import Decision
from headroom.domain.evidence import Evidence
from headroom.domain.observation import Observation
from headroom.domain.policy import Policy, limits_for
from headroom.domain.requests import ONE_BY_ITSELF, ROLLBACK_WAITS, RollbackAsked
from headroom.domain.rolling_back import decide_rollback, still_used
from headroom.ports import Ports

THE_POLICY = "the policy (roll_back_ineffective)"


def consider(ports: Ports, evidence: Evidence, asked: RollbackAsked) -> Decision:
    """What becomes of a wish to undo a change, under all that is known now."""
    answer = ports.ledger.decision(asked.decision_id).answer
    if not isinstance(answer, Act):
        raise LookupError(f"{asked.decision_id} was not a decision to act")
    return decide_rollback(evidence, asked, answer.plan)


def by_itself(
    ports: Ports, decision: Decision, observation: Observation, now: datetime
) -> RollbackAsked | None:
    """The wish to undo a raise that did not help, where the policy has it; None elsewhere.

    Never of a rollback, and never soon after another one: there is no loop of raise and return.
    Never of a raise that the load makes use of, though it wants still more.
    """
    policy, answer = ports.policies.current(), decision.answer
    if decision.rolls_back is not None or not isinstance(policy, Policy):
        return None
    if not limits_for(policy, observation.volume).limits.roll_back_ineffective:
        return None
    if not isinstance(answer, Act) or still_used(observation, answer.plan.origin) is not None:
        return None
    last = ports.standings.standing(observation.volume.ref, now).rolled_back
    if last is not None and now < last.at + ONE_BY_ITSELF:
        return None
    return RollbackAsked(
        decision_id=decision.decision_id, asked_at=now, expires=now + ROLLBACK_WAITS,
        who=THE_POLICY, reason="it did not help", by_person=False,
    )  # fmt: skip
