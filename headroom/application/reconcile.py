"""One look at one volume: observe, advance what is open, decide, record what is news, act."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256

from headroom.application import approvals, groups, rollback
from headroom.application import reconcile_cluster as clusters
from headroom.application.chains import advance
from headroom.application.conclude import awaits_person, conclude
from headroom.application.profile import with_profile
from headroom.application.space import space_check, warn
from headroom.domain.catalog import PriceTable
from headroom.domain.decision import (
    Act,
    Decision,
    DecisionInput,
    Escalate,
    Hold,
    Reason,
    queue_entry_of,
)
from headroom.domain.planning import CALM_MINUTES
from headroom.domain.policy import Mode, Policy, PolicyUnreadable, limits_for, owner_prices
from headroom.domain.resources import (
    Kind,
    ModificationState,
    Observation,
    PriceUnknown,
    ResourceRef,
)
from headroom.domain.state import (
    MODIFICATION_RETENTION,
    WINDOW,
    EventOutcome,
    KnownModification,
    LedTo,
    QueueEntry,
    ResourceState,
    Step,
    is_known_modification,
)
from headroom.ports import Ports, ResourceGone, StorageView

CLOSE_TO_LIMIT = timedelta(minutes=5)
"""How soon a volume under pressure, or whose credits drain, is looked at again."""
LONG_PRESSURE_MINUTES = 60
"""Past this, starvation that is not worth ending is left to the scans of the fleet."""
DAILY = timedelta(hours=24)
"""How often a volume is looked at only to see that it still is: its increase counts till then."""
THIN_DATA = timedelta(minutes=5)
CREDITS_DRAINING = timedelta(hours=4)
UNREPORTED = timedelta(hours=1)
BLIP = timedelta(minutes=2)
"""How soon a volume with a single minute of pressure is looked at again."""
NOTHING_YET = timedelta(minutes=10)
"""An attached volume that may be changed is looked at again while nothing is published of it."""
GAP = timedelta(days=2)
"""How long a volume that fell silent is looked at each hour: after that it is taken for stopped."""
AHEAD = timedelta(minutes=10)
"""How long before the best schedule changes something the volume is looked at again."""
QUEUED = timedelta(minutes=60)
"""After how long at least one in the queue is looked at again, should its turn not come before."""
CLOSED = timedelta(hours=6)
"""The same while it is known that nothing may start: until then at most."""


def look(
    ports: Ports, ref: ResourceRef, now: datetime, *, trigger: str, must_record: bool = False
) -> Decision | None:
    """Look at `ref` and do what is right; the decision, or None when there was none to make.

    Raises ReadFailed when AWS did not answer.
    """
    found = reconcile(ports, ref, now, trigger=trigger, must_record=must_record)
    return None if isinstance(found, EventOutcome) else found


def reconcile(
    ports: Ports, ref: ResourceRef, now: datetime, *, trigger: str, must_record: bool = False
) -> Decision | EventOutcome:
    """As `look`; where there was no decision to make, why."""
    try:
        view = ports.storage.view(ref)
    except ResourceGone as gone:
        _let_go(ports, ref, now, gone)
        instead = ref if gone.another else gone.instead
        if instead is None:
            return EventOutcome(led_to=LedTo.GONE, detail=str(gone))
        return reconcile(ports, instead, now, trigger=trigger, must_record=must_record)
    ref = view.volume.ref  # an ARN does not tell an Aurora cluster from another one: RDS did
    if ref.kind is Kind.AURORA:
        return clusters.reconcile(ports, view, now, trigger=trigger, must_record=must_record)
    resource_state = ports.state_store.resource_state(ref, now)
    policy = ports.policies.current()
    if resource_state.open_chain is not None:
        seen = observe(ports, view, now, earlier_days=False)
        if not advance(ports, seen, resource_state.open_chain, now):
            prices = owner_prices(policy, view.volume, _prices(ports, ref.region))
            known = ports.state_store.resource_state(ref, now)
            warn(ports, DecisionInput(
                trigger=trigger, observation=seen, resource_state=known, policy=policy, prices=prices
            ))  # fmt: skip
            chain_id = resource_state.open_chain.decision_id
            return EventOutcome(led_to=LedTo.CHANGE_OPEN, which=chain_id)
        resource_state = ports.state_store.resource_state(ref, now)
    off = isinstance(policy, Policy) and limits_for(policy, view.volume).limits.mode is Mode.OFF
    if off and not awaits_person(resource_state):
        due_at = now + DAILY if resource_state.resource_increase_usd > 0 else None
        ports.state_store.reconciled(ref, at=now, due_at=due_at)
        return EventOutcome(led_to=LedTo.OFF)
    listed = _prices(ports, ref.region)

    def read(each: StorageView) -> DecisionInput:
        own = each.volume.ref == ref
        known = resource_state if own else ports.state_store.resource_state(each.volume.ref, now)
        prices = owner_prices(policy, each.volume, listed)
        known = save_observed_modifications(ports, each, known, prices, now)
        if isinstance(policy, Policy) and policy.calendars:
            known = replace(known, calendars=ports.calendars.seen(policy.calendars, now))
        seen = observe(ports, each, now, earlier_days=True)
        return DecisionInput(
            trigger=trigger,
            resource_state=with_profile(ports, each, seen, known),
            observation=seen,
            policy=policy,
            prices=prices,
        )

    decision_input = read(view)
    resource_state = decision_input.resource_state
    if resource_state.approval_request is not None:
        settled = _settle(ports, decision_input, resource_state, now)
        if settled is True:
            request_id = resource_state.approval_request.decision_id
            return EventOutcome(led_to=LedTo.REQUEST_CONCLUDED, which=request_id)
        decision_input = replace(
            decision_input, resource_state=_decide_again(ports, decision_input, now)
        )
        if isinstance(settled, Decision):
            conclude(
                ports,
                settled,
                decision_input.resource_state,
                now,
                must_record=must_record,
                due_at=next_reconcile_at(settled),
            )
            return settled
    if resource_state.rollback is not None:
        decision = rollback.consider(ports, decision_input, resource_state.rollback)
    else:
        found = groups.consider(ports, decision_input, read)
        if found.acts:
            groups.change_together(ports, found.acts, now, next_reconcile_at)
        decision = found.primary
        if decision in found.acts:
            return decision
    conclude(
        ports,
        decision,
        decision_input.resource_state,
        now,
        must_record=must_record,
        due_at=next_reconcile_at(decision),
    )
    return decision


def _settle(
    ports: Ports, decision_input: DecisionInput, resource_state: ResourceState, now: datetime
) -> Decision | bool:
    """What becomes of a request: a rollback that somebody wants goes before it."""
    if resource_state.approval_request is None:
        return False
    if resource_state.rollback is None:
        return approvals.settle(ports, decision_input, resource_state.approval_request, now)
    ref = decision_input.observation.volume.ref
    approvals.overtaken(
        ports, resource_state.approval_request, ref, now, "a rollback is wanted instead"
    )
    return False


def _decide_again(ports: Ports, decision_input: DecisionInput, now: datetime) -> ResourceState:
    """The standing after something was recorded about the resource; what else was read stays."""
    resource_state = ports.state_store.resource_state(decision_input.observation.volume.ref, now)
    before = decision_input.resource_state
    return replace(resource_state, calendars=before.calendars, profile=before.profile)


def _let_go(ports: Ports, ref: ResourceRef, now: datetime, why: ResourceGone) -> None:
    """End what is open about a resource that exists no more, and free what it held."""
    resource_state = ports.state_store.resource_state(ref, now)
    chain, asked = resource_state.open_chain, resource_state.approval_request
    gone = f"the {ref.noun} is gone: {why}"
    if asked is not None:
        ports.ledger.append(
            asked.decision_id, Step.GONE, ref=ref, at=now, summary=gone,
            body={}, fencing=None, due_at=None,
        )  # fmt: skip
    if chain is not None:
        ports.ledger.append(
            chain.decision_id, Step.GONE, ref=ref, at=now, summary=gone,
            body={}, fencing=chain.fencing, due_at=None,
        )  # fmt: skip
    ports.state_store.forget(ref, at=now, another=why.another)


def observe(ports: Ports, view: StorageView, now: datetime, *, earlier_days: bool) -> Observation:
    """All that is read about a volume at one instant; every read ends before deciding starts.

    Earlier days are read for every decision: what is enough, and what comes again, they tell.
    """
    activity, instance_activity = ports.metrics.activity(view, now)
    return Observation(
        at=now,
        volume=view.volume,
        modification=view.modification,
        activity=activity,
        history=ports.metrics.history(view, now) if earlier_days else None,
        instance=view.instance,
        instance_activity=instance_activity,
        valid=view.valid,
    )


def save_observed_modifications(
    ports: Ports,
    view: StorageView,
    resource_state: ResourceState,
    prices: PriceTable | None,
    now: datetime,
) -> ResourceState:
    """Count a modification nobody told the ledger of; the owner's own one moves the price base.

    One that uses no slot any more still does, if nobody looked for a day. Without any prices it is
    left for a look that has them: nothing is done without. While a chain is open it may be ours.
    """
    change, enrolled = view.modification, resource_state.enrolment_usd is not None
    if change is None or resource_state.open_chain is not None:
        return resource_state
    if change.started_at <= now - (MODIFICATION_RETENTION if enrolled else WINDOW):
        return resource_state
    landed = change.state is not ModificationState.FAILED
    if prices is None and landed and enrolled:
        return resource_state
    theirs = KnownModification(
        started_at=change.started_at, by="other", origin=change.origin, target=change.target
    )
    if is_known_modification(resource_state.modifications, theirs):
        return resource_state
    ports.state_store.save_modifications(
        view.volume.ref, [theirs], now=now, prices=prices if landed else None
    )
    return ports.state_store.resource_state(view.volume.ref, now)


def _prices(ports: Ports, region: str) -> PriceTable | None:
    try:
        return ports.prices.table(region)
    except PriceUnknown:
        return None


def next_reconcile_at(decision: Decision) -> datetime | None:
    """When the sweep must look again without waiting for the next scan of the fleet.

    A volume that may be changed is looked at when its best schedule of the day changes something,
    and while it costs more than when it was enrolled once a day whatever happens: were it
    deleted, nobody else would tell, and its increase would count for ever.
    """
    looks = (_next_look(decision), _planned(decision), space_check(decision))
    found = [at for at in looks if at is not None]
    waiting = queue_entry_of(decision)
    if waiting is not None:
        found = [_in_queue(decision, waiting)]
    resource_state = decision.resource_state
    if resource_state.resource_increase_usd > 0:
        found.append(decision.at + DAILY)
    waits = (
        one.expires
        for one in (resource_state.approval_request, resource_state.rollback)
        if one is not None
    )
    found += [max(at, decision.at) for at in waits]
    return min(found, default=None)


def _in_queue(decision: Decision, waiting: QueueEntry) -> datetime:
    """When one that queues is looked at whatever the queue does: seldom while nothing can start."""
    soon, spread = decision.at + QUEUED, _spread(decision)
    opens = min(waiting.not_before or soon, decision.at + CLOSED)
    return max(soon, opens) + spread


def _spread(decision: Decision) -> timedelta:
    """Up to half an hour, by the volume's name: those that queue together are not due together."""
    name = decision.observation.volume.ref.arn.encode()
    return timedelta(minutes=sha256(name).digest()[0] % 31)


def _planned(decision: Decision) -> datetime | None:
    """When a change that pays later in the day is looked at again, for volumes that may change."""
    if decision.next_change_at is None or not decision.effective.enrolled:
        return None
    if isinstance(decision.answer, Hold) and decision.answer.until is not None:
        return None
    return max(decision.next_change_at - AHEAD, decision.at + CLOSE_TO_LIMIT)


def _next_look(decision: Decision) -> datetime | None:
    answer, at = decision.answer, decision.at
    if isinstance(answer, Act):
        return at + CLOSE_TO_LIMIT  # moved on by the outcome; a crash before it is found by this
    if isinstance(answer, Escalate):
        return None
    if answer.until is not None:
        return max(answer.until, at + timedelta(minutes=1))
    match answer.reason:
        case Reason.BLOCKED_TEMPORARILY:
            # A change in flight is told by an event when it ends; this is for when that is lost.
            return at + (CLOSE_TO_LIMIT if decision.demand.pressed_minutes else UNREPORTED)
        case Reason.NOT_COST_EFFECTIVE if decision.demand.pressed_minutes < LONG_PRESSURE_MINUTES:
            return at + CLOSE_TO_LIMIT
        case Reason.NOT_ENOUGH_DATA if (
            decision.effective.enrolled and decision.demand.known_minutes
        ):
            return at + THIN_DATA
        case Reason.NOT_ENOUGH_DATA if _may_publish_soon(decision):
            return at + NOTHING_YET
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


def _may_publish_soon(decision: Decision) -> bool:
    """Whether one more look is worth it: a volume just attached; a stopped instance stays silent."""
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


__all__ = [
    "PolicyUnreadable",
    "look",
    "next_reconcile_at",
    "observe",
    "reconcile",
    "save_observed_modifications",
]
