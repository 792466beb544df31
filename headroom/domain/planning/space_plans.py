"""Plans that give storage more space: growth alone, or combined with a plan for its load. Pure.

One change does both if both are needed, because each uses one of four slots a day and may block the
next for hours. Where its price only fits once IOPS or MiB/s are given back, one change does that too.
Growth alone keeps the type; IOPS rise only where RDS's ratios require it. A volume
grows by a tenth at least, as RDS requires of databases: its owner must extend the file system.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from math import ceil

from headroom.domain.catalog import why_invalid
from headroom.domain.catalog.rds import at_size, full_copy, least_size
from headroom.domain.planning.build_plan import plan_to, relieves
from headroom.domain.planning.plan import Plan, SpaceGrowth
from headroom.domain.planning.plans_from_history import largest_part
from headroom.domain.planning.situation import Situation, at_any_price, within_limits
from headroom.domain.resources import Configuration, DatabaseFacts
from headroom.domain.workload import SpaceForecast

TOGETHER = 3
"""Plans for the load that are combined with growth, best first."""
LEAST_OF_VOLUME_GIB = 2
"""The least that a volume grows by, so that it shows whether its file system followed."""
AUTOSCALING_ADDS_GIB = 10
"""The least that RDS's autoscaling adds; a tenth of the size where that is more."""


def with_space_plans(
    situation: Situation, space: SpaceForecast, plans: Sequence[Plan]
) -> tuple[Plan, ...]:
    """`plans` and, before them, plans that add the missing space; unchanged if space is not short.

    Worthwhile plans for the load are enlarged by the growth; after them comes growth alone, to the
    needed size and to the largest size that the limits permit.
    """
    if not space.short or rds_autoscales(situation.observation.volume.facts):
        return tuple(plans)
    # Plans without a full copy first: the copy can wait for the next growth and a calmer hour.
    alone = tuple(sorted(_alone(situation, space), key=lambda plan: plan.full_copy))
    if not alone:
        return tuple(plans)
    approved = tuple(_approved_growth(situation, plans, alone[0]))
    others = tuple(
        plan
        for plan in plans
        if plan.target not in [one.target for one in approved]
        # A copy for the load that leaves too little room would not be the last.
        and not (plan.full_copy and plan.target.size_gib < alone[0].target.size_gib)
    )
    worthwhile = [
        plan
        for plan in others
        if plan.value_usd_per_day > 0
        and not plan.full_copy
        and (not plan.lowers or (not situation.calm and relieves(situation, plan)))
    ][:TOGETHER]
    found: dict[Configuration, Plan] = {}
    given_back = _paid_by_giving_back(situation, others, alone)
    paid_for = *given_back, *_paid_by_a_cut(situation, space, alone)
    for plan in (*_together(situation, worthwhile, alone), *paid_for, *approved, *alone, *others):
        found.setdefault(plan.target, plan)
    return tuple(found.values())


def next_growth_usd(situation: Situation, space: SpaceForecast) -> Decimal:
    """USD a month of the least growth, where one will be needed within a day and Headroom may make it by itself.

    Not of all that is needed, which nobody knows: of an import that ends, or a batch that deletes again. With the
    least there is time for the rest. What the limits do not permit anyway needs no money.
    """
    current = situation.current
    if not space.grows_soon or not situation.limits.grow_space:
        return Decimal(0)
    if rds_autoscales(situation.observation.volume.facts):
        return Decimal(0)
    larger = _grown(situation, current, least_size(current, current.size_gib + 1))
    if larger is None or not _fits(situation, larger) or _asks(situation, larger):
        return Decimal(0)
    return situation.prices.monthly(larger) - situation.prices.monthly(current)


def held_by_raises(situation: Situation) -> tuple[Decimal, Configuration] | None:
    """USD a month of the IOPS and MiB/s that Headroom added to what the owner chose, and the storage without them."""
    current, chosen = situation.current, situation.owners_choice
    if chosen.volume_type is not current.volume_type:
        return None
    without = _grown(situation, chosen, current.size_gib)
    if without is None:
        return None
    usd = situation.prices.monthly(current) - situation.prices.monthly(without)
    return (usd, without) if usd > 0 else None


def rds_autoscales(facts: DatabaseFacts | None) -> bool:
    """Whether RDS's autoscaling manages the size."""
    return facts is not None and facts.grows_by_itself


def autoscaling_can_add(size_gib: int, most_gib: int) -> bool:
    """Whether RDS's autoscaling has room for its next step: it takes none beyond its maximum."""
    return size_gib + max(AUTOSCALING_ADDS_GIB, -(-size_gib // 10)) <= most_gib


def _alone(situation: Situation, space: SpaceForecast) -> Iterator[Plan]:
    """Growth alone to the needed size; if the limits do not permit that, or a person has to approve it, also to
    the largest size that they permit, or that needs nobody."""
    current = situation.current
    full = _grown(situation, current, space.needed_gib) or _most(situation, space.needed_gib)
    full = None if full is None else _before_a_copy(situation, full)
    plan = None if full is None else plan_to(situation, full)
    if plan is None or full is None:
        return
    enough = full.size_gib
    yield _for_space(plan, space, enough, alone=True)
    if _fits(situation, full) and not _asks(situation, full):
        return
    size = _largest(situation, enough, unasked=_fits(situation, full))
    less = None if size is None else _grown(situation, current, size)
    capped = None if less is None else plan_to(situation, less)
    if capped is not None:
        capped = replace(capped, capped_from=full)
        yield _for_space(capped, space, enough, alone=True)


def _before_a_copy(situation: Situation, grown: Configuration) -> Configuration:
    """The largest size below a full copy, if that is all that may follow a growth; else the growth.

    RDS takes no step of less than a tenth. Not one that a person has to approve, if the growth needs none.
    """
    following = least_size(grown, grown.size_gib + 1)
    limits = situation.limits
    if (
        (limits.growth and limits.full_copy)
        or not _fits(situation, grown)
        or not full_copy(grown, replace(grown, size_gib=following))
    ):
        return grown
    size = _largest(situation, following)
    larger = None if size is None else _grown(situation, situation.current, size)
    if larger is None or (_asks(situation, larger) and not _asks(situation, grown)):
        return grown
    return larger


def _asks(situation: Situation, target: Configuration) -> bool:
    """Whether a person has to approve the growth: nobody may answer in time."""
    above, prices = situation.limits.approve_above_usd, situation.prices
    more = prices.monthly(target) - prices.monthly(situation.current)
    return above is not None and more > max(above, Decimal(0))


def _most(situation: Situation, below_gib: int) -> Configuration | None:
    """The largest size that AWS accepts, if that is less than needed."""
    current = situation.current
    low, high = least_size(current, current.size_gib + 1), below_gib - 1
    if low > high or _grown(situation, current, low) is None:
        return None
    while low < high:
        middle = (low + high + 1) // 2
        taken = _grown(situation, current, middle) is not None
        low, high = (middle, high) if taken else (low, middle - 1)
    return _grown(situation, current, low)


def _largest(
    situation: Situation, below_gib: int, *, unasked: bool = False,
    kept: Configuration | None = None,
) -> int | None:  # fmt: skip
    """The largest size under `below_gib` that the owner's limits permit without a full copy; or without asking.

    With the IOPS and MiB/s of `kept`, else the present ones.
    """
    current = situation.current
    low, high = least_size(current, current.size_gib + 1), below_gib - 1

    def fits(size: int) -> bool:
        target = _grown(situation, kept or current, size)
        return (
            target is not None
            and target.size_gib < below_gib
            and _fits(situation, target)
            and not (unasked and _asks(situation, target))
        )

    if low > high or not fits(low):
        return None
    while low < high:  # fitting sizes are contiguous from `low` on: price and size only rise
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _fits(situation: Situation, target: Configuration) -> bool:
    return (
        target.size_gib <= situation.limits.max_size_gib
        and not full_copy(situation.current, target)
        and within_limits(situation, target)
    )


def _grown(situation: Situation, kept: Configuration, size_gib: int) -> Configuration | None:
    """`kept` with at least `size_gib`, as one change from the present storage leads to it."""
    if kept.database is None:
        least = situation.current.size_gib + LEAST_OF_VOLUME_GIB
        size = max(least_size(situation.current, size_gib), least, kept.size_gib)
        larger = replace(kept, size_gib=size)
        return larger if why_invalid(larger) is None else None
    return at_size(
        situation.current, kept.volume_type, max(size_gib, kept.size_gib),
        iops=kept.iops or 0, mibps=kept.throughput_mibps or 0, valid=situation.observation.valid,
    )  # fmt: skip


def _together(situation: Situation, plans: Sequence[Plan], alone: Sequence[Plan]) -> Iterator[Plan]:
    """Plans for the load at the sizes of growth alone, with their value kept.

    The price of the growth does not count against relief, because a full database stops.
    """
    for plan in plans:
        for growth in alone:
            target = _grown(situation, plan.target, growth.target.size_gib)
            larger = None if target is None else plan_to(situation, target)
            if larger is None or growth.growth is None or larger.full_copy != growth.full_copy:
                continue
            yield _for_both(plan, growth, replace(larger, capped_from=growth.capped_from))


def _for_both(plan: Plan, growth: Plan, larger: Plan) -> Plan:
    """`larger`, which makes the change of `plan` at the size of a growth, with the value of `plan`."""
    return replace(
        larger, why=f"{plan.why}; {growth.why}", meets_need=plan.meets_need,
        demand_iops=plan.demand_iops, demand_mibps=plan.demand_mibps,
        relieved_minutes_per_day=plan.relieved_minutes_per_day,
        value_usd_per_day=plan.value_usd_per_day,
        growth=None if growth.growth is None else replace(growth.growth, alone=False),
    )  # fmt: skip


def _paid_by_giving_back(
    situation: Situation, plans: Sequence[Plan], alone: Sequence[Plan]
) -> Iterator[Plan]:
    """Growth with a worthwhile give-back, in calm, where only the price keeps growth alone from being as large."""
    without_price = at_any_price(situation)
    full = alone[0]
    most = max((p.target.size_gib for p in alone if _fits(situation, p.target)), default=0)
    if not situation.calm or most >= _as_large(without_price, situation.current, full):
        return
    lowering = (
        plan
        for plan in plans
        if plan.lowers
        and plan.value_usd_per_day > 0
        and plan.price_change_usd < 0
        and plan.target.size_gib == plan.origin.size_gib
        and not plan.full_copy
    )
    for plan, _ in zip(lowering, range(TOGETHER), strict=False):
        size = _as_large(situation, plan.target, full)
        target = _grown(situation, plan.target, size) if size > most else None
        larger = None if target is None else plan_to(situation, target)
        if larger is None or not _fits(situation, larger.target):
            continue
        growth = full
        if size < full.target.size_gib:
            larger = replace(larger, capped_from=full.target)
            growth = replace(full, why=_why_larger(size, full.target.size_gib))
        yield _for_both(plan, growth, larger)


def _paid_by_a_cut(
    situation: Situation, space: SpaceForecast, alone: Sequence[Plan]
) -> Iterator[Plan]:
    """Growth for a day, in calm and within a day of being full, where the price of Headroom's own raises leaves none.

    It lowers as little of them as pays for it, also below what the load uses: a full database stops.
    """
    current, chosen, needed = situation.current, situation.owners_choice, alone[0].target
    if not situation.calm or space.lowest_gib > 0 or held_by_raises(situation) is None:
        return
    if any(_fits(situation, plan.target) for plan in alone):
        return
    missing = max(1, ceil(space.reserve_gib - space.lowest_gib + space.fill_gib_per_day))
    size = min(needed.size_gib, least_size(current, current.size_gib + missing))

    def grown(level: tuple[float, float]) -> Configuration | None:
        iops, mibps = current.iops and int(level[0]), current.throughput_mibps and int(level[1])
        target = _grown(situation, replace(current, iops=iops, throughput_mibps=mibps), size)
        return target if target is not None and _fits(situation, target) else None

    own, high = ((float(c.iops or 0), float(c.throughput_mibps or 0)) for c in (chosen, current))
    low = min(own[0], high[0]), min(own[1], high[1])
    target = grown(largest_part(low, high, lambda level: grown(level) is not None))
    plan = None if target is None else plan_to(situation, target)
    if plan is not None and plan.lowers:
        plan = _for_space(replace(plan, capped_from=needed), space, size, alone=False)
        yield replace(plan, why=f"{_why_larger(size, needed.size_gib)}; paid for by less IOPS")


def _as_large(situation: Situation, kept: Configuration, full: Plan) -> int:
    """The largest size up to that of a growth that the limits permit with the IOPS of `kept`; 0 for none."""
    size = full.target.size_gib
    target = _grown(situation, kept, size)
    if target is not None and _fits(situation, target):
        return size
    return _largest(situation, size, kept=kept) or 0


def _for_space(plan: Plan, space: SpaceForecast, target_size_gib: int, *, alone: bool) -> Plan:
    why = plan.why if plan.full_copy else _why_larger(plan.target.size_gib, target_size_gib)
    return replace(
        plan,
        why=why,
        relieved_minutes_per_day=0.0,
        value_usd_per_day=0.0,
        growth=SpaceGrowth(
            needed_gib=space.needed_gib, target_size_gib=target_size_gib, free_gib=space.free_gib,
            alone=alone,
        ),
    )  # fmt: skip


def _why_larger(size_gib: int, needed_gib: int) -> str:
    cut = "" if size_gib >= needed_gib else f" of the {needed_gib} GiB it needs"
    return f"grow to {size_gib} GiB{cut} for free space; cannot be undone"


def _approved_growth(situation: Situation, plans: Sequence[Plan], other: Plan) -> Iterator[Plan]:
    """The approved growth as a plan for space; the needed size may have changed since."""
    extra_target = situation.extra_target
    if extra_target is None or extra_target.size_gib <= situation.current.size_gib:
        return
    plan = next((p for p in plans if p.target == extra_target), None) or plan_to(
        situation, extra_target
    )
    if plan is None or plan.lowers:
        return
    alone = extra_target == _grown(situation, situation.current, extra_target.size_gib)
    yield replace(
        plan, value_usd_per_day=max(0.0, plan.value_usd_per_day),
        growth=None if other.growth is None else replace(other.growth, alone=alone),
    )  # fmt: skip
