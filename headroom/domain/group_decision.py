"""The decision about a striped set: one shape for all, judged for each, all of them or none.

assessed members -> shapes, weighed for the set -> every guardrail of every member -> Act for all
that change, or the decision about the one that was looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from statistics import mean

from headroom.domain.approval import why_approval
from headroom.domain.catalogue import capability
from headroom.domain.decision import (
    Act,
    Assessed,
    Decision,
    Evidence,
    Hold,
    Reason,
    assessed,
    case_of,
    concluded,
    decision_id_of,
    reason_of,
)
from headroom.domain.demand import Binding
from headroom.domain.digest import digest
from headroom.domain.groups import (
    GroupMember,
    GroupSeen,
    GroupStanding,
    Shape,
    shape,
    shaped,
)
from headroom.domain.guardrails import judge
from headroom.domain.observation import Observation
from headroom.domain.planner import relieves
from headroom.domain.plans import Plan
from headroom.domain.standing import Standing
from headroom.domain.traffic import InFlight, Traffic, after_begun, counted
from headroom.domain.verdicts import PlanJudgement, Verdict
from headroom.domain.waiting import WAITED_FOR
from headroom.domain.weigh import weigh_targets

MOST_SHAPES = 24
"""Shapes that are weighed for a set, the members' own best ones first."""
RECENT_POINTS = 15
FREE = (Binding.NOTHING, Binding.UNKNOWN, Binding.INSTANCE_IOPS, Binding.INSTANCE_THROUGHPUT)
"""Where no limit of the volume itself binds."""
NOT_ASKED = "a person would have to agree, and nobody is asked about a whole set yet"
TOLD = 4
"""Members whose reasons are told; of the rest only how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDecision:
    """Acts for the members that change, none if the set stays; `looked_at` is its own decision."""

    looked_at: Decision
    acts: tuple[Decision, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Share:
    """One shape for the whole set: a plan for each member, None for one that has it already."""

    like: Shape
    plans: tuple[Plan | None, ...]
    value_usd_per_day: float

    @property
    def order(self) -> tuple[float, int, Decimal, str]:
        made = [plan for plan in self.plans if plan is not None]
        usd = sum((plan.price_change_usd for plan in made), Decimal(0))
        return -round(self.value_usd_per_day, 2), len(made), usd, str(self.like)


def decide_together(name: str, looked_at: Evidence, others: Sequence[Evidence]) -> SetDecision:
    """What to do about a set whose volumes were all read; a pure function of the evidence."""
    members = [assessed(evidence) for evidence in (looked_at, *others)]
    shares = sorted(_shares(members), key=lambda share: share.order)
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
    name: str, members: Sequence[Assessed], share: _Share | None, token: str
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


def _shares(members: Sequence[Assessed]) -> Iterator[_Share]:
    """Every shape worth weighing that meets what each pressed member needs, valued for the set."""
    shapes = _shapes(members)
    plans: list[Mapping[Shape, Plan]] = []
    for member in members:
        current = member.evidence.observation.volume.configuration
        targets = [shaped(current, like) for like in shapes]
        made = (
            {}
            if member.situation is None
            else weigh_targets(member.situation, [t for t in targets if t != current])
        )
        plans.append({shape(target): plan for target, plan in made.items()})
    for like in shapes:
        mine = tuple(each.get(like) for each in plans)
        if _fits(members, mine, like):
            value = _value(members, mine)
            yield _Share(
                like=like,
                plans=tuple(p and replace(p, value_usd_per_day=value) for p in mine),
                value_usd_per_day=value,
            )


def _shapes(members: Sequence[Assessed]) -> list[Shape]:
    """The members' own best shapes, what serves the most demanding of a type, and what they have.

    A shape that the instance could not serve for all of them is weighed cut down as well.
    """
    best: dict[Shape, None] = {}
    own = [[shape(p.target) for p in m.weighed.plans if not p.grows][:MOST_SHAPES] for m in members]
    for rank in range(max((len(each) for each in own), default=0)):
        best |= dict.fromkeys(each[rank] for each in own if rank < len(each))
    for kind in {each[0][0] for each in own if each}:
        first = [each[0] for each in own if each and each[0][0] is kind]
        best[
            (
                kind,
                max((s[1] for s in first if s[1] is not None), default=None),
                max((s[2] for s in first if s[2] is not None), default=None),
            )
        ] = None
    shapes = list(best)[:MOST_SHAPES]
    left = _left(members)
    shapes += [cut for like in shapes if (cut := _cut_down(like, left, len(members))) != like]
    shapes += [shape(m.evidence.observation.volume.configuration) for m in members]
    return list(dict.fromkeys(shapes))


def _cut_down(like: Shape, left: tuple[float, float] | None, count: int) -> Shape:
    """The shape with each member's even share of what the instance has for the set, at most."""
    kind, iops, mibps = like
    if left is None:
        return like
    if iops is not None:
        iops = min(iops, max(1, int(left[0] / count)))
    if mibps is not None:
        mibps = min(mibps, max(1, int(left[1] / count)))
    return kind, iops, mibps


def _fits(members: Sequence[Assessed], plans: Sequence[Plan | None], like: Shape) -> bool:
    """Whether all can have the shape, none goes down while another goes up, and all are helped."""
    for member, plan in zip(members, plans, strict=True):
        current = member.evidence.observation.volume.configuration
        if plan is None and shape(current) != like:
            return False
        pressed = plan is not None and member.diagnosis.binding not in FREE
        if pressed and not _helps(member, plan):
            return False
    changes = [
        (_lowers(member, plan), _raises(plan))
        for member, plan in zip(members, plans, strict=True)
        if plan is not None
    ]
    down, up = any(lowers for lowers, _ in changes), any(raises for _, raises in changes)
    return bool(changes) and (not down or not up or all(lowers for lowers, _ in changes))


def _helps(member: Assessed, plan: Plan | None) -> bool:
    situation = member.situation
    return plan is not None and situation is not None and relieves(situation, plan)


def _lowers(member: Assessed, plan: Plan) -> bool:
    return plan.gives_back(draining=member.diagnosis.binding is Binding.BURST_CREDITS)


def _raises(plan: Plan) -> bool:
    now, then = capability(plan.origin), plan.capability
    return then.sustained_iops > now.sustained_iops or then.sustained_mibps > now.sustained_mibps


def _value(members: Sequence[Assessed], plans: Sequence[Plan | None]) -> float:
    """What the change of all is worth per day: the sum, and of giving back the least of all.

    Nobody's saving outweighs what another would miss.
    """
    made = [(m, p) for m, p in zip(members, plans, strict=True) if p is not None]
    values = [plan.value_usd_per_day for _, plan in made]
    lowers = any(_lowers(member, plan) for member, plan in made)
    return round(min(values) if lowers else sum(values), 4)


def _judged(
    name: str, members: Sequence[Assessed], share: _Share
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
    told: list[str] = []
    verdicts: list[Verdict] = []
    mine = judgements[place]
    # What holds for the whole account holds this one back as well, and says so itself.
    shared = {v.guardrail for v in mine.blocking} & WAITED_FOR if mine is not None else frozenset()
    for other, judgement in enumerate(judgements):
        if other == place or judgement is None:
            continue
        blocking = [v for v in judgement.blocking if v.guardrail not in shared]
        if not blocking:
            continue
        volume_id = members[other].evidence.observation.volume.ref.resource_id
        names = ", ".join(v.guardrail.value for v in blocking)
        told.append(f"{volume_id} may not ({names})")
        verdicts += blocking
    if len(told) > TOLD:
        told = [*told[:TOLD], f"and {len(told) - TOLD} more"]
    if too_much:
        told.insert(0, too_much)
    passes = not too_much and all(v.temporary for v in verdicts)
    clears = [v.clears_at for v in verdicts]
    known = [at for at in clears if at is not None]
    return GroupStanding(
        name=name, problem="; ".join(told), temporary=passes,
        clears_at=max(known) if passes and known and len(known) == len(clears) else None,
    )  # fmt: skip


def _to_be_asked(members: Sequence[Assessed], share: _Share) -> str:
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


def _beyond_the_places(members: Sequence[Assessed], share: _Share) -> str:
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


def _beyond_the_instance(members: Sequence[Assessed], share: _Share) -> str:
    """Why the instance could not serve the set if all had the shape; empty when it could."""
    left = _left(members)
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


def _left(members: Sequence[Assessed]) -> tuple[float, float] | None:
    """Sustained IOPS and MiB/s that the instance has for all of the set; None when not known."""
    seen = members[0].evidence.observation
    limits = None if seen.instance is None else seen.instance.limits
    if seen.instance is None or limits is None:
        return None
    ids = {m.evidence.observation.volume.ref.resource_id for m in members}
    iops = mibps = 0.0
    if not set(seen.instance.volume_ids) <= ids:
        if seen.instance_activity is None:
            return None
        loads = [_load(m.evidence.observation) for m in members]
        total = [
            series.known()[-RECENT_POINTS:]
            for series in (seen.instance_activity.iops, seen.instance_activity.mibps)
        ]
        if not total[0] or not total[1]:
            return None
        iops = max(0.0, mean(total[0]) - sum(load[0] for load in loads))
        mibps = max(0.0, mean(total[1]) - sum(load[1] for load in loads))
    return max(0.0, limits.baseline_iops - iops), max(0.0, limits.baseline_mibps - mibps)


def _load(observation: Observation) -> tuple[float, float]:
    """Mean IOPS and MiB/s of the last measured minutes."""
    activity = observation.activity
    found = []
    for reads, writes in (
        (activity.read_iops, activity.write_iops), (activity.read_mibps, activity.write_mibps),
    ):  # fmt: skip
        sums = [mean(s.known()[-RECENT_POINTS:] or [0.0]) for s in (reads, writes)]
        found.append(sum(sums))
    return found[0], found[1]
