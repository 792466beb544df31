"""The action for free space alone: grow, hold, notify the owner, or none; and whether growth added space. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from headroom.domain.decision.action import (
    RECHECK_INTERVAL,
    VERIFICATION_TIMEOUT,
    Ineffective,
    Pending,
    Relieved,
)
from headroom.domain.decision.approval import requested_in_advance, why_approval
from headroom.domain.guardrails import (
    Guardrail,
    PlanJudgement,
    Verdict,
    all_clear_at,
    distance,
    in_the_policy,
)
from headroom.domain.planning import Plan, autoscaling_can_add, rds_autoscales
from headroom.domain.policy import EffectiveLimits, Limits
from headroom.domain.resources import DatabaseFacts, Kind, Modification, Observation, VolumeType
from headroom.domain.state import HOUR, ApprovalRequest
from headroom.domain.workload import Point, SpaceBasis, SpaceForecast

SPACE_CAUSE = "space_"
"""Prefix of the causes of escalations about free space."""
NOBODY_AGREED = f"{SPACE_CAUSE}approval_today"
AVAILABLE = "available"
STORAGE_FULL = "storage-full"
NOTIFY_WITHIN = timedelta(days=3)
"""How near full a database must be before an owner without `grow_space` is notified."""
EXTENDED_WITHIN = timedelta(hours=2)
"""How long after a volume grew its file system may still be extended, and metrics show it."""
BEFORE_FULL = timedelta(hours=1)
"""Growth that is allowed less than this before the storage is full comes too late."""
TODAY = timedelta(hours=24)
"""How near full it must be for a second notification."""
SCALES_WITHIN = timedelta(hours=1)
"""How long RDS's autoscaling may take to begin, after five minutes with less than a tenth free."""
UNKNOWN_WAIT = timedelta(hours=6)
"""How near full it must be for a notification about a block of unknown duration."""
RISE_SHARE = 0.7
"""Share of what was added by which free space must have risen: file systems keep some of it."""
SPACE_MINUTES = 30
"""Measured minutes at the new size without a rise: the growth brought no space."""
SPACE_BEFORE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowStorage:
    """Take this plan; or, while people do not approve of it, `unasked`, which only grows and needs nobody."""

    plan: Plan
    unasked: Plan | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldForSpace:
    """Do nothing yet; `unclear` if it is unknown whether space is short."""

    plan: Plan | None
    until: datetime | None
    unclear: bool = False
    observed: bool = False
    """Whether only the mode blocks the change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyOwner:
    """Only the owner can do something about it."""

    cause: str
    remedy: str
    plan: Plan | None
    until: datetime | None = None
    """When the block clears, if that is known but too late."""


SpaceAction = GrowStorage | HoldForSpace | NotifyOwner


def space_forecast_for_owner(
    space: SpaceForecast | None, limits: Limits, at: datetime
) -> SpaceForecast | None:
    """The forecast as it concerns the owner: without `grow_space`, a shortage counts only when near."""
    if space is None or limits.grow_space or not space.short:
        return space
    if space.full_at is not None and space.full_at <= at + NOTIFY_WITHIN:
        return space
    return replace(space, short=False, needed_gib=space.size_gib)


def decide_space(
    space: SpaceForecast | None, facts: DatabaseFacts | None, effective: EffectiveLimits,
    judgements: Sequence[PlanJudgement], at: datetime, *, priced: bool, change: Modification | None,
) -> SpaceAction | None:  # fmt: skip
    """The action for a shortage of space; None if there is none or RDS grows the storage itself."""
    limits = effective.limits
    for_space = [j for j in judgements if j.plan.growth is not None]
    if is_full(facts):
        return _storage_full(for_space)
    if space is None:
        return None
    if space.unclear:
        asleep = facts is not None and facts.status != AVAILABLE  # stopped, restoring, ...
        return None if asleep or not limits.grow_space else _unclear(space)
    if space.basis is SpaceBasis.FILE_SYSTEM:
        return _file_system(limits, change, at)
    if not space.short:
        return None
    busy = change is not None and change.in_flight
    found = _if_short(space, facts, effective, for_space, at, priced=priced, busy=busy)
    if isinstance(found, NotifyOwner) and full_within_a_day(space, at):
        return replace(found, cause=f"{found.cause}_today")
    return found


def _if_short(
    space: SpaceForecast, facts: DatabaseFacts | None, effective: EffectiveLimits,
    for_space: Sequence[PlanJudgement], at: datetime, *, priced: bool, busy: bool,
) -> SpaceAction | None:  # fmt: skip
    if facts is not None and facts.max_allocated_gib is not None and rds_autoscales(facts):
        return _autoscaling(space, facts.max_allocated_gib, at, busy=busy)
    if not for_space:
        why = "no size that AWS takes adds any" if priced else "no price is known for more"
        return NotifyOwner(
            cause=f"{SPACE_CAUSE}{'no_plan' if priced else 'price_unknown'}",
            remedy=f"{why}: make room, or grow it yourself", plan=None,
        )  # fmt: skip
    limits = effective.limits
    best = next((j for j in for_space if j.allowed or requested_in_advance(limits, j, at)), None)
    if best is not None:
        unasked = (
            j.plan
            for j in for_space
            if j.allowed and j.plan.only_for_space and why_approval(limits, j.plan) is None
        )
        return GrowStorage(plan=best.plan, unasked=next(unasked, None))
    alone = [j for j in for_space if j.plan.only_for_space]
    return _blocked(space, min(alone or for_space, key=distance), effective, at)


def for_a_person(judged: PlanJudgement) -> bool:
    """Whether only a person may start it: a full copy to more space also serves the load."""
    return any(v.guardrail is Guardrail.FULL_COPY for v in judged.blocking)


def full_within_a_day(space: SpaceForecast | None, at: datetime) -> bool:
    """Whether the storage is full within a day."""
    return space is not None and space.full_at is not None and space.full_at <= at + TODAY


def still_short(space: SpaceForecast | None, facts: DatabaseFacts | None) -> bool:
    """Whether a notified shortage persists, so that it is not notified again."""
    return is_full(facts) or (space is not None and not space.eased)


def is_full(facts: DatabaseFacts | None) -> bool:
    """Whether the database has stopped because its storage is full: only more of it helps then."""
    return facts is not None and facts.status == STORAGE_FULL


def _unclear(space: SpaceForecast) -> SpaceAction:
    if not space.low:
        return HoldForSpace(plan=None, until=None, unclear=True)
    return NotifyOwner(
        cause=f"{SPACE_CAUSE}unclear", plan=None,
        remedy="growth cannot be undone, so Headroom waits for clearer data: check it yourself",
    )  # fmt: skip


def _file_system(limits: Limits, change: Modification | None, at: datetime) -> SpaceAction | None:
    """A volume larger than its file system: growing it again would be for nothing."""
    if not limits.grow_space:
        return None
    if change is not None and (change.in_flight or at < change.started_at + EXTENDED_WITHIN):
        return HoldForSpace(plan=None, until=None, unclear=True)
    return NotifyOwner(
        cause=f"{SPACE_CAUSE}file_system", plan=None,
        remedy="the volume is larger, so Headroom does not grow it: extend the partition and the "
        "file system on the instance (docs/operate/free-space.md#extend-a-file-system)",
    )  # fmt: skip


def _storage_full(for_space: Sequence[PlanJudgement]) -> NotifyOwner:
    plan = next((j.plan for j in for_space if j.plan.only_for_space), None)
    size = "" if plan is None else f" of {plan.target.size_gib} GiB or more"
    return NotifyOwner(
        cause=f"{SPACE_CAUSE}storage_full", plan=plan,
        remedy="its storage is full and the database has stopped, and Headroom does not act in that state: "
        f"give it an AllocatedStorage{size}",
    )  # fmt: skip


def _autoscaling(
    space: SpaceForecast, most_gib: int, at: datetime, *, busy: bool
) -> NotifyOwner | None:
    if autoscaling_can_add(space.size_gib, most_gib):
        if not busy and full_within_a_day(space, at) and _long_below_a_tenth(space):
            return NotifyOwner(
                cause=f"{SPACE_CAUSE}autoscaling_late", plan=None,
                remedy="RDS should have grown it by itself by now, and has not: see its events for the reason, "
                "grow it yourself, or make room",
            )  # fmt: skip
        if not busy or space.full_at is None or space.full_at > at + UNKNOWN_WAIT:
            return None
        return NotifyOwner(
            cause=f"{SPACE_CAUSE}autoscaling_waits", plan=None,
            remedy="RDS grows it by itself, but not while the last change of its storage is being "
            "worked on: make room",
        )  # fmt: skip
    return NotifyOwner(
        cause=f"{SPACE_CAUSE}autoscaling_maximum", plan=None,
        remedy=f"RDS grows it by itself, but only up to {most_gib} GiB, which has no room for its "
        "next step: raise MaxAllocatedStorage, or make room",
    )  # fmt: skip


def _long_below_a_tenth(space: SpaceForecast) -> bool:
    """Whether less than a tenth is free for `SCALES_WITHIN`, at the pace at which it fills.

    RDS's autoscaling starts five minutes after that.
    """
    per_hour = max(space.fill_gib_per_day / 24, space.pace_gib_per_hour)
    return space.free_gib + per_hour * (SCALES_WITHIN / HOUR) < space.size_gib / 10


def _blocked(space: SpaceForecast, nearest: PlanJudgement, effective: EffectiveLimits, at: datetime) -> SpaceAction:  # fmt: skip
    plan, blocking = nearest.plan, nearest.blocking
    others = [v for v in blocking if v.guardrail is not Guardrail.MODE]
    if len(others) < len(blocking):
        return HoldForSpace(plan=plan, until=None, observed=True)
    lasting = [v for v in others if not v.temporary]
    if lasting:
        remedy = _remedy(plan, lasting, effective)
        return NotifyOwner(cause=_cause(lasting), remedy=remedy, plan=plan)
    until = all_clear_at(others)
    if space.full_at is None or not _too_late(space.full_at, until, at):
        return HoldForSpace(plan=plan, until=until)
    names = ", ".join(v.guardrail.value for v in others)
    when = "for an unknown time" if until is None else f"until {until:%Y-%m-%d %H:%M} UTC"
    return NotifyOwner(
        cause=_cause(others) + "_too_late", plan=plan, until=until,
        remedy=f"it should grow to {plan.target.size_gib} GiB before it is full, but {names} blocks that "
        f"{when}: grow it yourself, open what blocks it, or make room",
    )  # fmt: skip


def _too_late(full_at: datetime, until: datetime | None, at: datetime) -> bool:
    if until is None:
        return full_at <= at + UNKNOWN_WAIT
    return until + BEFORE_FULL >= full_at


def nobody_agreed(plan: Plan, asked: ApprovalRequest | None, no_until: datetime | None) -> str:
    """What people can do about growth that is requested, or that they rejected."""
    if asked is not None:
        grows = f"growing it to {asked.target.size_gib} GiB waits for a person"
        return (
            f"{grows}: run `headroom approve {asked.decision_id}`, grow it yourself, or make room"
        )
    said = (
        ""
        if no_until is None
        else f" and is not requested again before {no_until:%Y-%m-%d %H:%M} UTC"
    )
    grows = f"growing it to {plan.target.size_gib} GiB was rejected"
    return f"{grows}{said}: grow it yourself, or make room"


def _cause(verdicts: Sequence[Verdict]) -> str:
    return SPACE_CAUSE + "+".join(v.guardrail.value for v in verdicts)


def _remedy(plan: Plan, lasting: Sequence[Verdict], effective: EffectiveLimits) -> str:
    if plan.full_copy:
        first = (
            f"it needs {plan.target.size_gib} GiB, for which RDS would copy all data for hours, "
            "which cannot be undone: a person must start that"
        )
    else:
        first = (
            f"it would grow to {plan.target.size_gib} GiB for ${plan.price_change_usd:.2f} a month "
            "more, which cannot be undone"
        )
    limits = effective.limits
    others = [v for v in lasting if v.guardrail is not Guardrail.FULL_COPY]
    if limits.full_copy or plan.origin.volume_type is VolumeType.GP2:  # no setting allows it then
        lasting, others = others, list(lasting)
    said = "".join(f"; {v.guardrail.value}: {v.detail}" for v in others if v.detail)
    kind = Kind.EBS if plan.origin.database is None else Kind.RDS
    needed = {"grow_space": limits.grow_space, "growth": limits.growth or not plan.full_copy}
    missing = [name for name, given in needed.items() if not given]
    allows = in_the_policy(lasting, kind=kind, growth=missing, tags=effective.tags_that_set)
    return f"{first}{f'; {allows}' if allows else ''}{said}"


def assess_space(
    observation: Observation, plan: Plan, applied_at: datetime
) -> Relieved | Pending | Ineffective:
    """Whether free space rose once the storage has the size of `plan`.

    RDS extends the file system itself; on a volume somebody must. Only the rise of free space counts, because data may fill
    it again meanwhile.
    """
    added = plan.target.size_gib - plan.origin.size_gib
    series = observation.activity.free_gib
    points = () if series is None else tuple(series.points())
    since = [p for p in points if p[0] >= applied_at - SPACE_BEFORE]
    risen = max(_rise(since), _over(since, plan))
    if risen >= RISE_SHARE * added:
        free = since[-1][1]
        return Relieved(
            detail=f"free space rose by {risen:.1f} of {added} GiB added; {free:.1f} free"
        )
    detail = f"free space rose by {max(0.0, risen):.1f} GiB where {added} were added"
    if plan.origin.database is None:
        detail += "; extend the partition and the file system on the instance"
    late = observation.at - applied_at > VERIFICATION_TIMEOUT
    settled = observation.modification is None or not observation.modification.in_flight
    measured = sum(at >= applied_at + SPACE_BEFORE for at, _ in since)
    if late and not since:
        return Ineffective(
            cause=f"free space was not measured in {VERIFICATION_TIMEOUT.total_seconds() / 3600:.0f} h"
        )
    if late or (settled and measured >= SPACE_MINUTES):
        return Ineffective(cause=detail)
    return Pending(next_reconcile_at=observation.at + RECHECK_INTERVAL, detail=detail)


def _rise(points: list[Point]) -> float:
    """The largest rise from any point to a later one."""
    lowest, most = float("inf"), 0.0
    for _, gib in points:
        most = max(most, gib - lowest)
        lowest = min(lowest, gib)
    return most


def _over(points: list[Point], plan: Plan) -> float:
    """How much more is free than when the change was planned."""
    if not points or plan.growth is None:
        return 0.0
    return points[-1][1] - plan.growth.free_gib
