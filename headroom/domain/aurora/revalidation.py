"""Revalidation of an approved change of storage mode, and rollback of one. Pure."""

from __future__ import annotations

from dataclasses import replace

from headroom.domain.aurora.decide import (
    CONTENT,
    ClusterDecisionInput,
    cluster_case,
    decide_cluster,
    mode_plan,
)
from headroom.domain.aurora.summary import action_summary
from headroom.domain.decision import (
    NOT_DECIDED,
    Act,
    Action,
    Decision,
    Proceed,
    Reason,
    Revalidation,
    StillBlocked,
    Withdrawal,
    approval_obsolete,
    max_approved_usd,
    price_rise,
    revalidated_decision,
    rollback,
    waiting_for,
)
from headroom.domain.guardrails import Case, Guardrail, PlanJudgement, approved_price, judge
from headroom.domain.planning import Plan
from headroom.domain.policy import PolicyUnreadable
from headroom.domain.resources import StorageMode, digest, mode_of
from headroom.domain.state import ApprovalRequest, RollbackRequest

EXEMPT_GUARDRAILS = rollback.EXEMPT_GUARDRAILS | {
    # A person has decided that it pays, and that I/O-Optimized may not be available for a while.
    Guardrail.USAGE_HISTORY, Guardrail.BILLED_IO, Guardrail.MARGIN, Guardrail.STEADY,
    Guardrail.RHYTHM, Guardrail.SLOW_COMMITS, Guardrail.MODE_REVERSIBLE, Guardrail.RESERVATIONS,
}  # fmt: skip
"""Guardrails that do not apply when a person wants a change of mode undone."""


def revalidate_cluster(
    cluster_input: ClusterDecisionInput, decision: Decision, asked: ApprovalRequest
) -> Revalidation:
    """What becomes of a change of mode that a person approved, judged on what is known now."""
    answer, decision_input = decision.answer, cluster_input.decision_input
    if not isinstance(answer, Act):
        return NOT_DECIDED
    over = approval_obsolete(asked, decision_input.observation.volume, cluster_input.observed.at)
    if over is not None:
        return over
    base = decide_cluster(cluster_input)
    if isinstance(decision_input.policy, PolicyUnreadable) or not base.judgements:
        unreadable = isinstance(decision_input.policy, PolicyUnreadable)
        missing = "a policy that can be read" if unreadable else "measurements and prices"
        return StillBlocked(decision=waiting_for(base, asked, answer.plan, None, missing))
    (judged,), reason = base.judgements, base.answer.reason
    if reason in CONTENT or reason is Reason.NOT_COST_EFFECTIVE:
        why = f"judged again, it is {reason.value.replace('_', ' ')}"
        return Withdrawal(why=why, judgement=judged)
    judged = _with_approved_price(judged, asked)
    if judged.allowed:
        return Proceed(decision=revalidated_decision(decision, base, answer, judged))
    names = ", ".join(v.guardrail.value for v in judged.blocking)
    known = [v.clears_at for v in judged.blocking if v.clears_at is not None]
    lasting = any(not v.temporary for v in judged.blocking)
    if lasting or max(known, default=base.at) >= asked.expires:
        rise = price_rise(judged.plan, asked)
        why = f"judged again, it is blocked by {names}{f': {rise}' if rise else ''}"
        return Withdrawal(why=why, judgement=judged)
    until = max(known) if len(known) == len(judged.blocking) else None
    return StillBlocked(decision=waiting_for(base, asked, judged.plan, until, names))


def _with_approved_price(judged: PlanJudgement, asked: ApprovalRequest) -> PlanJudgement:
    approval = approved_price(judged.plan.price_change_usd, max_approved_usd(asked))
    verdicts = (approval if v.guardrail is Guardrail.APPROVAL else v for v in judged.verdicts)
    return replace(judged, verdicts=tuple(verdicts))


def decide_cluster_rollback(
    cluster_input: ClusterDecisionInput, asked: RollbackRequest, change: Decision | None
) -> Decision:
    """Act, Hold or Escalate on a person's request to undo the change of mode that `change` made, if on record."""
    base, at = decide_cluster(cluster_input), cluster_input.observed.at
    now = cluster_input.decision_input.observation.volume.configuration
    if change is None or not isinstance(change.answer, Act) or now != change.answer.plan.target:
        changed = f"the cluster was changed since: it is {now}"
        why = rollback.NOT_ON_RECORD if change is None else changed
        return _rollback_decision(
            base, asked, None, rollback.give_up(why, "rollback_has_no_way", None)
        )
    case = _rollback_case(cluster_input, base, asked, change, change.answer.plan)
    if case is None:
        why = "no bill is known on either side"
        return _rollback_decision(base, asked, None, rollback.give_up(why, "price_unknown", None))
    judged = rollback.with_exemptions(judge(case), EXEMPT_GUARDRAILS)
    answer: Action
    if judged.allowed and at >= asked.expires:
        why = "it expired before it could be done"
        answer = rollback.give_up(why, "rollback_expired", judged.plan)
    elif judged.allowed:
        answer = Act(reason=Reason.ROLLED_BACK, plan=judged.plan)
    else:
        answer = rollback.hold_while_blocked(judged, asked, at)
    return _rollback_decision(base, asked, judged, answer)


def _rollback_case(
    cluster_input: ClusterDecisionInput, base: Decision, asked: RollbackRequest, change: Decision,
    made: Plan,
) -> Case | None:  # fmt: skip
    """The case of the change back, by today's bill or else the one that the change was made by."""
    detail, prices = base.cluster, cluster_input.prices
    both = None if detail is None else detail.bills
    if both is None and change.cluster is not None:
        both = change.cluster.bills
    if detail is None or both is None or prices is None:
        return None
    why = f"undoes {asked.decision_id} ({made.why})"
    plan = mode_plan(cluster_input.observed.cluster.mode, both, why, reversible=False)
    # The price before our change is no increase: a rollback is not held to a limit on increases.
    state = replace(base.resource_state, enrolment_usd=plan.monthly_usd)
    return cluster_case(cluster_input, plan, detail.demand, both, prices, state)


def _rollback_decision(
    base: Decision, asked: RollbackRequest, judged: PlanJudgement | None, answer: Action
) -> Decision:
    name = base.observation.volume.ref.resource_id
    because = f" ({asked.reason})" if asked.reason else ""
    plan = None if judged is None else judged.plan
    return replace(
        base,
        decision_id=digest(base.decision_id, "rollback", asked.decision_id)[:20],
        judgements=() if judged is None else (judged,),
        answer=answer,
        rollback_of=asked.decision_id,
        current_usd=base.current_usd if plan is None else plan.monthly_usd - plan.price_change_usd,
        summary=f"{name}: rollback of {asked.decision_id}, asked for by {asked.who}{because}; "
        f"{action_summary(answer)}{_irreversible_until(base, answer)}",
    )


def _irreversible_until(base: Decision, answer: Action) -> str:
    """From when I/O-Optimized can be chosen again after a return to Standard, in words."""
    opens = None if base.cluster is None else base.cluster.cluster.next_allowed_at
    back = isinstance(answer, Act) and mode_of(answer.plan.target) is StorageMode.STANDARD
    if not back or opens is None or opens <= base.at:
        return ""
    return f"; AWS lets it be I/O-Optimized again only from {opens:%Y-%m-%d %H:%M} UTC on"
