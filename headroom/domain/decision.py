"""The decision, and everything it was made from. Read this file first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from headroom.domain.demand import Demand, Diagnosis
from headroom.domain.observation import Observation
from headroom.domain.plans import Plan
from headroom.domain.policy import EffectiveLimits
from headroom.domain.standing import Signature, Standing
from headroom.domain.verdicts import PlanJudgement


class Reason(StrEnum):
    """Why, for counting and for people; code never branches on it."""

    STARVED = "starved"
    DEPLETION_FORESEEN = "depletion_foreseen"
    NO_PRESSURE = "no_pressure"
    NOT_WORTH_IT = "not_worth_it"
    INSTANCE_IS_THE_LIMIT = "instance_is_the_limit"
    NO_PLAN = "no_plan"
    BLOCKED_FOR_NOW = "blocked_for_now"
    BLOCKED_FOR_GOOD = "blocked_for_good"
    OBSERVE_ONLY = "observe_only"
    DATA_TOO_THIN = "data_too_thin"
    CHANGE_PENDING = "change_pending"
    POLICY_UNREADABLE = "policy_unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Change the volume to `plan.target`."""

    reason: Reason
    plan: Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Do nothing for now. `until` is when a blocking guardrail clears, None if no such instant."""

    reason: Reason
    until: datetime | None
    would_take: Plan | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalate:
    """Do nothing, and tell the owner what only the owner can change."""

    reason: Reason
    cause: str
    remedy: str
    would_take: Plan | None


Answer = Act | Hold | Escalate


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision about one volume at one instant, with all it was made from.

    `decision_id` is a hash of the inputs: same inputs, same decision, same id.
    """

    decision_id: str
    at: datetime
    trigger: str
    """`alarm`, `event`, `sweep`, `due` or `person`."""
    observation: Observation
    standing: Standing
    policy_version: str
    effective: EffectiveLimits
    price_source: str
    demand: Demand
    diagnosis: Diagnosis
    judgements: tuple[PlanJudgement, ...]
    """Every plan with what every guardrail said about it, best plan first."""
    answer: Answer
    summary: str
    """One sentence for people."""

    @property
    def signature(self) -> Signature:
        """What a later decision is compared with to tell whether it is news."""
        answer = self.answer
        plan = answer.plan if isinstance(answer, Act) else answer.would_take
        chosen = next((j for j in self.judgements if j.plan == plan), None)
        blocking = tuple(v.guardrail.value for v in chosen.blocking) if chosen else ()
        return Signature(
            answer=type(answer).__name__.lower(),
            binding=self.diagnosis.binding.value,
            plan="" if plan is None else str(plan.target),
            blocking=blocking,
        )
