"""The decision about a striped set: one shape for all, judged for each, all of them or none.

assessed members -> shapes, weighed for the set -> every guardrail of every member -> Act for all
that change, or the decision about the one that was looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from headroom.domain.answering import reason_of
from headroom.domain.answers import Act, Hold, Reason
from headroom.domain.approval import why_approval
from headroom.domain.blocking import WAITED_FOR
from headroom.domain.catalogue import capability
from headroom.domain.decision import Decision, concluded, decision_id_of
from headroom.domain.digest import digest
from headroom.domain.evidence import Assessed, Evidence, assessed, case_of
from headroom.domain.group_shapes import Share, left_for, shares_of
from headroom.domain.groups import Candidate, GroupMember, GroupSeen, GroupStanding, Shape, shape
from headroom.domain.guardrails import judge
from headroom.domain.guardrails.case import Case
from headroom.domain.plans import Plan
from headroom.domain.policy import Policy, limits_for
from headroom.domain.standing import Standing
from headroom.domain.traffic import InFlight, Traffic, after_begun, counted
from headroom.domain.verdicts import Guardrail, PlanJudgement, Verdict

WHATEVER_THE_LOAD = frozenset(
    {
        Guardrail.POLICY, Guardrail.MODE, Guardrail.OTHER_OWNER, Guardrail.MULTI_ATTACH,
        Guardrail.INFRASTRUCTURE_AS_CODE, Guardrail.SLOTS, Guardrail.BACK_OFF,
        Guardrail.ROLLED_BACK, Guardrail.FAILURES,
    }
)  # fmt: skip
"""Guardrails that look neither at the load nor at what exactly is planned."""
NOT_ASKED = "a person would have to agree, and nobody is asked about a whole set yet"
TOLD = 4
"""Members whose reasons are told; of the rest only how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDecision:
    """Acts for the members that change, none if the set stays; `looked_at` is its own decision."""

    looked_at: Decision
    acts: tuple[Decision, ...]


def decide_together(name: str, looked_at: Evidence, others: Sequence[Evidence]) -> SetDecision:
    """What to do about a set whose volumes were all read; a pure function of the evidence."""
    members = [assessed(evidence) for evidence in (looked_at, *others)]
    shares = sorted(shares_of(members), key=lambda share: share.order)
    judged = [_judged(name, members, share) for share in shares]
    chosen = next(
        (
            place
            for place, each in enumerate(judged)
            if all(judgement is None or judgement.allowed for judgement in each)
        ),
        None,
    )
    token = digest(*((m.evidence.observation, m.evidence.standing) for m in members))
    if chosen is None:
        mine = _mine(judged, 0)
        seen = _seen(name, members, None, token)
        return SetDecision(looked_at=concluded(members[0], mine, group=seen, token=token), acts=())
    share = shares[chosen]
    seen = _seen(name, members, share, token)
    woken = members[0]
    acts = tuple(
        _act(member, plan, _mine(judged, place), woken, seen, token)
        for place, (member, plan) in enumerate(zip(members, share.plans, strict=True))
        if plan is not None
    )
    if share.plans[0] is not None:
        return SetDecision(looked_at=acts[0], acts=acts)
    # It has what the others get: there is nothing to do about this one, whatever else was judged.
    stays = Hold(reason=Reason.NO_PRESSURE, until=None, would_take=None)
    rest = concluded(woken, (), answer=stays, group=seen, token=token)
    return SetDecision(looked_at=rest, acts=acts)


def _mine(
    judged: Sequence[Sequence[PlanJudgement | None]], place: int
) -> tuple[PlanJudgement, ...]:
    return tuple(each[place] for each in judged if each[place] is not None)  # type: ignore[misc]


def _act(
    member: Assessed, plan: Plan, judgements: tuple[PlanJudgement, ...], woken: Assessed,
    seen: GroupSeen, token: str,
) -> Decision:  # fmt: skip
    answer = Act(reason=reason_of(woken, plan), plan=plan)
    made = concluded(member, judgements, answer=answer, group=seen, token=token)
    return replace(made, summary=f"{made.summary}; with its set {seen.name} of {len(seen.members)}")


def _seen(
    name: str, members: Sequence[Assessed], share: Share | None, token: str
) -> GroupSeen:  # fmt: skip
    plans = share.plans if share is not None else (None,) * len(members)
    return GroupSeen(
        name=name,
        members=tuple(
            GroupMember(
                volume_id=m.evidence.observation.volume.ref.resource_id,
                configuration=m.evidence.observation.volume.configuration,
                decision_id="" if plan is None else decision_id_of(m.evidence, token),
            )
            for m, plan in zip(members, plans, strict=True)
        ),
        shared="" if share is None else _in_words(share.like),
    )


def _in_words(like: Shape) -> str:
    kind, iops, mibps = like
    parts = [kind.value, *(f"{n} {u}" for n, u in ((iops, "IOPS"), (mibps, "MiB/s")) if n)]
    return " ".join(parts)


def _judged(
    name: str, members: Sequence[Assessed], share: Share
) -> tuple[PlanJudgement | None, ...]:
    """What every guardrail says about each member's plan, then what the others make of it."""
    standings = _standings(members, share.plans)
    alone = [
        None if plan is None else judge(case_of(m, plan, s, GroupStanding(name=name)))
        for m, plan, s in zip(members, share.plans, standings, strict=True)
    ]
    too_much = (
        _beyond_the_instance(members, share)
        or _to_be_asked(members, share)
        or _beyond_the_places(members, share)
    )
    together: list[PlanJudgement | None] = []
    for place, (member, plan, standing) in enumerate(
        zip(members, share.plans, standings, strict=True)
    ):
        if plan is None:
            together.append(None)
            continue
        said = _said_by_others(name, members, alone, place, too_much)
        together.append(
            alone[place] if not said.problem else judge(case_of(member, plan, standing, said))
        )
    return tuple(together)


def _standings(members: Sequence[Assessed], plans: Sequence[Plan | None]) -> tuple[Standing, ...]:
    """Each member's standing as if the change of all others were under way and paid for."""
    own = [m.evidence.standing.own_increase_usd for m in members]
    then = [
        had if plan is None else _increase(member, plan)
        for member, plan, had in zip(members, plans, own, strict=True)
    ]
    account = members[0].evidence.standing.account_increase_usd - sum(own, Decimal(0))
    everything = account + sum(then, Decimal(0))
    changes = [
        None if plan is None else _under_way(member, plan)
        for member, plan in zip(members, plans, strict=True)
    ]
    return tuple(
        replace(
            m.evidence.standing,
            account_increase_usd=everything - new + had,
            traffic=_with(
                members[0].evidence.standing.traffic,
                [c for at, c in enumerate(changes) if at != place and c is not None],
            ),
        )
        for place, (m, new, had) in enumerate(zip(members, then, own, strict=True))
    )


def _with(traffic: Traffic, changes: Sequence[InFlight]) -> Traffic:
    for change in changes:
        traffic = after_begun(traffic, change)
    return traffic


def _under_way(member: Assessed, plan: Plan) -> InFlight:
    seen = member.evidence.observation
    return InFlight(
        resource=seen.volume.ref.arn, decision_id="", since=seen.at,
        zone=seen.volume.availability_zone, counts=counted(plan.origin, plan.target),
    )  # fmt: skip


def _increase(member: Assessed, plan: Plan) -> Decimal:
    """What the plan would count as, above the price at enrolment."""
    enrolment = member.evidence.standing.enrolment_usd
    before = plan.monthly_usd - plan.price_change_usd if enrolment is None else enrolment
    return max(Decimal(0), plan.monthly_usd - before)


def _said_by_others(
    name: str, members: Sequence[Assessed], judgements: Sequence[PlanJudgement | None],
    place: int, too_much: str,
) -> GroupStanding:  # fmt: skip
    """Why the others hold a member back, and whether that passes."""
    mine = judgements[place]
    # What holds for the whole account holds this one back as well, and says so itself.
    shared = {v.guardrail for v in mine.blocking} & WAITED_FOR if mine is not None else frozenset()
    held = {
        members[other].evidence.observation.volume.ref.resource_id: [
            v for v in judgement.blocking if v.guardrail not in shared
        ]
        for other, judgement in enumerate(judgements)
        if other != place and judgement is not None
    }
    return _held_by(name, held, too_much)


def held_anyway(
    name: str, alone: Decision, plan: Plan, policy: Policy, others: Sequence[Candidate]
) -> GroupStanding:
    """Why others would hold the set back whatever their load is, so that it need not be read.

    Asked only of volumes that have the shape of the one that `alone` is about and that `plan`
    would change: they would have to change with it.
    """
    seen, held = alone.observation, dict[str, list[Verdict]]()
    for other in others:
        if shape(other.volume.configuration) != shape(seen.volume.configuration):
            continue
        case = Case(
            plan=plan, observation=replace(seen, volume=other.volume), demand=alone.demand,
            diagnosis=alone.diagnosis, standing=other.standing, policy=policy,
            effective=limits_for(policy, other.volume), group=GroupStanding(name=name),
        )  # fmt: skip
        blocking = [v for v in judge(case).blocking if v.guardrail in WHATEVER_THE_LOAD]
        held[other.volume.ref.resource_id] = blocking
    return _held_by(name, held, "")


def _held_by(name: str, held: Mapping[str, Sequence[Verdict]], too_much: str) -> GroupStanding:
    """What the verdicts against other volumes make of the set, in words and in time."""
    told = [
        f"{volume_id} may not ({', '.join(v.guardrail.value for v in blocking)})"
        for volume_id, blocking in held.items()
        if blocking
    ]
    if len(told) > TOLD:
        told = [*told[:TOLD], f"and {len(told) - TOLD} more"]
    if too_much:
        told.insert(0, too_much)
    verdicts = [v for blocking in held.values() for v in blocking]
    passes = not too_much and all(v.temporary for v in verdicts)
    clears = [v.clears_at for v in verdicts]
    known = [at for at in clears if at is not None]
    return GroupStanding(
        name=name, problem="; ".join(told), temporary=passes,
        clears_at=max(known) if passes and known and len(known) == len(clears) else None,
    )  # fmt: skip


def _to_be_asked(members: Sequence[Assessed], share: Share) -> str:
    """Why a person would have to agree to the change; empty when nobody would.

    What the owner is asked for above a price counts for the price of the whole set.
    """
    made = [plan for plan in share.plans if plan is not None]
    usd = sum((plan.price_change_usd for plan in made), Decimal(0))
    for member, plan in zip(members, share.plans, strict=True):
        whole = None if plan is None else replace(plan, price_change_usd=usd)
        why = None if whole is None else why_approval(member.effective.limits, whole)
        if why is not None:
            name = member.evidence.observation.volume.ref.resource_id
            return f"{NOT_ASKED} ({name}: {why})"
    return ""


def _beyond_the_places(members: Sequence[Assessed], share: Share) -> str:
    """Why so many changes may never be under way at once; empty when they may."""
    limits, count = members[0].policy.blast_radius, sum(plan is not None for plan in share.plans)
    for name, most in (
        ("max_in_flight", limits.max_in_flight),
        ("max_in_flight_per_az", limits.max_in_flight_per_az),
        ("max_changes_per_hour", limits.max_changes_per_hour),
    ):
        if count > most:
            return f"it needs {count} changes at once, {name} allows {most}"
    return ""


def _beyond_the_instance(members: Sequence[Assessed], share: Share) -> str:
    """Why the instance could not serve the set if all had the shape; empty when it could."""
    left = left_for(members)
    if left is None:
        return ""  # whether the instance is known at all, another guardrail asks
    now = [capability(m.evidence.observation.volume.configuration) for m in members]
    then = [
        can if plan is None else plan.capability for can, plan in zip(now, share.plans, strict=True)
    ]
    for unit, most, before, after in (
        ("IOPS", left[0], [c.sustained_iops for c in now], [c.sustained_iops for c in then]),
        ("MiB/s", left[1], [c.sustained_mibps for c in now], [c.sustained_mibps for c in then]),
    ):
        if sum(after) > max(most, sum(before)):
            return (
                f"{len(members)} volumes of it would have {sum(after):,.0f} {unit} together, "
                f"their instance sustains {most:,.0f} {unit} for them"
            )
    return ""
