"""A cluster's change judged again once a person agreed to it, or wants it undone. Pure."""

from __future__ import annotations

from dataclasses import replace

from headroom.domain.aurora.decide import ClusterDecisionInput, decide_cluster, mode_of, plan_of
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
    policy_of,
    revalidated_decision,
    waiting_for,
)
from headroom.domain.decision import rollback as rolling_back
from headroom.domain.guardrails import (
    AuroraCase,
    AuroraPlan,
    Case,
    Guardrail,
    PlanJudgement,
    Relation,
    judge,
    limits_of,
    verdict_of,
)
from headroom.domain.planning import Plan
from headroom.domain.policy import PolicyUnreadable
from headroom.domain.resources import Goal, StorageMode, digest
from headroom.domain.state import ApprovalRequest, RollbackRequest

EXEMPT_GUARDRAILS = rolling_back.EXEMPT_GUARDRAILS | {
    # A person has decided whether it pays, and that it may not be had again for a while.
    Guardrail.USAGE_HISTORY, Guardrail.BILLED_IO, Guardrail.MARGIN, Guardrail.STEADY,
    Guardrail.SLOW_COMMITS, Guardrail.MODE_REVERSIBLE, Guardrail.RESERVATIONS,
}  # fmt: skip
"""Guardrails that have no say where a person wants a change of mode undone."""
_CONTENT = (
    Reason.ALREADY_CHEAPEST, Reason.FAST_ENOUGH, Reason.KEPT_FOR_PERFORMANCE, Reason.NOT_COST_EFFECTIVE,
)  # fmt: skip


def revalidate_cluster(
    found: ClusterDecisionInput, decision: Decision, asked: ApprovalRequest
) -> Revalidation:
    """What becomes of a change of mode that a person approved, judged on what is known now."""
    answer, at = decision.answer, found.seen.at
    if not isinstance(answer, Act):
        return NOT_DECIDED
    over = approval_obsolete(asked, found.decision_input.observation.volume, at)
    if over is not None:
        return over
    base = decide_cluster(found)
    if isinstance(found.decision_input.policy, PolicyUnreadable):
        return StillBlocked(
            decision=waiting_for(base, asked, answer.plan, None, "a policy that can be read")
        )
    if not base.judgements:
        return StillBlocked(
            decision=waiting_for(base, asked, answer.plan, None, "measurements and prices")
        )
    reason = base.answer.reason
    if reason in _CONTENT:
        why = f"judged again, it is {reason.value.replace('_', ' ')}"
        return Withdrawal(why=why, judgement=base.judgements[0])
    return _again(base, decision, answer, _agreed(base.judgements[0], asked), asked)


def _agreed(judged: PlanJudgement, asked: ApprovalRequest) -> PlanJudgement:
    """The judgement with the price that was agreed to in it."""
    said = verdict_of(
        Guardrail.APPROVAL, Relation.AT_MOST, judged.plan.price_change_usd, max_approved_usd(asked),
        "USD/month",
    )  # fmt: skip
    verdicts = (said if v.guardrail is Guardrail.APPROVAL else v for v in judged.verdicts)
    return replace(judged, verdicts=tuple(verdicts))


def _again(
    base: Decision, decision: Decision, answer: Act, judged: PlanJudgement, asked: ApprovalRequest
) -> Revalidation:
    if judged.allowed:
        return Proceed(decision=revalidated_decision(decision, base, answer, judged))
    names = ", ".join(v.guardrail.value for v in judged.blocking)
    known = [v.clears_at for v in judged.blocking if v.clears_at is not None]
    lasting = any(not v.temporary for v in judged.blocking)
    if lasting or max(known, default=base.at) >= asked.expires:
        return Withdrawal(why=f"judged again, it is blocked by {names}", judgement=judged)
    until = max(known) if len(known) == len(judged.blocking) else None
    return StillBlocked(decision=waiting_for(base, asked, judged.plan, until, names))


def decide_cluster_rollback(
    found: ClusterDecisionInput, asked: RollbackRequest, change: Decision
) -> Decision:
    """Act, Hold or Escalate on a person's wish to undo the change of mode that `change` made."""
    base, at = decide_cluster(found), found.seen.at
    now = found.decision_input.observation.volume.configuration
    if not isinstance(change.answer, Act) or now != change.answer.plan.target:
        why = f"the cluster was changed since: it is {now}"
        return _told(base, asked, (), rolling_back.give_up(why, "rollback_has_no_way", None))
    case = _case(found, base, asked, change, change.answer.plan)
    if case is None:
        why = "no bill is known on either side"
        return _told(base, asked, (), rolling_back.give_up(why, "price_unknown", None))
    judged = rolling_back.with_exemptions(judge(case), EXEMPT_GUARDRAILS)
    answer: Action
    if judged.allowed and at >= asked.expires:
        why = "it expired before it could be done"
        answer = rolling_back.give_up(why, "rollback_expired", judged.plan)
    elif judged.allowed:
        answer = Act(reason=Reason.ROLLED_BACK, plan=judged.plan)
    else:
        answer = rolling_back.hold_while_blocked(judged, asked, at)
    return _told(base, asked, (judged,), answer)


def _case(
    found: ClusterDecisionInput,
    base: Decision,
    asked: RollbackRequest,
    change: Decision,
    made: Plan,
) -> Case | None:
    """The case of the way back, by the bill of today or else by the one the change was made by."""
    side = base.cluster
    both = None if side is None else side.bills
    if both is None and change.cluster is not None:
        both = change.cluster.bills
    if side is None or both is None or found.prices is None:
        return None
    origin = found.seen.cluster.mode
    target = mode_of(made.origin)
    policy, effective = policy_of(found.decision_input)
    back = AuroraPlan(
        origin=origin, target=target, goal=Goal.COST,
        why=f"undoes {asked.decision_id} ({made.why})", monthly_usd=both.of(target).total_usd,
        price_change_usd=-both.saving_usd(origin), reversible=False,
        restarts=found.seen.cluster.restarts,
    )  # fmt: skip
    about = AuroraCase(
        observation=found.seen, limits=limits_of(effective.limits), demand=side.demand,
        prices=found.prices, now=both, plan=back,
    )  # fmt: skip
    # What it cost before our change is no increase: a wish to undo is not held to a limit for more.
    resource_state = replace(base.resource_state, enrolment_usd=plan_of(back).monthly_usd)
    return Case(
        plan=plan_of(back), observation=base.observation, demand=base.demand,
        diagnosis=base.diagnosis, resource_state=resource_state, policy=policy,
        effective=effective, cluster=about,
    )  # fmt: skip


def _told(
    base: Decision, asked: RollbackRequest, judgements: tuple[PlanJudgement, ...], answer: Action
) -> Decision:
    name = base.observation.volume.ref.resource_id
    because = f" ({asked.reason})" if asked.reason else ""
    return replace(
        base,
        decision_id=digest(base.decision_id, "rollback", asked.decision_id)[:20],
        judgements=judgements, answer=answer, rollback_of=asked.decision_id,
        current_usd=judgements[0].plan.monthly_usd - judgements[0].plan.price_change_usd
        if judgements
        else base.current_usd,
        summary=f"{name}: rollback of {asked.decision_id}, asked for by {asked.who}{because}; "
        f"{action_summary(answer)}{_gate(base, answer)}",
    )  # fmt: skip


def _gate(base: Decision, answer: Action) -> str:
    """What going back to Standard gives away for a while, in words; empty where nothing."""
    side = base.cluster
    opens = None if side is None else side.cluster.next_allowed_at
    back = isinstance(answer, Act) and mode_of(answer.plan.target) is StorageMode.STANDARD
    if not back or opens is None or opens <= base.at:
        return ""
    return f"; AWS lets it be I/O-Optimized again only from {opens:%Y-%m-%d %H:%M} UTC on"
