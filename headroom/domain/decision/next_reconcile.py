"""When a resource is reconciled next without waiting for the next scan of the fleet, and which goes first.

Queued decisions are blocked only by limits of the whole account or Region. The most starved
resource goes first, then the one that has waited longest.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from hashlib import sha256

from headroom.domain.catalog import included
from headroom.domain.catalog.ebs import capability
from headroom.domain.decision.action import Act, Escalate, Hold, Reason
from headroom.domain.decision.asking import REFUSED_CAUSE
from headroom.domain.decision.decide import Decision
from headroom.domain.decision.decision_input import ANSWERED_WITHIN
from headroom.domain.decision.escalation import published_lately
from headroom.domain.decision.space import full_within_a_day
from headroom.domain.guardrails import (
    CONCURRENCY_GUARDRAILS,
    QUEUEABLE_GUARDRAILS,
    Guardrail,
    Verdict,
    only_saves,
)
from headroom.domain.planning import CALM_MINUTES, IO2_MS
from headroom.domain.resources import Configuration, Kind, ModificationState, VolumeType
from headroom.domain.state import QueueEntry, quota_usage, unknown_modification
from headroom.domain.workload import Binding

CLOSE_TO_LIMIT = timedelta(minutes=5)
"""How soon a volume under pressure, or whose credits drain, is reconciled again."""
LONG_PRESSURE_MINUTES = 60
"""Past this, starvation that is not worth ending is no reason to reconcile within minutes."""
DAILY = timedelta(hours=24)
"""How often a volume is reconciled only to see that it still exists, until then its increase counts, or whether
something may be given back."""
THIN_DATA = timedelta(minutes=5)
CREDITS_DRAINING = timedelta(hours=4)
UNREPORTED = timedelta(hours=1)
SLOW_UNREPORTED = timedelta(hours=3)
"""No alarm reports operations that are slower than the owner wants."""
BLIP = timedelta(minutes=2)
"""How soon a volume with a single minute of pressure is reconciled again."""
NOTHING_YET = timedelta(minutes=10)
"""An attached volume that may be changed is reconciled again while nothing is published of it."""
GAP = timedelta(days=3)
"""How long a volume that fell silent is reconciled each hour: a weekend off is shorter."""
QUEUED = timedelta(minutes=60)
"""A queued resource is reconciled again after at least this long, unless its turn comes first."""
CLOSED = timedelta(hours=6)
"""The longest such wait while it is known that no change may start."""
JUST_BEGUN = timedelta(minutes=10)
NEAR = timedelta(minutes=15)
"""How soon a database is reconciled again that is a day or less from being full."""
LATER = timedelta(hours=6)
"""The same of one that is short of space for longer, or of which too little is known."""
HANDLED_BY_QUEUE = CONCURRENCY_GUARDRAILS | {Guardrail.FREEZE, Guardrail.CALENDAR}
"""Guardrails that the sweep checks itself before it dequeues anything."""
MOST_PRESSED = 9_999
NEARLY_FULL = timedelta(hours=24)
OF_BUDGET = frozenset({Guardrail.PRICE_PER_ACCOUNT, Guardrail.GROUP})
"""What blocks a volume, or a set, for which the account's increases leave too little."""
DEARER = (VolumeType.GP2, VolumeType.IO1, VolumeType.IO2)
"""Types that cost more than gp3, whatever they deliver."""


def next_reconcile_at(decision: Decision) -> datetime | None:
    """When to reconcile again without waiting for the next scan of the fleet.

    A volume that may be changed is reconciled when its best schedule of the day makes a change, when a
    known event comes within sight, and daily while it was busy lately.
    While it costs more than at enrolment, it is reconciled once a day whatever happens: if it was
    deleted, nothing else would reveal that, and its increase would count forever.
    While it costs more than the least of its type, somebody looks at it after the load that presses.
    """
    times = (
        _by_answer(decision), _planned(decision), space_check(decision), decision.look_ahead_at,
        _to_give_back(decision),
    )  # fmt: skip
    found = [at for at in times if at is not None]
    waiting = queue_entry_of(decision)
    if waiting is not None:
        again = _in_queue(decision, waiting)
        found = [again] if waiting.adds_usd is None else [*found, again]
    resource_state = decision.resource_state
    if resource_state.resource_increase_usd > 0:
        found.append(decision.at + DAILY)
    change = decision.observation.modification
    if (
        change is not None
        and change.state is ModificationState.MODIFYING
        and unknown_modification(resource_state, change, decision.at) is not None
    ):
        found.append(decision.at + UNREPORTED)  # somebody else's counts once it is in force
    wanted, now = (
        decision.effective.limits.latency_objective_ms,
        decision.observation.volume.configuration,
    )
    faster = now.volume_type is not VolumeType.IO2 and wanted is not None and wanted >= IO2_MS
    if faster and decision.effective.enrolled:
        found.append(decision.at + SLOW_UNREPORTED)
    waits = (
        one.expires
        for one in (resource_state.approval_request, resource_state.rollback)
        if one is not None
    )
    found += [max(at, decision.at) for at in waits]
    return min(found, default=None)


def _in_queue(decision: Decision, waiting: QueueEntry) -> datetime:
    """When a queued resource is reconciled even if its turn does not come: seldom while nothing can start."""
    soon, spread = decision.at + QUEUED, _spread(decision)
    opens = min(waiting.not_before or soon, decision.at + CLOSED)
    if waiting.adds_usd is not None:
        opens = decision.at + CLOSED
    return max(soon, opens) + spread


def _spread(decision: Decision) -> timedelta:
    """Up to half an hour, by the volume's name, so that resources that queue together are not due together."""
    name = decision.observation.volume.ref.arn.encode()
    return timedelta(minutes=sha256(name).digest()[0] % 31)


def _planned(decision: Decision) -> datetime | None:
    """When a change that pays later in the day is reconciled again, for volumes that may change."""
    if decision.next_change_at is None or not decision.effective.enrolled:
        return None
    answer = decision.answer
    if isinstance(answer, Hold) and answer.until and answer.reason is not Reason.AWAITING_APPROVAL:
        return None
    return max(decision.next_change_at, decision.at + CLOSE_TO_LIMIT)


def _by_answer(decision: Decision) -> datetime | None:
    answer, at = decision.answer, decision.at
    if isinstance(answer, Act):
        return at + CLOSE_TO_LIMIT  # the outcome moves it; else a crash is found then
    if isinstance(answer, Escalate):
        if answer.cause.startswith(REFUSED_CAUSE):
            return at + timedelta(minutes=1)  # it is tried all the same
        again = answer.reason in (Reason.NOT_ENOUGH_DATA, Reason.BLOCKED_TEMPORARILY)
        return at + THIN_DATA if again or _raises_once_available(decision) else None
    if answer.until is not None:
        asked, until = decision.resource_state.approval_request, answer.until
        if answer.reason is Reason.AWAITING_APPROVAL and asked is not None:
            no_answer = asked.requested_at + ANSWERED_WITHIN
            until = no_answer if at < no_answer < until else until
        return max(until, at + timedelta(minutes=1))
    match answer.reason:
        case Reason.BLOCKED_TEMPORARILY:
            # An event reports the end of a change in flight; this is for when that is lost.
            soon = decision.demand.pressed_minutes or _raises_once_available(decision)
            return at + (CLOSE_TO_LIMIT if soon else UNREPORTED)
        case Reason.NO_PRESSURE if _raises_once_available(decision):
            return at + CLOSE_TO_LIMIT
        case Reason.NOT_COST_EFFECTIVE if not decision.demand.pressed_minutes:
            return at + UNREPORTED  # new pressure is reported
        case Reason.NOT_COST_EFFECTIVE if decision.demand.pressed_minutes < LONG_PRESSURE_MINUTES:
            return at + CLOSE_TO_LIMIT
        case Reason.NOT_ENOUGH_DATA if (
            decision.effective.enrolled and decision.demand.known_minutes
        ):
            return at + THIN_DATA
        case Reason.NOT_ENOUGH_DATA if _may_publish_soon(decision):
            return at + NOTHING_YET
        case Reason.NOT_ENOUGH_DATA if decision.effective.enrolled and published_lately(
            decision.observation
        ):
            return at + UNREPORTED  # nothing else sees what metrics show that are late
        case Reason.NOT_ENOUGH_DATA if _fell_silent(decision):
            return at + UNREPORTED
        case Reason.NO_PRESSURE if decision.effective.enrolled and decision.demand.pressed_minutes:
            return at + BLIP
        case Reason.NO_PRESSURE if decision.effective.enrolled and _soon_calm(decision):
            return at + timedelta(minutes=CALM_MINUTES - decision.demand.clear_minutes + 1)
        case Reason.NO_PRESSURE if decision.effective.enrolled and _draining(decision):
            return at + CLOSE_TO_LIMIT
        case _:
            return None


def _raises_once_available(decision: Decision) -> bool:
    """Whether a raise waits for RDS to end a backup, or for somebody's pending change: no event reports that they end."""
    judged = decision.proposed
    if judged is None or not judged.blocking or judged.plan.price_change_usd <= 0:
        return False
    return judged.plan.sustains_more and all(
        v.guardrail is Guardrail.PENDING_CHANGES
        or (v.guardrail is Guardrail.DATABASE_STATE and v.temporary)
        for v in judged.blocking
    )


def _to_give_back(decision: Decision) -> datetime | None:
    """When to see whether something may be given back, whatever was decided; None where nothing is paid for it.

    Pressure alone wakes nobody once it is over: what is seen only while it presses keeps all that it has.
    """
    answer, at = decision.answer, decision.at
    if isinstance(answer, Act) or not costs_more(decision.observation.volume.configuration):
        return None
    if answer.reason is Reason.POLICY_UNREADABLE:
        return at + CLOSED
    if not decision.effective.enrolled:
        return None
    presses = decision.diagnosis.binding not in (Binding.NOTHING, Binding.UNKNOWN)
    given_up = isinstance(answer, Escalate) and decision.rollback_of is not None
    known = (
        isinstance(answer, Hold) and answer.until and answer.reason is Reason.BLOCKED_TEMPORARILY
    )
    return at + (UNREPORTED if (presses or given_up) and not known else DAILY)


def costs_more(configuration: Configuration) -> bool:
    """Whether less performance, or another type, costs less for the same size."""
    if configuration.volume_type in DEARER:
        return True
    can, (iops, mibps) = capability(configuration), included(configuration)
    return can.sustained_iops > iops or can.sustained_mibps > mibps


def _may_publish_soon(decision: Decision) -> bool:
    """Whether metrics may begin soon: a volume just attached; a stopped instance publishes none."""
    attached = bool(decision.observation.volume.instance_ids)
    return decision.effective.enrolled and attached and decision.trigger != "due"


def _fell_silent(decision: Decision) -> bool:
    """Whether nothing is measured for some hours where load came before: it may be due after them."""
    profile = decision.resource_state.profile
    if profile is None or not decision.effective.enrolled:
        return False
    known = [hour for hour in profile.since(decision.at - GAP).hours if hour is not None]
    return bool(known) and any(hour is not None and hour.touched_minutes for hour in profile.hours)


def _soon_calm(decision: Decision) -> bool:
    """Whether nothing may be lowered only because too few minutes were seen without pressure."""
    return 0 < decision.demand.clear_minutes < CALM_MINUTES


def _draining(decision: Decision) -> bool:
    credits, balance = decision.demand.credits, decision.diagnosis.instance_balance
    ends = (
        None if credits is None else credits.empty_at,
        None if balance is None else balance.empty_at,
    )
    return any(end is not None and end - decision.at <= CREDITS_DRAINING for end in ends)


def space_check(decision: Decision) -> datetime | None:
    """When free space is to be read again without waiting for a scan; None where it can wait.

    Scans do not read what is free of volumes, so those that may grow have a time of their own.
    """
    at, limits, volume = decision.at, decision.effective.limits, decision.observation.volume
    acts = isinstance(decision.answer, Act)
    if acts or not (decision.effective.enrolled and limits.grow_space):
        return None  # whose storage may not grow is found by scans when it is near
    found = _by_forecast(decision)
    if volume.ref.kind is not Kind.EBS or not volume.instance_ids:
        return found
    at_most = at + (DAILY if decision.space is None else LATER)
    return at_most if found is None else min(found, at_most)


def _by_forecast(decision: Decision) -> datetime | None:
    space, at = decision.space, decision.at
    if space is None:
        return None
    if space.young:
        return at + JUST_BEGUN
    if space.unclear:
        return at + LATER if decision.demand.known_minutes else None
    if space.short:
        return at + (NEAR if full_within_a_day(space, at) else LATER)
    slack = space.lowest_gib - space.reserve_gib
    if space.fill_gib_per_day <= 0 or slack >= space.fill_gib_per_day:
        return None
    return at + max(NEAR, DAILY * max(0.0, slack / space.fill_gib_per_day))


def queue_entry_of(decision: Decision) -> QueueEntry | None:
    """The queue entry of a decision, None when it is not queued."""
    judged = decision.proposed
    if judged is None or not decision.effective.enrolled:
        return None
    plan, blocking = judged.plan, judged.blocking
    of_budget = _adds_to_account(decision, blocking)
    if not blocking or any(
        v.guardrail not in QUEUEABLE_GUARDRAILS or not v.temporary
        for v in blocking
        if of_budget is None or v.guardrail not in OF_BUDGET
    ):
        return None
    since = decision.resource_state.queued_since
    return QueueEntry(
        since=decision.at if since is None else since,
        starved_minutes=max(decision.demand.pressed_minutes, _short_of_space(decision)),
        zone=decision.observation.volume.availability_zone,
        not_before=_not_before(blocking),
        counts=quota_usage(plan.origin, plan.target),
        saves=only_saves(plan, decision.diagnosis),
        slots_needed=1 if decision.group is None else max(1, len(decision.group.members)),
        for_places=all(v.guardrail in CONCURRENCY_GUARDRAILS for v in blocking),
        adds_usd=of_budget,
    )


def _adds_to_account(decision: Decision, blocking: Sequence[Verdict]) -> Decimal | None:
    """What the change adds to the account's increases, of which its limit leaves less; None if it leaves that."""
    lacking = [v.value for v in blocking if v.guardrail is Guardrail.PRICE_PER_ACCOUNT]
    if not lacking:
        return None
    if not isinstance(lacking[0], Decimal):
        raise TypeError(f"{lacking[0]!r} are no dollars")
    return lacking[0] - decision.resource_state.account_increase_usd


def urgency(*, enrolled: bool, pressed_minutes: int, empty_percent: float = 0.0) -> int:
    """Orders what is due: what may be changed before what may not, then by starved minutes, then by
    how empty its bucket of credits is."""
    most = min(max(pressed_minutes, 0), MOST_PRESSED)
    return (enrolled * (MOST_PRESSED + 1) + most) * 101 + int(min(max(empty_percent, 0), 100))


def urgency_of(decision: Decision) -> int:
    """The urgency of the next reconciliation after this one."""
    pressed = max(decision.demand.pressed_minutes, _short_of_space(decision))
    return urgency(enrolled=decision.effective.enrolled, pressed_minutes=pressed)


def _short_of_space(decision: Decision) -> int:
    """By how many minutes a database is less than a day from being full."""
    full_at = None if decision.space is None else decision.space.full_at
    if full_at is None:
        return 0
    return max(0, int((decision.at + NEARLY_FULL - full_at).total_seconds() // 60))


def _not_before(blocking: tuple[Verdict, ...]) -> datetime | None:
    """When the guardrails clear that the sweep does not check itself."""
    found = [v.clears_at for v in blocking if v.guardrail not in HANDLED_BY_QUEUE]
    return max((at for at in found if at is not None), default=None)
