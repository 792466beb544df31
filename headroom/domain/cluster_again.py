"""A cluster's change judged again once a person agreed to it, or wants it undone. Pure."""

from __future__ import annotations

from dataclasses import replace

from headroom.domain import rolling_back
from headroom.domain.answers import Act, Answer, Reason
from headroom.domain.approval import most_agreed
from headroom.domain.aurora import Goal, StorageMode
from headroom.domain.aurora_guardrails import AuroraCase, AuroraPlan
from headroom.domain.cluster_decision import ClusterEvidence, decide_cluster, mode_of, plan_of
from headroom.domain.cluster_words import answered
from headroom.domain.decision import Decision
from headroom.domain.digest import digest
from headroom.domain.evidence import policy_of
from headroom.domain.guardrails import judge
from headroom.domain.guardrails.case import Case, verdict_of
from headroom.domain.guardrails.clusters import limits_of
from headroom.domain.judged_again import (
    NOT_DECIDED,
    Again,
    Go,
    Wait,
    Withdraw,
    as_judged,
    overtaken,
    waiting_for,
)
from headroom.domain.plans import Plan
from headroom.domain.policy import PolicyUnreadable
from headroom.domain.requests import Asked, RollbackAsked
from headroom.domain.verdicts import Guardrail, PlanJudgement, Relation

NOT_ASKED = rolling_back.NOT_ASKED | {
    # A person has decided whether it pays, and that it may not be had again for a while.
    Guardrail.WHOLE_DAYS, Guardrail.BILLED_IO, Guardrail.MARGIN, Guardrail.STEADY,
    Guardrail.SLOW_COMMITS, Guardrail.MODE_WAY_BACK, Guardrail.RESERVATIONS,
}  # fmt: skip
"""Guardrails that have no say where a person wants a change of mode undone."""
_CONTENT = (
    Reason.CHEAPER_AS_IT_IS, Reason.FAST_ENOUGH, Reason.WANTED_FOR_SPEED, Reason.NOT_WORTH_IT,
)  # fmt: skip


def judge_cluster_again(found: ClusterEvidence, decision: Decision, asked: Asked) -> Again:
    """What becomes of a change of mode that a person approved, judged on what is known now."""
    answer, at = decision.answer, found.seen.at
    if not isinstance(answer, Act):
        return NOT_DECIDED
    over = overtaken(asked, found.evidence.observation.volume, at)
    if over is not None:
        return over
    base = decide_cluster(found)
    if isinstance(found.evidence.policy, PolicyUnreadable):
        return Wait(
            decision=waiting_for(base, asked, answer.plan, None, "a policy that can be read")
        )
    if not base.judgements:
        return Wait(decision=waiting_for(base, asked, answer.plan, None, "measurements and prices"))
    reason = base.answer.reason
    if reason in _CONTENT:
        why = f"judged again, it is {reason.value.replace('_', ' ')}"
        return Withdraw(why=why, judgement=base.judgements[0])
    return _again(base, decision, answer, _agreed(base.judgements[0], asked), asked)


def _agreed(judged: PlanJudgement, asked: Asked) -> PlanJudgement:
    """The judgement with the price that was agreed to in it."""
    said = verdict_of(
        Guardrail.APPROVAL, Relation.AT_MOST, judged.plan.price_change_usd, most_agreed(asked),
        "USD/month",
    )  # fmt: skip
    verdicts = (said if v.guardrail is Guardrail.APPROVAL else v for v in judged.verdicts)
    return replace(judged, verdicts=tuple(verdicts))


def _again(
    base: Decision, decision: Decision, answer: Act, judged: PlanJudgement, asked: Asked
) -> Again:
    if judged.allowed:
        return Go(decision=as_judged(decision, base, answer, judged))
    names = ", ".join(v.guardrail.value for v in judged.blocking)
    known = [v.clears_at for v in judged.blocking if v.clears_at is not None]
    lasting = any(not v.temporary for v in judged.blocking)
    if lasting or max(known, default=base.at) >= asked.expires:
        return Withdraw(why=f"judged again, it is blocked by {names}", judgement=judged)
    until = max(known) if len(known) == len(judged.blocking) else None
    return Wait(decision=waiting_for(base, asked, judged.plan, until, names))


def undo_cluster(found: ClusterEvidence, asked: RollbackAsked, change: Decision) -> Decision:
    """Act, Hold or Escalate on a person's wish to undo the change of mode that `change` made."""
    base, at = decide_cluster(found), found.seen.at
    now = found.evidence.observation.volume.configuration
    if not isinstance(change.answer, Act) or now != change.answer.plan.target:
        why = f"the cluster was changed since: it is {now}"
        return _told(base, asked, (), rolling_back.refused(why, "rollback_has_no_way", None))
    case = _case(found, base, asked, change, change.answer.plan)
    if case is None:
        why = "no bill is known on either side"
        return _told(base, asked, (), rolling_back.refused(why, "price_unknown", None))
    judged = rolling_back.without_say(judge(case), NOT_ASKED)
    answer: Answer
    if judged.allowed and at >= asked.expires:
        why = "it expired before it could be done"
        answer = rolling_back.refused(why, "rollback_expired", judged.plan)
    elif judged.allowed:
        answer = Act(reason=Reason.ROLLED_BACK, plan=judged.plan)
    else:
        answer = rolling_back.blocked(judged, asked, at)
    return _told(base, asked, (judged,), answer)


def _case(
    found: ClusterEvidence, base: Decision, asked: RollbackAsked, change: Decision, made: Plan
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
    policy, effective = policy_of(found.evidence)
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
    standing = replace(base.standing, enrolment_usd=plan_of(back).monthly_usd)
    return Case(
        plan=plan_of(back), observation=base.observation, demand=base.demand,
        diagnosis=base.diagnosis, standing=standing, policy=policy,
        effective=effective, cluster=about,
    )  # fmt: skip


def _told(
    base: Decision, asked: RollbackAsked, judgements: tuple[PlanJudgement, ...], answer: Answer
) -> Decision:
    name = base.observation.volume.ref.resource_id
    because = f" ({asked.reason})" if asked.reason else ""
    return replace(
        base,
        decision_id=digest(base.decision_id, "rollback", asked.decision_id)[:20],
        judgements=judgements, answer=answer, rolls_back=asked.decision_id,
        current_usd=judgements[0].plan.monthly_usd - judgements[0].plan.price_change_usd
        if judgements
        else base.current_usd,
        summary=f"{name}: rollback of {asked.decision_id}, asked for by {asked.who}{because}; "
        f"{answered(answer)}{_gate(base, answer)}",
    )  # fmt: skip


def _gate(base: Decision, answer: Answer) -> str:
    """What going back to Standard gives away for a while, in words; empty where nothing."""
    side = base.cluster
    opens = None if side is None else side.cluster.next_allowed_at
    back = isinstance(answer, Act) and mode_of(answer.plan.target) is StorageMode.STANDARD
    if not back or opens is None or opens <= base.at:
        return ""
    return f"; AWS lets it be I/O-Optimized again only from {opens:%Y-%m-%d %H:%M} UTC on"
