"""Shapes for a striped set: settings that all its volumes could share, with their value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from headroom.domain.catalog.ebs import LIMITS, capability
from headroom.domain.decision.decision_input import Analysis
from headroom.domain.guardrails import left_beside
from headroom.domain.planning import (
    Plan,
    VolumeShape,
    leaves_what_is_used,
    relieves,
    value_targets,
    volume_shape,
    with_shape,
)
from headroom.domain.resources import Observation
from headroom.domain.state import ConcurrencyState, Promised, own_load, promised_beside
from headroom.domain.workload import Binding

LARGER_INSTANCE = "use a larger instance, or spread the load"
MOST_SHAPES = 24
"""Shapes that are valued for a set, the members' own best ones first."""
NOT_VOLUME_BOUND = (
    Binding.NOTHING,
    Binding.LATENCY,
    Binding.UNKNOWN,
    Binding.INSTANCE_IOPS,
    Binding.INSTANCE_THROUGHPUT,
)
"""Bindings other than a limit of the volume itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupShape:
    """One shape for the whole set: a plan for each member, None for one that has it already."""

    like: VolumeShape
    plans: tuple[Plan | None, ...]
    value_usd_per_day: float

    @property
    def order(self) -> tuple[float, int, Decimal, str]:
        made = [plan for plan in self.plans if plan is not None]
        usd = sum((plan.price_change_usd for plan in made), Decimal(0))
        return -round(self.value_usd_per_day, 2), len(made), usd, str(self.like)


def value_group_shapes(
    members: Sequence[Analysis], left: CapacityLeft | None
) -> Iterator[GroupShape]:
    """Every candidate shape that relieves each pressed member and leaves what each uses, valued for the set."""
    shapes = _shapes(members, left)
    plans: list[Mapping[VolumeShape, Plan]] = []
    for member in members:
        current = member.decision_input.observation.volume.configuration
        targets = [with_shape(current, like) for like in shapes]
        made = (
            {}
            if member.situation is None
            else value_targets(member.situation, [t for t in targets if t != current])
        )
        plans.append({
            volume_shape(target): plan
            for target, plan in made.items()
            if member.situation is not None and leaves_what_is_used(member.situation, plan)
        })  # fmt: skip
    for like in shapes:
        mine = tuple(each.get(like) for each in plans)
        if _fits(members, mine, like):
            value = _value(members, mine)
            yield GroupShape(
                like=like,
                plans=tuple(p and replace(p, value_usd_per_day=value) for p in mine),
                value_usd_per_day=value,
            )


def _shapes(members: Sequence[Analysis], found: CapacityLeft | None) -> list[VolumeShape]:
    """The members' own best shapes, the highest of each type, and the current ones.

    A shape that the instance could not serve for all members is also valued in a smaller version.
    """
    best: dict[VolumeShape, None] = {}
    own = [
        [volume_shape(p.target) for p in m.valued_plans.plans if not p.grows][:MOST_SHAPES]
        for m in members
    ]
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
    left = None if found is None else found.rest
    have = [volume_shape(m.decision_input.observation.volume.configuration) for m in members]
    shapes += [cut for like in shapes if (cut := _cut_down(like, left, have)) != like]
    shapes += have
    return list(dict.fromkeys(shapes))


def _cut_down(
    like: VolumeShape, left: tuple[float, float] | None, have: Sequence[VolumeShape]
) -> VolumeShape:
    """The shape, limited to each member's even share of the instance's capacity for the set.

    Never below the minimum of the type, nor below what a member has already.
    """
    kind, iops, mibps = like
    if left is None:
        return like
    limits = LIMITS[kind]
    alike = [each for each in have if each[0] is kind]
    if iops is not None:
        floor = max((limits.iops or (1, 1))[0], *(each[1] or 0 for each in alike), 1)
        iops = min(iops, max(floor, int(left[0] / len(have))))
    if mibps is not None:
        floor = max((limits.throughput_mibps or (1, 1))[0], *(each[2] or 0 for each in alike), 1)
        mibps = min(mibps, max(floor, int(left[1] / len(have))))
    return kind, iops, mibps


def _fits(members: Sequence[Analysis], plans: Sequence[Plan | None], like: VolumeShape) -> bool:
    """Whether all can have the shape, none is lowered while another is raised, and all are relieved."""
    for member, plan in zip(members, plans, strict=True):
        current = member.decision_input.observation.volume.configuration
        if plan is None and volume_shape(current) != like:
            return False
        pressed = plan is not None and member.diagnosis.binding not in NOT_VOLUME_BOUND
        if pressed and not _helps(member, plan):
            return False
    changes = [
        (_lowers(member, plan), plan.sustains_more)
        for member, plan in zip(members, plans, strict=True)
        if plan is not None
    ]
    down, up = any(lowers for lowers, _ in changes), any(raises for _, raises in changes)
    return bool(changes) and (not down or not up or all(lowers for lowers, _ in changes))


def _helps(member: Analysis, plan: Plan | None) -> bool:
    situation = member.situation
    return plan is not None and situation is not None and relieves(situation, plan)


def _lowers(member: Analysis, plan: Plan) -> bool:
    return plan.gives_back(draining=member.diagnosis.binding is Binding.BURST_CREDITS)


def _value(members: Sequence[Analysis], plans: Sequence[Plan | None]) -> float:
    """The value of the whole change per day: the sum, or the minimum where performance is lowered.

    One member's saving never outweighs another's loss.
    """
    made = [(m, p) for m, p in zip(members, plans, strict=True) if p is not None]
    values = [plan.value_usd_per_day for _, plan in made]
    lowers = any(_lowers(member, plan) for member, plan in made)
    return round(min(values) if lowers else sum(values), 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityLeft:
    """Sustained IOPS and MiB/s that an instance has left for volumes of it, and what others may take of that."""

    iops: float
    mibps: float
    promised: Promised | None

    @property
    def rest(self) -> tuple[float, float]:
        """What is left once the others have taken it."""
        promised = self.promised
        if promised is None:
            return self.iops, self.mibps
        return max(0.0, self.iops - promised.iops), max(0.0, self.mibps - promised.mibps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beyond:
    """A limit that a set in a new shape would exceed, and until when, if only for now."""

    why: str
    remedy: str = ""
    cause: str = ""
    """The limit in short, without numbers that change with the load."""
    temporary: bool = False
    clears_at: datetime | None = None


def instance_capacity_left(
    members: Sequence[Observation], concurrency: ConcurrencyState
) -> CapacityLeft | None:
    """What the instance has left for the members together; None when unknown."""
    iops, mibps = left_beside(members, own_load(members))
    if iops is None or mibps is None:
        return None
    return CapacityLeft(iops=iops, mibps=mibps, promised=promised_beside(members, concurrency))


def beyond_the_instance(
    members: Sequence[Observation], plans: Sequence[Plan | None], left: CapacityLeft | None
) -> Beyond | None:
    """Why the instance could not serve the members once they are changed; None when it could."""
    if left is None:
        return None  # the instance_limit guardrail handles unknown instances
    now = [capability(m.volume.configuration) for m in members]
    then = [can if plan is None else plan.capability for can, plan in zip(now, plans, strict=True)]
    for unit, all_of_it, rest, before, after in (
        ("IOPS", left.iops, left.rest[0], [c.sustained_iops for c in now], [c.sustained_iops for c in then]),
        ("MiB/s", left.mibps, left.rest[1], [c.sustained_mibps for c in now], [c.sustained_mibps for c in then]),
    ):  # fmt: skip
        if sum(after) <= max(rest, sum(before)):
            continue
        why = (
            f"{len(members)} volumes of it would have {sum(after):,.0f} {unit} together, "
            f"their instance sustains {all_of_it:,.0f} {unit} for them"
        )
        if left.promised is None or sum(after) > max(all_of_it, sum(before)):
            return Beyond(why=why, remedy=LARGER_INSTANCE, cause=f"instance {unit}")
        why += f", of which others that were raised may still take {all_of_it - rest:,.0f}"
        return Beyond(why=why, temporary=True, clears_at=left.promised.until)
    return None
