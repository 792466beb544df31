"""One look at one volume: observe, advance what is open, decide, record what is news, act."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256

from headroom.application import approvals, clusters, groups, rollback
from headroom.application.carrying import carry_out, somebody_waits
from headroom.application.chains import advance
from headroom.application.space import space_look, warn
from headroom.domain.answers import Act, Escalate, Hold, Reason
from headroom.domain.decision import Decision
from headroom.domain.evidence import Evidence
from headroom.domain.limits import Mode
from headroom.domain.observation import Observation
from headroom.domain.policy import Policy, PolicyUnreadable, limits_for
from headroom.domain.pricing import PriceTable
from headroom.domain.queue_place import Waiting
from headroom.domain.records import Step
from headroom.domain.resources import Kind, ModificationState, PriceUnknown, ResourceRef
from headroom.domain.situation import CALM_MINUTES
from headroom.domain.standing import KEPT, WINDOW, KnownModification, Standing
from headroom.domain.waiting import waiting_of
from headroom.ports import Ports
from headroom.ports.storage import ResourceGone, StorageView

NEAR_A_LIMIT = timedelta(minutes=5)
"""How soon a volume under pressure, or whose credits drain, is looked at again."""
LONG_EPISODE_MINUTES = 60
"""Past this, starvation that is not worth ending is left to the scans of the fleet."""
DAILY = timedelta(hours=24)
"""How often a volume is looked at only to see that it still is: its increase counts till then."""
THIN_DATA = timedelta(minutes=5)
DRAINING = timedelta(hours=4)
UNTOLD = timedelta(hours=1)
BLIP = timedelta(minutes=2)
"""How soon a volume with a single minute of pressure is looked at again."""
NOTHING_YET = timedelta(minutes=10)
"""An attached volume that may be changed is looked at again while nothing is published of it."""
AHEAD = timedelta(minutes=10)
"""How long before the best schedule changes something the volume is looked at again."""
SAME_START = timedelta(seconds=1)
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
    try:
        view = ports.storage.view(ref)
    except ResourceGone as gone:
        _let_go(ports, ref, now, gone)
        instead = ref if gone.another else gone.instead
        if instead is None:
            return None
        return look(ports, instead, now, trigger=trigger, must_record=must_record)
    ref = view.volume.ref  # an ARN does not tell an Aurora cluster from another one: RDS did
    if ref.kind is Kind.AURORA:
        return clusters.look_at(ports, view, now, trigger=trigger, must_record=must_record)
    standing = ports.standings.standing(ref, now)
    policy = ports.policies.current()
    if standing.open_chain is not None:
        seen = observe(ports, view, now, earlier_days=False)
        if not advance(ports, seen, standing.open_chain, now):
            prices = _prices(ports, ref.region)
            known = ports.standings.standing(ref, now)
            warn(ports, Evidence(
                trigger=trigger, observation=seen, standing=known, policy=policy, prices=prices
            ))  # fmt: skip
            return None
        standing = ports.standings.standing(ref, now)
    off = isinstance(policy, Policy) and limits_for(policy, view.volume).limits.mode is Mode.OFF
    if off and not somebody_waits(standing):
        due_at = now + DAILY if standing.own_increase_usd > 0 else None
        ports.standings.looked(ref, at=now, due_at=due_at)
        return None
    prices = _prices(ports, ref.region)

    def read(each: StorageView) -> Evidence:
        own = each.volume.ref == ref
        known = standing if own else ports.standings.standing(each.volume.ref, now)
        known = note_modifications(ports, each, known, prices, now)
        if isinstance(policy, Policy) and policy.calendars:
            known = replace(known, calendars=ports.calendars.seen(policy.calendars, now))
        return Evidence(
            trigger=trigger,
            standing=known,
            observation=observe(ports, each, now, earlier_days=True),
            policy=policy,
            prices=prices,
        )

    evidence = read(view)
    standing = evidence.standing
    if standing.asking is not None:
        settled = _settle(ports, evidence, standing, now)
        if settled is True:
            return None
        evidence = replace(evidence, standing=_anew(ports, evidence, now))
        if isinstance(settled, Decision):
            carry_out(
                ports,
                settled,
                evidence.standing,
                now,
                must_record=must_record,
                due_at=next_look(settled),
            )
            return settled
    if standing.rollback is not None:
        decision = rollback.consider(ports, evidence, standing.rollback)
    else:
        found = groups.consider(ports, evidence, read)
        if found.acts:
            groups.change_together(ports, found.acts, now, next_look)
        decision = found.looked_at
        if decision in found.acts:
            return decision
    carry_out(
        ports, decision, evidence.standing, now, must_record=must_record, due_at=next_look(decision)
    )
    return decision


def _settle(ports: Ports, evidence: Evidence, standing: Standing, now: datetime) -> Decision | bool:
    """What becomes of a request: a rollback that somebody wants goes before it."""
    if standing.asking is None:
        return False
    if standing.rollback is None:
        return approvals.settle(ports, evidence, standing.asking, now)
    ref = evidence.observation.volume.ref
    approvals.overtaken(ports, standing.asking, ref, now, "a rollback is wanted instead")
    return False


def _anew(ports: Ports, evidence: Evidence, now: datetime) -> Standing:
    """The standing after something was recorded about the resource, calendars as they were read."""
    standing = ports.standings.standing(evidence.observation.volume.ref, now)
    return replace(standing, calendars=evidence.standing.calendars)


def _let_go(ports: Ports, ref: ResourceRef, now: datetime, why: ResourceGone) -> None:
    """End what is open about a resource that exists no more, and free what it held."""
    standing = ports.standings.standing(ref, now)
    chain, asked = standing.open_chain, standing.asking
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
    ports.standings.forget(ref, at=now, another=why.another)


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


def note_modifications(
    ports: Ports, view: StorageView, standing: Standing, prices: PriceTable | None, now: datetime
) -> Standing:
    """Count a modification nobody told the ledger of; the owner's own one resets the price base.

    One that uses no slot any more still does, if nobody looked for a day. Without any prices it is
    left for a look that has them: nothing is done without.
    """
    change, enrolled = view.modification, standing.enrolment_usd is not None
    if change is None or change.started_at <= now - (KEPT if enrolled else WINDOW):
        return standing
    landed = change.state is not ModificationState.FAILED
    if prices is None and landed and enrolled:
        return standing
    if any(abs(change.started_at - m.started_at) <= SAME_START for m in standing.modifications):
        return standing
    price = None
    if prices is not None and landed and enrolled:
        try:
            price = prices.monthly(change.target)
        except PriceUnknown:
            price = None
    theirs = KnownModification(
        started_at=change.started_at, by="other", origin=change.origin, target=change.target
    )
    ports.standings.saw_modifications(view.volume.ref, [theirs], now=now, owner_price=price)
    return ports.standings.standing(view.volume.ref, now)


def _prices(ports: Ports, region: str) -> PriceTable | None:
    try:
        return ports.prices.table(region)
    except PriceUnknown:
        return None


def next_look(decision: Decision) -> datetime | None:
    """When the sweep must look again without waiting for the next scan of the fleet.

    A volume that may be changed is looked at when its best schedule of the day changes something,
    and while it costs more than when it was enrolled once a day whatever happens: were it
    deleted, nobody else would tell, and its increase would count for ever.
    """
    looks = (_next_look(decision), _planned(decision), space_look(decision))
    found = [at for at in looks if at is not None]
    waiting = waiting_of(decision)
    if waiting is not None:
        found = [_in_queue(decision, waiting)]
    standing = decision.standing
    if standing.own_increase_usd > 0:
        found.append(decision.at + DAILY)
    waits = (one.expires for one in (standing.asking, standing.rollback) if one is not None)
    found += [max(at, decision.at) for at in waits]
    return min(found, default=None)


def _in_queue(decision: Decision, waiting: Waiting) -> datetime:
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
    return max(decision.next_change_at - AHEAD, decision.at + NEAR_A_LIMIT)


def _next_look(decision: Decision) -> datetime | None:
    answer, at = decision.answer, decision.at
    if isinstance(answer, Act):
        return at + NEAR_A_LIMIT  # moved on by the outcome; a crash before it is found by this
    if isinstance(answer, Escalate):
        return None
    if answer.until is not None:
        return max(answer.until, at + timedelta(minutes=1))
    match answer.reason:
        case Reason.BLOCKED_FOR_NOW:
            # A change in flight is told by an event when it ends; this is for when that is lost.
            return at + (NEAR_A_LIMIT if decision.demand.pressed_minutes else UNTOLD)
        case Reason.NOT_WORTH_IT if decision.demand.pressed_minutes < LONG_EPISODE_MINUTES:
            return at + NEAR_A_LIMIT
        case Reason.DATA_TOO_THIN if decision.effective.enrolled and decision.demand.known_minutes:
            return at + THIN_DATA
        case Reason.DATA_TOO_THIN if _may_publish_soon(decision):
            return at + NOTHING_YET
        case Reason.NO_PRESSURE if decision.effective.enrolled and decision.demand.pressed_minutes:
            return at + BLIP
        case Reason.NO_PRESSURE if decision.effective.enrolled and _soon_calm(decision):
            return at + timedelta(minutes=CALM_MINUTES - decision.demand.clear_minutes + 1)
        case Reason.NO_PRESSURE if decision.effective.enrolled and _draining(decision):
            return at + NEAR_A_LIMIT
        case _:
            return None


def _may_publish_soon(decision: Decision) -> bool:
    """Whether one more look is worth it: a volume just attached; a stopped instance stays silent."""
    attached = bool(decision.observation.volume.instance_ids)
    return decision.effective.enrolled and attached and decision.trigger != "due"


def _soon_calm(decision: Decision) -> bool:
    """Whether nothing may be lowered only because too few minutes were seen without pressure."""
    return 0 < decision.demand.clear_minutes < CALM_MINUTES


def _draining(decision: Decision) -> bool:
    credits, balance = decision.demand.credits, decision.diagnosis.instance_balance
    ends = (
        None if credits is None else credits.empty_at,
        None if balance is None else balance.empty_at,
    )
    return any(end is not None and end - decision.at <= DRAINING for end in ends)


__all__ = ["PolicyUnreadable", "look", "next_look", "note_modifications", "observe"]
