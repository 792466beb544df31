"""Whether an Aurora cluster changes its storage mode; a Decision like any other. Read this first.

observation -> billed I/O of whole days -> the bill in both modes -> a plan for money or for speed ->
guardrails -> act, hold or escalate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from types import MappingProxyType

from headroom.domain.aurora.summary import (
    action_summary,
    bill_check_summary,
    bill_summary,
    longer_past_summary,
    saves_too_little,
)
from headroom.domain.aurora.terms import CONTENT, demand_of_days, diagnosis_of_bill, owner_note
from headroom.domain.catalog.aurora import HOURS_PER_MONTH, AuroraPrices, Bills, bills
from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import (
    EXPLAINED,
    Action,
    BillCheck,
    BilledIoDay,
    ClusterDetail,
    Decision,
    DecisionInput,
    Hold,
    Reason,
    act_or_hold,
    escalate_once,
    policy_of,
    requested_in_advance,
    written_back,
)
from headroom.domain.guardrails import (
    WITHOUT_SETTING,
    Case,
    ClusterCase,
    Guardrail,
    PlanJudgement,
    Verdict,
    all_clear_at,
    in_the_policy,
    judge,
)
from headroom.domain.planning import Plan
from headroom.domain.policy import EffectiveLimits, PolicyUnreadable
from headroom.domain.resources import (
    AuroraObservation,
    Goal,
    Kind,
    PriceUnknown,
    SeenMembers,
    StorageMode,
    code_owner,
    configuration_of,
    digest,
    mode_of,
)
from headroom.domain.state import ResourceState
from headroom.domain.workload import DAYS, AuroraDemand, cluster_demand, usage

LANDS = timedelta(minutes=30)
"""How long a change of mode usually takes; AWS documents no time."""
CENT = Decimal("0.01")
SAVES_TOO_LITTLE = (Guardrail.MARGIN, Guardrail.STEADY, Guardrail.RHYTHM)
"""Guardrails that say that a change for money is not worth using up the 30 days."""
_REMEDY: Mapping[Guardrail, str] = MappingProxyType(
    {
        Guardrail.ENGINE_VERSION: "upgrade the engine to a version that supports I/O-Optimized",
        Guardrail.RESTART: "allow it with aurora_restart in a rule with `match: {kind: aurora}`, best with a change window",
        Guardrail.PARALLEL_QUERY: "turn parallel query off and let it be read "
        "(rds:DescribeDBClusterParameters), or leave the cluster in Standard",
        Guardrail.RESERVATIONS: "let reservations be read (rds:DescribeReservedDBInstances)",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDecisionInput:
    """All inputs of a decision about a cluster; `decision_input` has what all decisions have."""

    decision_input: DecisionInput
    observed: AuroraObservation
    prices: AuroraPrices | None
    earlier_days: tuple[BilledIoDay, ...] = ()
    """Days under the other mode, recorded before it was left."""
    earlier_members: tuple[SeenMembers, ...] = ()
    """Members of the last days that the cluster does not have now."""
    check: BillCheck | None = None
    """The bill since our own switch beside its forecast, once a week of it is known."""


def decide_cluster(cluster_input: ClusterDecisionInput) -> Decision:
    """What to do about one cluster; a pure function of its input."""
    decision_input, observed = cluster_input.decision_input, cluster_input.observed
    policy, effective = policy_of(decision_input)
    prices, limits, cluster = cluster_input.prices, effective.limits, observed.cluster
    demand = cluster_demand(observed, slow_ms=limits.aurora_slow_commit_ms)
    both, problem = _bills(observed, demand, prices)
    current: Decimal | None = None
    judgements: tuple[PlanJudgement, ...] = ()
    if both is None or prices is None:
        stays = _missing_data(demand)
        answer = _without_bill(decision_input, effective, stays, problem)
    else:
        current = both.of(cluster.mode).total_usd.quantize(CENT)
        case = cluster_case(
            cluster_input, _plan(cluster.mode, both), demand, both, prices,
            with_price_baseline(decision_input.resource_state, current),
        )  # fmt: skip
        goal, judged = _judged(case, both.saving_usd(cluster.mode))
        stays = _reason_to_stay(judged, goal, limits.aurora_goal, both.saving_usd(cluster.mode))
        answer = _answer(decision_input, effective, judged, goal, stays)
        judgements = (judged,)
    if isinstance(decision_input.policy, PolicyUnreadable):
        answer = Hold(reason=Reason.POLICY_UNREADABLE, until=None, proposed_plan=None)
    detail = ClusterDetail(
        cluster=cluster, goal=limits.aurora_goal, demand=demand, bills=both,
        owner_note=owner_note(demand, observed), earlier_days=cluster_input.earlier_days,
        check=cluster_input.check,
    )  # fmt: skip
    owner = code_owner(decision_input.observation.volume.tags, policy.code_tags)
    price_source = "none" if prices is None else f"{prices.source}, {prices.as_of}"
    return Decision(
        decision_id=digest(
            decision_input.trigger, observed, decision_input.observation.volume,
            decision_input.resource_state, policy.version, price_source,
            *(() if cluster_input.check is None else (cluster_input.check,)),
            *cluster_input.earlier_members,
        )[:20],
        at=observed.at,
        trigger=decision_input.trigger,
        observation=decision_input.observation,
        resource_state=decision_input.resource_state,
        policy_version=policy.version,
        effective=effective,
        price_source=price_source,
        current_usd=current,
        demand=demand_of_days(demand),
        diagnosis=diagnosis_of_bill(stays, _explanation(detail)),
        judgements=judgements,
        answer=answer,
        summary=_summary(detail, answer, judgements),
        code_owner=owner,
        write_back=written_back(decision_input.observation, effective, owner, answer),
        cluster=detail,
    )  # fmt: skip


def _bills(
    observed: AuroraObservation, demand: AuroraDemand, prices: AuroraPrices | None
) -> tuple[Bills | None, str]:
    """The bill in both modes; None without enough data, or without a price and which is missing."""
    if _missing_data(demand) is not None:
        return None, ""
    if prices is None:
        return None, "no table"
    try:
        return bills(usage(observed, demand, demand.ios_a_month()), prices), ""
    except (PriceUnknown, ValueError) as problem:
        return None, str(problem)


def with_price_baseline(resource_state: ResourceState, current_usd: Decimal) -> ResourceState:
    """The state with the price that increases count from: today's bill less what we added to it.

    A cluster's bill moves with its load, so its price at enrolment does not show what a change of
    mode adds.
    """
    return replace(resource_state, enrolment_usd=current_usd - resource_state.resource_increase_usd)


def mode_plan(origin: StorageMode, both: Bills, why: str, *, reversible: bool) -> Plan:
    """The change to the other mode as a plan like any other; its value is what it saves a day."""
    target = configuration_of(origin.other)
    change = -both.saving_usd(origin).quantize(CENT)
    return Plan(
        origin=configuration_of(origin), target=target, why=why, demand_iops=0.0,
        demand_mibps=0.0, meets_need=True, capability=capability(target),
        monthly_usd=both.of(origin.other).total_usd.quantize(CENT), price_change_usd=change,
        time_to_effect=LANDS, reversible=reversible, relieved_minutes_per_day=0.0,
        value_usd_per_day=round(-float(change) * 24 / HOURS_PER_MONTH, 4), capped_from=None,
    )  # fmt: skip


def _plan(origin: StorageMode, both: Bills) -> Plan:
    standard = both.standard
    return mode_plan(
        origin, both,
        f"I/O is {100 * standard.io_share:.1f} % of ${standard.total_usd:.2f} a month in Standard; "
        f"${both.io_optimized.total_usd:.2f} in I/O-Optimized",
        reversible=origin is StorageMode.STANDARD,
    )  # fmt: skip


def cluster_case(
    cluster_input: ClusterDecisionInput, plan: Plan, demand: AuroraDemand, both: Bills,
    prices: AuroraPrices, resource_state: ResourceState,
) -> Case:  # fmt: skip
    """What the guardrails judge a change of mode by, made for the lower bill."""
    decision_input = cluster_input.decision_input
    policy, effective = policy_of(decision_input)
    return Case(
        plan=plan, observation=decision_input.observation, demand=demand_of_days(demand),
        diagnosis=diagnosis_of_bill(None, ""), resource_state=resource_state, policy=policy,
        effective=effective,
        cluster=ClusterCase(
            observation=cluster_input.observed, demand=demand, prices=prices, bills=both,
            goal=Goal.COST, earlier_members=cluster_input.earlier_members,
        ),
    )  # fmt: skip


def _judged(case: Case, saving_usd: Decimal) -> tuple[Goal, PlanJudgement]:
    """What the plan is for, and what every guardrail says about it.

    For an owner who wants speed, a change that saves nothing, or too little to use up the 30 days,
    is judged as one for faster commits.
    """
    judged, cluster = judge(case), case.cluster
    forward = mode_of(case.plan.target) is StorageMode.IO_OPTIMIZED
    if (
        cluster is None
        or case.effective.limits.aurora_goal is not Goal.PERFORMANCE
        or not forward
        or (saving_usd > 0 and not _blocks(judged, *SAVES_TOO_LITTLE))
    ):
        return Goal.COST, judged
    speed = replace(cluster, goal=Goal.PERFORMANCE)
    return Goal.PERFORMANCE, judge(replace(case, cluster=speed))


def _blocks(judged: PlanJudgement, *names: Guardrail) -> bool:
    return any(v.guardrail in names for v in judged.blocking)


def _reason_to_stay(
    judged: PlanJudgement, goal: Goal, owner_goal: Goal, saving_usd: Decimal
) -> Reason | None:
    """Why the present mode is the right one; None where the other would be better."""
    if owner_goal is Goal.PERFORMANCE and mode_of(judged.plan.target) is StorageMode.STANDARD:
        return Reason.KEPT_FOR_PERFORMANCE
    if goal is Goal.PERFORMANCE:
        return Reason.FAST_ENOUGH if _blocks(judged, Guardrail.SLOW_COMMITS) else None
    if saving_usd <= 0:
        return Reason.ALREADY_CHEAPEST
    if _blocks(judged, *SAVES_TOO_LITTLE):
        return Reason.NOT_COST_EFFECTIVE
    return None


def _missing_data(demand: AuroraDemand) -> Reason | None:
    if not demand.known:
        return Reason.NO_BILLED_IO
    return None if demand.whole else Reason.NOT_ENOUGH_DATA


def _without_bill(
    decision_input: DecisionInput, effective: EffectiveLimits, stays: Reason | None, problem: str
) -> Action:
    if stays is not None:
        return Hold(reason=stays, until=None, proposed_plan=None)
    return escalate_once(
        decision_input, effective, Reason.PRICE_UNKNOWN, "price_unknown",
        f"the bill cannot be worked out: {problem}", None,
    )  # fmt: skip


def _answer(
    decision_input: DecisionInput, effective: EffectiveLimits, judged: PlanJudgement, goal: Goal,
    stays: Reason | None,
) -> Action:  # fmt: skip
    """Hold where the present mode is right; else act on the plan, or what follows from its blocks."""
    at, plan = decision_input.observation.at, judged.plan
    if stays is not None:
        proposed = None if stays in CONTENT else plan
        return Hold(reason=stays, until=None, proposed_plan=proposed)
    if judged.allowed or requested_in_advance(effective.limits, judged, at):
        reason = Reason.SLOW_COMMITS if goal is Goal.PERFORMANCE else Reason.CHEAPER
        return act_or_hold(decision_input, effective, reason, plan)
    if _blocks(judged, Guardrail.MODE):
        return Hold(reason=Reason.OBSERVE_ONLY, until=None, proposed_plan=plan)
    lasting = [v for v in judged.blocking if not v.temporary]
    if not lasting:
        until = all_clear_at(judged.blocking)
        return Hold(reason=Reason.BLOCKED_TEMPORARILY, until=until, proposed_plan=plan)
    return escalate_once(
        decision_input, effective, Reason.BLOCKED_PERMANENTLY,
        "+".join(v.guardrail.value for v in lasting), _remedy(lasting), plan,
    )  # fmt: skip


def _remedy(lasting: Sequence[Verdict]) -> str:
    """What the owner can do, in the guardrails' own words where they have some."""
    texts: list[str] = []
    rest: list[Verdict] = []
    for verdict in lasting:
        explained = verdict.detail if verdict.guardrail in EXPLAINED else ""
        text = _REMEDY.get(verdict.guardrail, explained)
        if not text and verdict.guardrail in WITHOUT_SETTING:
            text = f"{verdict.guardrail.value}: {verdict.detail or 'only a person can change that'}"
        if text:
            texts.append(text)
        else:
            rest.append(verdict)
    allows = in_the_policy(rest, kind=Kind.AURORA)
    return "; ".join([*texts, *([allows] if allows else [])])


def _explanation(detail: ClusterDetail) -> str:
    days = len(detail.demand.days)
    if detail.bills is not None:
        return f"{bill_summary(detail.bills)}, by {days} whole days"
    if not detail.demand.known:
        return f"no billed I/O is published under {detail.cluster.mode}"
    return f"{days} of {DAYS} whole days are known"


def _summary(detail: ClusterDetail, answer: Action, judgements: Sequence[PlanJudgement]) -> str:
    name = detail.cluster.ref.resource_id
    text = f"{name}: {_explanation(detail)}; {action_summary(answer)}"
    text += longer_past_summary(detail, answer)
    if isinstance(answer, Hold) and answer.reason is Reason.NOT_COST_EFFECTIVE:
        too_little = (v for j in judgements for v in j.blocking if v.guardrail in SAVES_TOO_LITTLE)
        text += f", but {saves_too_little(next(too_little))}"
    if detail.check is not None:
        text += f"; {bill_check_summary(detail.check)}"
    return f"{text}; {detail.owner_note}" if detail.owner_note else text
