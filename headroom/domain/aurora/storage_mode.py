"""Whether an Aurora cluster changes its storage mode; a pure function of what was observed.

observation -> demand of whole days -> the bill on both sides -> plan -> guardrails -> Act, Hold or
Escalate. The record states both bills, the days they rest on, and what each guardrail said.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import datetime
from enum import StrEnum

from headroom.domain.catalog.aurora import AuroraPrices, Bills, bills
from headroom.domain.guardrails import (
    AuroraCase,
    AuroraGuardrail,
    AuroraJudgement,
    AuroraPlan,
    judge_storage_mode,
)
from headroom.domain.resources import (
    AuroraActivity,
    AuroraLimits,
    AuroraObservation,
    Goal,
    PriceUnknown,
    StorageMode,
    digest,
)
from headroom.domain.state import Signature
from headroom.domain.workload import AuroraDemand, cluster_demand, usage


class AuroraReason(StrEnum):
    """Why, for counting and for people; code never branches on it."""

    CHEAPER = "cheaper"
    SLOW_COMMITS = "slow_commits"
    ALREADY_CHEAPEST = "already_cheapest"
    NOT_COST_EFFECTIVE = "not_cost_effective"
    """The other mode is cheaper, but not by enough, or only because of a few days."""
    FAST_ENOUGH = "fast_enough"
    KEPT_FOR_PERFORMANCE = "kept_for_performance"
    """It is I/O-Optimized and its owner wants speed: it stays."""
    OBSERVE_ONLY = "observe_only"
    NOT_ENOUGH_DATA = "not_enough_data"
    NO_BILLED_IO = "no_billed_io"
    """Nothing is published of the billed I/O under the present mode."""
    BLOCKED_TEMPORARILY = "blocked_temporarily"
    BLOCKED_PERMANENTLY = "blocked_permanently"
    PRICE_UNKNOWN = "price_unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuroraAct:
    """Change the cluster's storage mode to `plan.target`."""

    reason: AuroraReason
    plan: AuroraPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class AuroraHold:
    """Do nothing for now. `told` says what the owner must hear of it; empty where nothing."""

    reason: AuroraReason
    until: datetime | None
    proposed_plan: AuroraPlan | None
    told: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuroraEscalate:
    """Do nothing, and tell the owner what only the owner can change."""

    reason: AuroraReason
    cause: str
    remedy: str
    proposed_plan: AuroraPlan | None


AuroraAction = AuroraAct | AuroraHold | AuroraEscalate


@dataclass(frozen=True, slots=True, kw_only=True)
class AuroraDecision:
    """One decision about one cluster at one instant, with all it was made from.

    `bills` is the month on both sides as the whole days have it, None without enough of them or
    without a price. The days stand in `demand`: the cluster's own history, kept for the way back.
    """

    decision_id: str
    at: datetime
    trigger: str
    observation: AuroraObservation
    limits: AuroraLimits
    price_source: str
    demand: AuroraDemand
    bills: Bills | None
    judgement: AuroraJudgement | None
    answer: AuroraAction
    summary: str

    @property
    def signature(self) -> Signature:
        """What a later decision is compared with to tell whether it is news."""
        answer, judgement = self.answer, self.judgement
        plan = answer.plan if isinstance(answer, AuroraAct) else answer.proposed_plan
        return Signature(
            answer=type(answer).__name__.removeprefix("Aurora").lower(),
            binding=answer.reason.value,
            plan="" if plan is None else plan.target.value,
            blocking=()
            if judgement is None or plan is None
            else tuple(v.guardrail.value for v in judgement.blocking),
        )

    def stored(self) -> AuroraDecision:
        """As the ledger keeps it: without 16 days of series, whose days `demand` has. Same id."""
        bare = {
            field.name: replace(getattr(self.observation.activity, field.name), values=())
            for field in fields(AuroraActivity)
        }
        activity = AuroraActivity(**bare)
        return replace(self, observation=replace(self.observation, activity=activity))


_REMEDY = {
    AuroraGuardrail.VERSION: "upgrade the engine to a version that knows I/O-Optimized",
    AuroraGuardrail.RESTART: "allow a restart, or change the mode in a maintenance window",
    AuroraGuardrail.PARALLEL_QUERY: "turn parallel query off, or leave the cluster in Standard",
    AuroraGuardrail.RESERVED: "let reservations be read (rds:DescribeReservedDBInstances)",
}


def decide_storage_mode(
    observation: AuroraObservation,
    *,
    limits: AuroraLimits,
    prices: AuroraPrices | None,
    trigger: str = "sweep",
) -> AuroraDecision:
    """What to do about one cluster; same inputs, same decision, same id."""
    seen = cluster_demand(observation, slow_ms=limits.commit_latency_ms)
    both, why_not = _bills(observation, seen, prices)
    judgement = None
    if both is not None and prices is not None:
        case = AuroraCase(
            observation=observation, limits=limits, demand=seen, prices=prices, now=both,
            plan=_plan(observation, limits, both),
        )  # fmt: skip
        judgement = _judged(case)
    answer = why_not or _answer(observation, limits, judgement)
    source = "none" if prices is None else f"{prices.source}, {prices.as_of}"
    return AuroraDecision(
        decision_id=digest(trigger, observation, limits, source)[:20],
        at=observation.at,
        trigger=trigger,
        observation=observation,
        limits=limits,
        price_source=source,
        demand=seen,
        bills=both,
        judgement=judgement,
        answer=answer,
        summary=_summary(observation, both, answer),
    )


def _judged(case: AuroraCase) -> AuroraJudgement:
    """What the guardrails say; where money alone is no reason, of the same change for speed.

    A change that saves a little, and not enough to shut the way for 30 days for it, may still be
    wanted for slow commits.
    """
    for_money = judge_storage_mode(case)
    names = {v.guardrail for v in for_money.blocking}
    speed = case.limits.goal is Goal.PERFORMANCE and not case.back
    if not speed or not names & {AuroraGuardrail.MARGIN, AuroraGuardrail.STEADY}:
        return for_money
    return judge_storage_mode(replace(case, plan=replace(case.plan, goal=Goal.PERFORMANCE)))


def _bills(
    observation: AuroraObservation, seen: AuroraDemand, prices: AuroraPrices | None
) -> tuple[Bills | None, AuroraHold | AuroraEscalate | None]:
    """The bill on both sides, or why there is none."""
    mode = observation.cluster.mode
    if not seen.known:
        told = ""
        if mode is StorageMode.IO_OPTIMIZED:
            told = (
                "nothing is published of the billed I/O under I/O-Optimized: compare the days "
                "recorded before the change, the cluster stays as it is"
            )
        return None, AuroraHold(
            reason=AuroraReason.NO_BILLED_IO, until=None, proposed_plan=None, told=told
        )
    if not seen.whole:
        return None, AuroraHold(reason=AuroraReason.NOT_ENOUGH_DATA, until=None, proposed_plan=None)
    unknown = "no table"
    if prices is not None:
        try:
            return bills(usage(observation, seen, seen.ios_a_month()), prices), None
        except (PriceUnknown, ValueError) as problem:
            unknown = str(problem)
    return None, AuroraEscalate(
        reason=AuroraReason.PRICE_UNKNOWN, cause="price_unknown",
        remedy=f"the bill cannot be worked out: {unknown}", proposed_plan=None,
    )  # fmt: skip


def _plan(observation: AuroraObservation, limits: AuroraLimits, both: Bills) -> AuroraPlan:
    """The change to the only other mode, for money or for speed, whichever it is for."""
    origin = observation.cluster.mode
    target, saving = origin.other, both.saving_usd(origin)
    speed = limits.goal is Goal.PERFORMANCE and target is StorageMode.IO_OPTIMIZED and saving <= 0
    standard = both.standard
    return AuroraPlan(
        origin=origin,
        target=target,
        goal=Goal.PERFORMANCE if speed else Goal.COST,
        why=(
            f"I/O is {100 * standard.io_share:.1f} % of ${standard.total_usd:.2f} a month in "
            f"Standard; ${both.io_optimized.total_usd:.2f} in I/O-Optimized"
        ),
        monthly_usd=both.of(target).total_usd,
        price_change_usd=-saving,
        reversible=target is StorageMode.IO_OPTIMIZED,
        restarts=observation.cluster.restarts,
    )


def _answer(
    observation: AuroraObservation, limits: AuroraLimits, judgement: AuroraJudgement | None
) -> AuroraAction:
    if judgement is None:  # cannot be: without a judgement there is a reason why there is none
        return AuroraHold(reason=AuroraReason.NOT_ENOUGH_DATA, until=None, proposed_plan=None)
    plan, blocking = judgement.plan, judgement.blocking
    names = {v.guardrail for v in blocking}
    speed = plan.goal is Goal.PERFORMANCE
    if limits.goal is Goal.PERFORMANCE and plan.target is StorageMode.STANDARD:
        return AuroraHold(reason=AuroraReason.KEPT_FOR_PERFORMANCE, until=None, proposed_plan=None)
    if not blocking:
        reason = AuroraReason.SLOW_COMMITS if speed else AuroraReason.CHEAPER
        return AuroraAct(reason=reason, plan=plan)
    if speed and AuroraGuardrail.SLOW_COMMITS in names:
        return AuroraHold(reason=AuroraReason.FAST_ENOUGH, until=None, proposed_plan=None)
    if not speed and plan.price_change_usd >= 0:
        return AuroraHold(reason=AuroraReason.ALREADY_CHEAPEST, until=None, proposed_plan=None)
    if names & {AuroraGuardrail.MARGIN, AuroraGuardrail.STEADY}:
        return AuroraHold(reason=AuroraReason.NOT_COST_EFFECTIVE, until=None, proposed_plan=plan)
    if names == {AuroraGuardrail.MODE}:
        return AuroraHold(reason=AuroraReason.OBSERVE_ONLY, until=None, proposed_plan=plan)
    lasting = [v for v in blocking if not v.temporary and v.guardrail is not AuroraGuardrail.MODE]
    if not lasting:
        clears = [v.clears_at for v in blocking if v.clears_at is not None]
        return AuroraHold(
            reason=AuroraReason.BLOCKED_TEMPORARILY,
            until=max(clears, default=None),
            proposed_plan=plan,
        )
    if not limits.auto:
        return AuroraHold(reason=AuroraReason.OBSERVE_ONLY, until=None, proposed_plan=plan)
    first = lasting[0]
    return AuroraEscalate(
        reason=AuroraReason.BLOCKED_PERMANENTLY, cause=first.guardrail.value,
        remedy=_REMEDY.get(first.guardrail, "raise the limit, or leave the cluster as it is"),
        proposed_plan=plan,
    )  # fmt: skip


def _summary(observation: AuroraObservation, both: Bills | None, answer: AuroraAction) -> str:
    name = observation.cluster.ref.resource_id
    bill = ""
    if both is not None:
        bill = (
            f"${both.standard.total_usd:.2f} a month in Standard, I/O "
            f"{100 * both.standard.io_share:.0f} % of it, ${both.io_optimized.total_usd:.2f} in "
            "I/O-Optimized; "
        )
    match answer:
        case AuroraAct(reason=why, plan=plan):
            return f"{name}: {bill}{plan.origin} -> {plan.target} ({why.value.replace('_', ' ')})"
        case AuroraHold(reason=why, until=until, told=told):
            text = f"{name}: {bill}held ({why.value.replace('_', ' ')})"
            if until is not None:
                text += f" until {until:%Y-%m-%d %H:%M} UTC"
            return f"{text}; {told}" if told else text
        case AuroraEscalate(cause=cause, remedy=remedy):
            return f"{name}: {bill}{cause.replace('_', ' ')}: {remedy}"
