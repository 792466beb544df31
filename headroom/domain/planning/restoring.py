"""Whether what is given back could be had again when the load that uses it returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from math import ceil, inf, log

from headroom.domain.catalog import cheapest
from headroom.domain.catalog.ebs import DURABILITY_PERCENT, capability
from headroom.domain.catalog.rds import full_copy
from headroom.domain.planning.announced import pays_for_every_iops, second_in_time
from headroom.domain.planning.build_plan import capped
from headroom.domain.planning.plan import Plan
from headroom.domain.planning.situation import Situation
from headroom.domain.policy import Mode, next_closing, next_opening
from headroom.domain.resources import Configuration, VolumeType
from headroom.domain.state import hour_of
from headroom.domain.workload import HOURS, KnownLoad, Level, Past, calm_days, shortfalls

ENDED_DAYS = 35.0
"""Calm days beyond the longest pause so far after which a load has ended: what comes each month has not."""
UNPROVEN_DAYS = 7.0
"""Measured days before which nothing is lowered that could not come back, or not in time: one week."""
STEPS_BACK = 2
"""Changes that may be needed to be back where the volume was."""
DAILY_DAYS = 3.0
"""Measured days after which a daily load would be foreseen."""
LATEST_DAYS = 3
"""Days of which most show whether a load comes each day."""
MOST_OF_IT = 0.75
"""Share of what the owner chose to which one change leads back: a second has to wait for hours."""
NEARLY = 0.97
"""Share from which one rate counts as much as another."""
TYPES_BACK = (VolumeType.GP3, VolumeType.IO1, VolumeType.IO2)
"""Types that a raise may lead to."""
LATE = timedelta(hours=6)
"""For longer closed, windows keep what nobody has used yet from being back in time."""
AHEAD = timedelta(days=15)
"""How far ahead closed windows and freezes count."""


def may_be_restored(situation: Situation, plan: Plan, most_iops: float, most_mibps: float) -> bool:
    """Whether Headroom could by itself raise to `most_iops` and `most_mibps` again, or nothing uses them.

    No raise may lead there, a person would have to approve it, or no change may start for hours. What nothing has used
    yet counts as used until `UNPROVEN_DAYS` were measured; where a person has to approve the price, or no type leads back,
    until `ENDED_DAYS`. What the owner announced counts as used.
    """
    limits, past, then, left = (
        situation.limits, situation.past, plan.capability, situation.diagnosis,
    )  # fmt: skip
    above, iops, mibps = limits.approve_above_usd, then.sustained_iops, then.sustained_mibps
    asks = above is not None and -plan.price_change_usd > above
    closed_for = longest_closed(situation)
    closed = closed_for > timedelta(hours=HOURS)
    again_iops, again_mibps = _raised_again(situation, plan, most_iops, most_mibps)
    no_type = iops < min(most_iops, limits.max_iops) > again_iops
    forbidden = (
        limits.mode is Mode.APPROVE
        or closed_for > LATE
        or iops < most_iops > again_iops
        or (
            plan.origin.throughput_mibps is not None  # nobody chose MiB/s that come with IOPS
            and mibps < most_mibps > again_mibps
        )
    )
    if past.days < (ENDED_DAYS if asks or no_type else UNPROVEN_DAYS if forbidden else 0.0):
        return iops >= most_iops and mibps >= most_mibps
    if not (limits.mode is Mode.APPROVE or asks or closed):
        iops = max(iops, capped(again_iops, left.instance_iops_left))
        mibps = max(mibps, capped(again_mibps, left.instance_mibps_left))
    if any(
        load.share_late((iops, mibps)) > load.share_late((most_iops, most_mibps))
        for load in situation.announced
    ):
        return False
    return has_ended(
        past,
        inf if iops >= most_iops else iops,
        inf if mibps >= most_mibps else mibps,
    )


def could_come_back(situation: Situation) -> tuple[float, float]:
    """Of the IOPS and MiB/s that the owner chose, what is there, or what raises lead back to from here.

    MiB/s that come with a type, nobody chose: no more of them than the owner's ceiling, and than the instance
    lets through.
    """
    chosen, now = capability(situation.owners_choice), capability(situation.current)
    limits = situation.limits
    iops, mibps = chosen.sustained_iops, chosen.sustained_mibps
    if situation.owners_choice.throughput_mibps is None:
        mibps = min(mibps, limits.max_throughput_mibps)
        mibps = capped(mibps, situation.diagnosis.instance_mibps_left)
    if iops > now.sustained_iops or mibps > now.sustained_mibps:
        most = min(iops, limits.max_iops), min(mibps, limits.max_throughput_mibps)
        if not _leads_to(situation, situation.current, *most):
            return min(iops, now.sustained_iops), min(mibps, now.sustained_mibps)
    return iops, mibps


def within_choice(situation: Situation, plan: Plan) -> bool:
    """Whether a plan leaves or restores no more than the owner chose."""
    chosen, then = capability(situation.owners_choice), plan.capability
    return (
        then.sustained_iops <= chosen.sustained_iops
        and then.sustained_mibps <= chosen.sustained_mibps
    )


def leads_no_further(situation: Situation, plan: Plan) -> bool:
    """Whether no raise leads from a plan's storage to the load that was seen, and one does from the present storage.

    So is a small database's gp3, which has fixed IOPS until a person lets RDS copy all data.
    """
    limits, past = situation.limits, situation.past
    seen = min(past.most_iops, limits.max_iops), min(past.most_mibps, limits.max_throughput_mibps)
    return not _leads_to(situation, plan.target, *seen) and _leads_to(
        situation, situation.current, *seen
    )


def _raised_again(
    situation: Situation, plan: Plan, most_iops: float, most_mibps: float
) -> tuple[float, float]:
    """Of the IOPS and MiB/s, what raises lead to again from a plan's storage.

    As far as the ceilings go, else as the load went so far, else what the plan leaves.
    """
    limits, past, can = situation.limits, situation.past, plan.capability
    iops, mibps = min(most_iops, limits.max_iops), min(most_mibps, limits.max_throughput_mibps)
    for wanted in ((iops, mibps), (min(iops, past.most_iops), min(mibps, past.most_mibps))):
        if _leads_to(situation, plan.target, *wanted):
            return max(can.sustained_iops, wanted[0]), max(can.sustained_mibps, wanted[1])
    return can.sustained_iops, can.sustained_mibps


def _leads_to(situation: Situation, origin: Configuration, iops: float, mibps: float) -> bool:
    """Whether one type that may be chosen has both, without a person, growth or a full copy against the limits."""
    limits, durability = situation.limits, DURABILITY_PERCENT[origin.volume_type]
    most_gib = limits.max_size_gib if limits.growth else origin.size_gib
    for kind in TYPES_BACK:
        if kind is not origin.volume_type and (
            kind not in limits.types or DURABILITY_PERCENT[kind] > durability
        ):
            continue
        target = cheapest(origin, kind, iops=iops, mibps=mibps, valid=situation.observation.valid)
        if (
            target is not None
            and target.size_gib <= max(most_gib, origin.size_gib)
            and not full_copy(origin, target)
        ):
            return True
    return False


def least_iops(situation: Situation, included_iops: float) -> float:
    """IOPS below which nothing is given back: the owner's least, and what raises can undo.

    Two raises must lead back, also to what the owner chose before Headroom lowered it. Until a monthly
    load would be foreseen, one must lead to most of what the owner chose; of a type without any included IOPS,
    and until a daily load would be, to all of it and `spare`, so that what waits by then is served soon.
    One must always lead to what the load uses of it; and to what the load uses of the present IOPS, where no second
    could follow in time, or would each day: with it, and the change back, a day's slots are used up.
    """
    limits, step, past = situation.limits, situation.limits.largest_step, situation.past
    have = capability(situation.current).sustained_iops
    bought = capability(situation.owners_choice).sustained_iops
    spare = 1 + limits.headroom_percent / 100
    undone, unseen_days = max(have, min(bought, limits.max_iops)) / step**STEPS_BACK, DAILY_DAYS
    monthly_days = _unseen_days(situation)
    if pays_for_every_iops(situation.current, limits.types):
        included_iops, unseen_days = 0.0, monthly_days
        undone = max(undone, past.least_iops)
    if past.days < monthly_days:
        undone = max(undone, MOST_OF_IT * min(bought, limits.max_iops) / step)
    if past.days < unseen_days and bought > step * included_iops:
        undone = max(undone, min(round(bought * spare, 3), limits.max_iops) / step)
    beyond = step * max(included_iops, undone)
    seldom = second_in_time(situation) and not _most_days(situation, iops=beyond)
    used = min(most_used(situation)[0], bought if seldom else max(bought, have)) * spare
    if used > step * included_iops and not has_ended(past, used / spare / step, inf):
        undone = max(undone, min(round(used, 3), limits.max_iops) / step)
    needed = [min(load.iops, limits.max_iops) for load in _coming(situation)]
    undone = max([undone, *_reaching(situation, needed, have, included_iops)])
    return min(have, max(limits.min_iops, undone))


def least_mibps(situation: Situation, included_mibps: float) -> float:
    """MiB/s below which nothing is given back: the owner's least, and what raises can undo, as for IOPS."""
    limits, step, past = situation.limits, situation.limits.largest_step, situation.past
    have, chosen = capability(situation.current).sustained_mibps, situation.owners_choice
    bought = capability(chosen).sustained_mibps
    undone = have / step**STEPS_BACK
    if past.days < _unseen_days(situation) and chosen.throughput_mibps is not None:
        undone = max(undone, MOST_OF_IT * min(bought, limits.max_throughput_mibps) / step)
    spare = 1 + limits.headroom_percent / 100
    seldom = not _most_days(situation, mibps=step * max(included_mibps, undone))
    used = min(most_used(situation)[1], bought if seldom else max(bought, have)) * spare
    if used > step * included_mibps and not has_ended(past, inf, used / spare / step):
        undone = max(undone, min(round(used, 3), limits.max_throughput_mibps) / step)
    needed = [min(load.mibps, limits.max_throughput_mibps) for load in _coming(situation)]
    undone = max([undone, *_reaching(situation, needed, have, included_mibps)])
    return min(have, max(limits.min_throughput_mibps, undone))


def _most_days(situation: Situation, *, iops: float = inf, mibps: float = inf) -> bool:
    """Whether load above these rates came on most of the latest days."""
    hours = situation.past.profile.hours
    days = [
        hours[len(hours) - 24 * ago :][:24]
        for ago in range(1, LATEST_DAYS + 1)
        if len(hours) >= 24 * ago
    ]
    above = [
        any(hour and (hour.peak_iops > iops or hour.peak_mibps > mibps) for hour in day)
        for day in days
    ]
    return 2 * sum(above) > LATEST_DAYS


def _coming(situation: Situation) -> list[KnownLoad]:
    """The announced load that is near enough to keep storage for."""
    until = situation.observation.at + AHEAD
    return [load for load in situation.announced if load.start <= until]


def _reaching(
    situation: Situation, needed: Sequence[float], have: float, included: float
) -> Iterator[float]:
    """The least from which no more raises lead to each announced rate than from `have`, or two."""
    step, free = situation.limits.largest_step, max(have, included)
    for rate in needed:
        from_here = ceil(round(log(rate / free, step), 6)) if rate > free else 0
        if rate > included:
            yield rate / step ** max(from_here, STEPS_BACK)


def _unseen_days(situation: Situation) -> float:
    """Measured days before which load that nobody saw may still come: until a monthly one would be foreseen.

    A week, where the owner chose more than `max_iops`: what is above it and unused is then lowered.
    """
    above = capability(situation.owners_choice).sustained_iops > situation.limits.max_iops
    return UNPROVEN_DAYS if above else ENDED_DAYS


def freed(situation: Situation, level: tuple[float, float]) -> tuple[float, float]:
    """A level to raise to for the highest load that was seen: what the owner chose, where a limit below held it back."""
    past, (iops, mibps) = situation.past, level
    now = capability(situation.current)
    if iops < NEARLY * past.most_iops and mibps < NEARLY * past.most_mibps:
        return level
    if iops <= now.sustained_iops and mibps <= now.sustained_mibps:
        return level  # this much is served: no limit hides it
    held_iops, held_mibps = _held_back(situation)
    return max(iops, held_iops), max(mibps, held_mibps)


def most_used(situation: Situation, spare: float = 1.0) -> tuple[float, float]:
    """IOPS and MiB/s, with `spare`, that the load is taken to use: the most that was seen.

    All that the owner chose, where load was held at a limit below that: nobody saw how much it takes.
    """
    iops, mibps = _held_back(situation)
    return max(situation.past.most_iops, iops) * spare, max(
        situation.past.most_mibps, mibps
    ) * spare


def _held_back(situation: Situation) -> tuple[float, float]:
    """Of IOPS and MiB/s what the owner chose, each 0 unless load was held at a limit below it.

    Load that a raise served by less than the largest step showed how much it takes. MiB/s that come with a type,
    nobody chose.
    """
    limits, past, chosen = situation.limits, situation.past, capability(situation.owners_choice)
    iops, mibps, hours = chosen.sustained_iops, chosen.sustained_mibps, past.numbered[0]

    def hid(limit: float, peak: float, most: float, ceiling: float) -> bool:
        return most <= limit / NEARLY or peak >= NEARLY * min(limits.largest_step * limit, ceiling)

    held = iops > past.most_iops and any(  # else it makes no difference
        0 < hour.limit_iops < NEARLY * iops
        and hid(hour.limit_iops, hour.peak_iops, past.most_iops, limits.max_iops)
        for hour in hours
    )
    chose = situation.owners_choice.throughput_mibps is not None and mibps > past.most_mibps
    also = chose and any(
        0 < hour.limit_mibps < NEARLY * mibps
        and hid(hour.limit_mibps, hour.peak_mibps, past.most_mibps, limits.max_throughput_mibps)
        for hour in hours
    )
    return iops if held else 0.0, mibps if also else 0.0


def has_ended(past: Past, iops: float, mibps: float) -> bool:
    """Whether load above `iops` or `mibps` was never seen, or has stayed away for long enough."""
    if not any(shortfalls(past.numbered[0], iops, mibps)):
        return True
    return calm_days(past, Level(iops=iops, mibps=mibps, usd_per_hour=0.0)) >= ENDED_DAYS


def longest_closed(situation: Situation, *, within: timedelta = AHEAD) -> timedelta:
    """The longest time, beginning `within` so long, in which the owner's windows and freezes let no change start."""
    windows, at = situation.limits.change_windows, situation.observation.at
    found = [
        freeze.until - max(at, freeze.begins)
        for freeze in situation.freezes
        if freeze.begins < at + within
    ]
    then: datetime | None = hour_of(at)
    while then is not None and windows and then < at + within:
        closing = next_closing(windows, then)
        if closing is None or closing >= at + within:
            break
        then = next_opening(windows, closing)
        found.append(AHEAD if then is None else then - closing)
    return max(found, default=timedelta(0))
