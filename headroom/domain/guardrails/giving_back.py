"""Guardrails for giving back: less IOPS or throughput than the volume can reach today."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import inf

from headroom.domain.catalog.ebs import MAX_MODIFICATIONS, capability
from headroom.domain.guardrails.case import Case, allowed, gives_back_unreached, verdict_of
from headroom.domain.guardrails.verdicts import Guardrail, Relation, Verdict
from headroom.domain.planning import (
    CALM_MINUTES,
    HOURS_PER_MONTH,
    STEPS_BACK,
    costs_no_more,
    gives_up_less_than_it_brings,
    gives_up_only_unused,
    step_of,
)
from headroom.domain.state import (
    BY_HEADROOM,
    HOUR,
    WINDOW,
    KnownModification,
    ProfileHour,
    changes_of_settings,
    hour_of,
)
from headroom.domain.workload import HOURS, Binding

RAISED_DAYS = 7.0
"""Days for which what somebody else raised is kept; that many times `give_back_after_days` where that is less."""

QUIET_DAYS = 7
"""Days before on which no load may have come near, and all was measured, in the hours until a slot is free."""
UNSEEN_LATE = 0.3
"""Share of the time without a raise that load which was never seen is late for: it begins half-way, and a part is served."""


def _lowers(case: Case) -> bool:
    return case.plan.gives_back(draining=case.diagnosis.binding is Binding.BURST_CREDITS)


def _more_for_no_more_money(case: Case) -> bool:
    """Whether a pressed volume gets more IOPS at no higher price, and gives up no MiB/s.

    Such a plan serves whatever the volume serves today and more, so it needs no history. A database
    may give up MiB/s that its load never used, or that bring it less than the IOPS: its gp3 has its
    own, and none can be bought below a size. For a volume another plan keeps all of them at little cost.
    """
    plan, now, then = case.plan, capability(case.plan.origin), case.plan.capability
    spare = 1 + case.effective.limits.headroom_percent / 100
    return (
        case.diagnosis.binding is not Binding.NOTHING
        and costs_no_more(plan)
        and then.sustained_iops > now.sustained_iops
        and then.burst_iops >= now.burst_iops
        and (
            then.sustained_mibps >= now.burst_mibps
            or (
                plan.origin.database is not None
                and gives_up_less_than_it_brings(
                    plan, case.demand, case.observation, case.resource_state.profile, spare=spare
                )
            )
        )
    )


def give_back(case: Case) -> Verdict:
    """Block lowering performance without the owner's permission."""
    asked = "lowers" if _lowers(case) else "lowers nothing"
    allowed = ("lowers nothing", *(["lowers"] if case.effective.limits.give_back else []))
    return verdict_of(Guardrail.GIVE_BACK, Relation.ONE_OF, asked, allowed, "")


def give_back_data(case: Case) -> Verdict:
    """Block lowering performance before enough of the load was measured.

    A pressed database, or one whose credits run out, may go to gp3 at no higher price at once, if that
    has more sustained IOPS and all MiB/s the load ever used, or its load so far came late for longer
    without credits than it would on gp3. What somebody else raised is kept for a week,
    unless you set `give_back_after_days` to less than a day: it may be meant for a load to come. What Headroom
    raised beyond that is given back as usual.
    """
    if not _lowers(case):
        return allowed(Guardrail.GIVE_BACK_DATA, "lowers nothing")
    if _more_for_no_more_money(case):
        return allowed(Guardrail.GIVE_BACK_DATA, "more IOPS for no more money")
    known = changes_of_settings(case.resource_state.modifications, case.plan.origin)
    limits, kind = case.effective.limits, case.observation.volume.ref.kind
    days, least = case.known_days, limits.least_days(kind, raised=any(map(_raised, known)))
    foreign = [change for change in known if change.by != BY_HEADROOM]
    latest = max(foreign, key=lambda change: change.started_at, default=None)
    if latest is not None and _below(case, latest):
        since = (case.observation.at - latest.started_at).total_seconds() / 86_400
        days = min(days, since)
        if _raised(latest) and days == since:
            least = max(least, RAISED_DAYS * min(1.0, limits.least_days(kind, raised=True)))
    missing = least - round(days, 3)
    return verdict_of(
        Guardrail.GIVE_BACK_DATA, Relation.AT_LEAST, round(days, 3), least, "measured days",
        clears_at=case.observation.at + timedelta(days=missing) if missing > 0 else None,
        temporary=True,
    )  # fmt: skip


def _below(case: Case, change: KnownModification) -> bool:
    """Whether a plan leaves less than a change led to; so if that is not known."""
    if change.target is None:
        return True
    left, set_to = case.plan.capability, capability(change.target)
    return (
        left.sustained_iops < set_to.sustained_iops or left.sustained_mibps < set_to.sustained_mibps
    )


def _raised(change: KnownModification) -> bool:
    """Whether IOPS or MiB/s were raised, not only as a part of more GiB."""
    if change.origin is None or change.target is None:
        return False
    before, then = capability(change.origin), capability(change.target)
    return change.origin.size_gib == change.target.size_gib and (
        then.sustained_iops > before.sustained_iops or then.sustained_mibps > before.sustained_mibps
    )


def give_back_reversible(case: Case) -> Verdict:
    """Block lowering performance that two of the owner's largest steps could not restore.

    What a volume has above a ceiling may be lowered, although it can never be reached again.
    """
    if not _lowers(case):
        return allowed(Guardrail.GIVE_BACK_REVERSIBLE, "lowers nothing")
    step = step_of(case.plan.target, case.plan.origin)
    return verdict_of(
        Guardrail.GIVE_BACK_REVERSIBLE, Relation.AT_MOST, round(step, 3),
        case.effective.limits.largest_step**STEPS_BACK, "times",
    )  # fmt: skip


def give_back_stabilization(case: Case) -> Verdict:
    """Block lowering performance soon after the load touched a limit.

    Exempt are what the instance let nothing through of all day, and throughput that no load came near, also where a
    database gets more IOPS for no more money.
    """
    if not _lowers(case):
        return allowed(Guardrail.GIVE_BACK_STABILIZATION, "lowers nothing")
    if gives_back_unreached(case):
        return allowed(Guardrail.GIVE_BACK_STABILIZATION, "the instance lets nothing of it through")
    spare = 1 + case.effective.limits.headroom_percent / 100
    unused = gives_up_only_unused(case.plan, case.demand, spare=spare)
    if unused or _more_for_no_more_money(case):
        return allowed(Guardrail.GIVE_BACK_STABILIZATION, "lowers throughput no load came near to")
    return verdict_of(
        Guardrail.GIVE_BACK_STABILIZATION, Relation.AT_LEAST, case.demand.clear_minutes, CALM_MINUTES,
        "clear minutes", temporary=True,
    )  # fmt: skip


def give_back_slot(case: Case) -> Verdict:
    """Block lowering performance when no slot is left to raise it again.

    The last slot may be used if on each of the last seven days no load came near what is left in the hours until another
    one is free, and if that saves more than load that was never seen may lose. Otherwise a give-back that once came late
    would come as late on every day.
    """
    if not _lowers(case):
        return allowed(Guardrail.GIVE_BACK_SLOT, "lowers nothing")
    at, reserve = case.observation.at, case.effective.limits.slots_reserve
    starts = sorted(
        m.started_at for m in case.resource_state.modifications if m.started_at > at - WINDOW
    )
    left = MAX_MODIFICATIONS - reserve - len(starts) - 1
    clears = 1 - left  # this many of the oldest must be a day old before one is left
    clears_at = starts[clears - 1] + WINDOW if 0 < clears <= len(starts) else None
    if left == 0 and clears_at is not None and _may_wait(case, clears_at):
        why = f"another slot is free at {clears_at:%Y-%m-%d %H:%M} UTC, before load comes near"
        return allowed(Guardrail.GIVE_BACK_SLOT, why)
    return verdict_of(
        Guardrail.GIVE_BACK_SLOT, Relation.AT_LEAST, left, 1, "slots left to raise it again",
        clears_at=clears_at,
        temporary=MAX_MODIFICATIONS - reserve >= 2,
    )  # fmt: skip


def _may_wait(case: Case, free_at: datetime) -> bool:
    """Whether a volume may be lowered although no raise can follow before `free_at`.

    On none of the last seven days did load come near what a plan leaves in these hours, and what is saved in them is
    worth more than what load that was never seen would lose: it is as likely as if it came once in the days so far and
    one more.
    """
    at, profile, can = case.observation.at, case.resource_state.profile, case.plan.capability
    if profile is None:
        return False
    limits = case.effective.limits
    spare = 1 + limits.headroom_percent / 100

    def is_quiet(hour: ProfileHour | None) -> bool:
        return (
            hour is not None
            and max(hour.peak_iops * spare, hour.limit_iops) <= can.sustained_iops
            and max(hour.peak_mibps * spare, hour.limit_mibps) <= can.sustained_mibps
        )

    for back in range(1, QUIET_DAYS + 1):
        first = (hour_of(at) - back * WINDOW - profile.start) // HOUR
        last = (free_at - back * WINDOW - profile.start) // HOUR
        hours = profile.hours[first : last + 1] if first >= 0 else ()
        if len(hours) <= last - first or not all(map(is_quiet, hours)):
            return False
    known_days, share_of_day = len(profile.known) / HOURS, (free_at - at) / WINDOW
    late = UNSEEN_LATE * (free_at - at) / timedelta(minutes=1)
    lost = share_of_day / (known_days + 1) * late * limits.relief_value_usd_per_minute
    saved = -float(case.plan.price_change_usd) / HOURS_PER_MONTH * share_of_day * HOURS
    return saved > lost


def give_back_floor(case: Case) -> Verdict:
    """Block lowering performance below the IOPS and MiB/s that the owner wants kept.

    Where only what Headroom added is given back, as far as they are there. The verdict shows the side that is shorter; the
    detail shows the other.
    """
    if not _lowers(case):
        return allowed(Guardrail.GIVE_BACK_FLOOR, "lowers nothing")
    can, limits = case.plan.capability, case.effective.limits
    iops, mibps = limits.min_iops, limits.min_throughput_mibps
    owner, now = case.resource_state.owner_configuration, capability(case.plan.origin)
    own = None if owner is None else capability(owner)
    if (
        own
        and can.sustained_iops >= own.sustained_iops
        and can.sustained_mibps >= own.sustained_mibps
    ):
        iops, mibps = min(iops, int(now.sustained_iops)), min(mibps, int(now.sustained_mibps))
    sides = (can.sustained_iops, iops, "IOPS"), (can.sustained_mibps, mibps, "MiB/s")
    (value, least, unit), (left, floor, other) = sorted(
        sides, key=lambda side: side[0] / side[1] if side[1] else inf
    )
    return verdict_of(
        Guardrail.GIVE_BACK_FLOOR, Relation.AT_LEAST, value, least, unit,
        f"and {left:g} {other} of at least {floor:,}",
    )  # fmt: skip
