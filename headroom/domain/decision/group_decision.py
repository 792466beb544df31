"""The decision about a striped set: one shape for all members, judged for each, all or none.

analyzed members -> shapes, valued for the set -> every guardrail of every member -> Act for all
that change, or the decision about the primary volume.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from headroom.domain.decision.action import Act, Escalate, Hold, Reason
from headroom.domain.decision.conclude import reason_of
from headroom.domain.decision.decide import Decision, build_decision, decision_id_of
from headroom.domain.decision.decision_input import Analysis, DecisionInput, analyze, case_of
from headroom.domain.decision.escalation import LONG_PRESSED_MINUTES, escalate_once
from headroom.domain.decision.group_blocks import (
    beyond_concurrency,
    beyond_quotas,
    held_by,
    needs_approval,
)
from headroom.domain.decision.group_shapes import (
    Beyond,
    GroupShape,
    beyond_the_instance,
    instance_capacity_left,
    value_group_shapes,
)
from headroom.domain.guardrails import (
    QUEUEABLE_GUARDRAILS,
    Case,
    Guardrail,
    PlanJudgement,
    Verdict,
    all_clear_at,
    judge,
    only_saves,
)
from headroom.domain.planning import (
    Candidate,
    GroupConstraint,
    GroupDetail,
    GroupMember,
    Plan,
    VolumeShape,
    volume_shape,
)
from headroom.domain.policy import Policy, limits_for
from headroom.domain.resources import digest
from headroom.domain.state import (
    WINDOW,
    ConcurrencyState,
    InFlight,
    ResourceState,
    after_change_started,
    quota_usage,
)

LOAD_INDEPENDENT_GUARDRAILS = frozenset(
    {
        Guardrail.POLICY, Guardrail.MODE, Guardrail.MANAGED_ELSEWHERE, Guardrail.MULTI_ATTACH,
        Guardrail.INFRASTRUCTURE_AS_CODE, Guardrail.SLOTS, Guardrail.RETRY_BACKOFF,
        Guardrail.ROLLED_BACK, Guardrail.FAILURES,
    }
)  # fmt: skip
"""Guardrails that depend neither on the load nor on the exact plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDecision:
    """Acts for the members that change, none if the set stays; `primary` is the decision about the volume
    that was reconciled."""

    primary: Decision
    acts: tuple[Decision, ...]


def decide_group(
    name: str, primary: DecisionInput, others: Sequence[DecisionInput]
) -> GroupDecision:
    """What to do about a set whose volumes were all observed; a pure function of the input."""
    members = [analyze(decision_input) for decision_input in (primary, *others)]
    observed = [m.decision_input.observation for m in members]
    left = instance_capacity_left(observed, primary.resource_state.concurrency)
    shares = sorted(value_group_shapes(members, left), key=lambda share: share.order)
    beyond = [beyond_the_instance(observed, share.plans, left) for share in shares]
    judged = [
        _judged(name, members, share, too_much)
        for share, too_much in zip(shares, beyond, strict=True)
    ]
    chosen = next(
        (
            place
            for place, each in enumerate(judged)
            if all(judgement is None or judgement.allowed for judgement in each)
        ),
        None,
    )
    token = digest(
        *((m.decision_input.observation, m.decision_input.resource_state) for m in members)
    )
    waits = None if chosen is not None else _evened_later(members[0], shares, judged)
    if waits is not None:
        seen = _seen(name, members, None, token)
        rest = build_decision(members[0], (), answer=waits, group=seen, token=token)
        return GroupDecision(primary=rest, acts=())
    if chosen is None:
        # What the instance could serve comes first: a smaller shape needs no larger instance.
        ordered = sorted(range(len(shares)), key=lambda place: beyond[place] is not None)
        mine = _of_member([judged[place] for place in ordered], 0)
        seen = _seen(name, members, None, token)
        return GroupDecision(
            primary=build_decision(members[0], mine, group=seen, token=token), acts=()
        )
    share = shares[chosen]
    seen = _seen(name, members, share, token)
    primary_analysis = members[0]
    acts = tuple(
        _act(member, plan, _of_member(judged, place), primary_analysis, seen, token)
        for place, (member, plan) in enumerate(zip(members, share.plans, strict=True))
        if plan is not None
    )
    if share.plans[0] is not None:
        return GroupDecision(primary=acts[0], acts=acts)
    # It already has the shape that the others get.
    stays = Hold(reason=Reason.NO_PRESSURE, until=None, proposed_plan=None)
    rest = build_decision(primary_analysis, (), answer=stays, group=seen, token=token)
    return GroupDecision(primary=rest, acts=acts)


def _evened_later(
    primary: Analysis, shares: Sequence[GroupShape],
    judged: Sequence[Sequence[PlanJudgement | None]],
) -> Hold | Escalate | None:  # fmt: skip
    """Waiting for the others to be raised to what the primary volume has, where that takes a known time; None where not.

    Nobody is asked for a further raise of a set that is about to be even; after an hour its owner hears what it waits for.
    """
    at = primary.decision_input.observation.at
    for share, each in zip(shares, judged, strict=True):
        blocking = [v for judgement in each if judgement is not None for v in judgement.blocking]
        worthless = any(judgement is not None and judgement.worthless for judgement in each)
        raises = share.plans[0] is None and all(p is None or p.sustains_more for p in share.plans)
        until = all_clear_at(blocking) if all(v.temporary for v in blocking) else None
        if not raises or worthless or until is None or until > at + WINDOW:
            continue
        waits = Hold(reason=Reason.BLOCKED_TEMPORARILY, until=until, proposed_plan=None)
        if primary.demand.pressed_minutes < LONG_PRESSED_MINUTES:
            return waits
        names = ", ".join(sorted({v.guardrail.value for v in blocking}))
        remedy = (
            f"the set is uneven, and {names} keeps its other volumes from {_in_words(share.like)} until "
            f"{until:%Y-%m-%d %H:%M} UTC; Headroom decides again then, unless you change them before"
        )
        told = escalate_once(
            primary.decision_input, primary.effective, Reason.BLOCKED_TEMPORARILY,
            f"{Guardrail.GROUP.value} (waiting)", remedy, None,
        )  # fmt: skip
        return told if isinstance(told, Escalate) else waits
    return None


def _of_member(
    judged: Sequence[Sequence[PlanJudgement | None]], place: int
) -> tuple[PlanJudgement, ...]:
    return tuple(each[place] for each in judged if each[place] is not None)  # type: ignore[misc]


def _act(
    member: Analysis, plan: Plan, judgements: tuple[PlanJudgement, ...], primary_analysis: Analysis,
    seen: GroupDetail, token: str,
) -> Decision:  # fmt: skip
    answer = Act(reason=reason_of(primary_analysis, plan), plan=plan)
    made = build_decision(member, judgements, answer=answer, group=seen, token=token)
    return replace(made, summary=f"{made.summary}; with its set {seen.name} of {len(seen.members)}")


def _seen(
    name: str, members: Sequence[Analysis], share: GroupShape | None, token: str
) -> GroupDetail:  # fmt: skip
    plans = share.plans if share is not None else (None,) * len(members)
    return GroupDetail(
        name=name,
        members=tuple(
            GroupMember(
                volume_id=m.decision_input.observation.volume.ref.resource_id,
                configuration=m.decision_input.observation.volume.configuration,
                decision_id="" if plan is None else decision_id_of(m.decision_input, token),
            )
            for m, plan in zip(members, plans, strict=True)
        ),
        shared="" if share is None else _in_words(share.like),
        price_change_usd=None if share is None else _usd(plans),
    )


def _usd(plans: Sequence[Plan | None]) -> Decimal:
    return sum((plan.price_change_usd for plan in plans if plan is not None), Decimal(0))


def _in_words(like: VolumeShape) -> str:
    kind, iops, mibps = like
    parts = [kind.value, *(f"{n} {u}" for n, u in ((iops, "IOPS"), (mibps, "MiB/s")) if n)]
    return " ".join(parts)


def _judged(
    name: str, members: Sequence[Analysis], share: GroupShape, beyond_instance: Beyond | None
) -> tuple[PlanJudgement | None, ...]:
    """The verdicts on each member's plan, including what the other members' verdicts add."""
    state_store = _states_in_flight(members, share.plans)
    changing = [(m, plan) for m, plan in zip(members, share.plans, strict=True) if plan is not None]
    constraint = GroupConstraint(
        name=name, together=len(changing),
        for_load=not all(only_saves(plan, m.diagnosis) for m, plan in changing),
    )  # fmt: skip
    alone = [
        None if plan is None else judge(case_of(m, plan, s, constraint))
        for m, plan, s in zip(members, share.plans, state_store, strict=True)
    ]
    limits = (
        needs_approval(members, share), beyond_concurrency(members, share), beyond_quotas(members, share),
        beyond_instance,
    )  # fmt: skip
    beyond = [each for each in limits if each is not None]
    together: list[PlanJudgement | None] = []
    for place, (member, plan, resource_state) in enumerate(
        zip(members, share.plans, state_store, strict=True)
    ):
        if plan is None:
            together.append(None)
            continue
        said = _constraint_by_others(name, members, alone, place, beyond)
        said = replace(said, together=constraint.together, for_load=constraint.for_load)
        together.append(
            alone[place] if not said.problem else judge(case_of(member, plan, resource_state, said))
        )
    return tuple(together)


def _states_in_flight(
    members: Sequence[Analysis], plans: Sequence[Plan | None]
) -> tuple[ResourceState, ...]:
    """Each member's state as if all other changes were in flight and reserved."""
    own = [m.decision_input.resource_state.resource_increase_usd for m in members]
    then = [
        had if plan is None else _increase(member, plan)
        for member, plan, had in zip(members, plans, own, strict=True)
    ]
    account = members[0].decision_input.resource_state.account_increase_usd - sum(own, Decimal(0))
    everything = account + sum(then, Decimal(0))
    changes = [
        None if plan is None else _under_way(member, plan)
        for member, plan in zip(members, plans, strict=True)
    ]
    return tuple(
        replace(
            m.decision_input.resource_state,
            account_increase_usd=everything - new + had,
            concurrency=_with(
                members[0].decision_input.resource_state.concurrency,
                [c for at, c in enumerate(changes) if at != place and c is not None],
            ),
        )
        for place, (m, new, had) in enumerate(zip(members, then, own, strict=True))
    )


def _with(concurrency: ConcurrencyState, changes: Sequence[InFlight]) -> ConcurrencyState:
    for change in changes:
        concurrency = after_change_started(concurrency, change)
    return concurrency


def _under_way(member: Analysis, plan: Plan) -> InFlight:
    seen = member.decision_input.observation
    return InFlight(
        resource=seen.volume.ref.arn, decision_id="", since=seen.at,
        zone=seen.volume.availability_zone, counts=quota_usage(plan.origin, plan.target),
    )  # fmt: skip


def _increase(member: Analysis, plan: Plan) -> Decimal:
    """The plan's increase above the price at enrolment."""
    enrolment = member.decision_input.resource_state.enrolment_usd
    before = plan.monthly_usd - plan.price_change_usd if enrolment is None else enrolment
    return max(Decimal(0), plan.monthly_usd - before)


def _constraint_by_others(
    name: str, members: Sequence[Analysis], judgements: Sequence[PlanJudgement | None],
    place: int, beyond: Sequence[Beyond],
) -> GroupConstraint:  # fmt: skip
    """Why the others block a member, and whether that is temporary."""
    mine = judgements[place]
    # Limits of the whole account block this member too, with a verdict of their own.
    shared = (
        {v.guardrail for v in mine.blocking} & QUEUEABLE_GUARDRAILS
        if mine is not None
        else frozenset()
    )
    held = {
        members[other].decision_input.observation.volume.ref.resource_id: [
            v for v in judgement.blocking if v.guardrail not in shared
        ]
        for other, judgement in enumerate(judgements)
        if other != place and judgement is not None
    }
    own = members[place].decision_input.observation.volume.ref.resource_id
    every = held if mine is None else {**held, own: mine.blocking}
    tags = {
        m.decision_input.observation.volume.ref.resource_id: m.effective.tags_that_set
        for m in members
    }
    return held_by(name, held, every, beyond, tags)


def blocked_by_members(
    name: str, alone: Decision, plan: Plan, policy: Policy, others: Sequence[Candidate]
) -> GroupConstraint:
    """Why other members would block the set whatever their load is, so that it need not be read.

    Only volumes with the shape of the volume of `alone` are checked: they would change with it.
    """
    seen, held, tags = alone.observation, dict[str, list[Verdict]](), dict[str, dict[str, str]]()
    for other in others:
        if volume_shape(other.volume.configuration) != volume_shape(seen.volume.configuration):
            continue
        case = Case(
            plan=plan, observation=replace(seen, volume=other.volume), demand=alone.demand,
            diagnosis=alone.diagnosis, resource_state=other.resource_state, policy=policy,
            effective=limits_for(policy, other.volume), group=GroupConstraint(name=name),
        )  # fmt: skip
        blocking = [v for v in judge(case).blocking if v.guardrail in LOAD_INDEPENDENT_GUARDRAILS]
        held[other.volume.ref.resource_id] = blocking
        tags[other.volume.ref.resource_id] = case.effective.tags_that_set
    return held_by(name, held, held, (), tags)
