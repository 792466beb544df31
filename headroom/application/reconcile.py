"""One reconciliation of one resource: observe, advance what is open, decide, record what is news, act."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from headroom.application import approvals, groups, rollback
from headroom.application import reconcile_cluster as clusters
from headroom.application.chains import advance
from headroom.application.conclude import awaits_person, conclude
from headroom.application.profile import with_profile
from headroom.application.queue import kept_for_a_set, others_first
from headroom.application.space import warn
from headroom.domain.catalog import PriceTable
from headroom.domain.decision import (
    DAILY,
    LEFT_AS_CHANGED,
    Act,
    Decision,
    DecisionInput,
    has_less,
    next_reconcile_at,
)
from headroom.domain.guardrails import only_saves
from headroom.domain.policy import Mode, Policy, limits_for, owner_prices
from headroom.domain.resources import (
    Kind,
    Modification,
    ModificationState,
    Observation,
    PriceUnknown,
    ResourceRef,
)
from headroom.domain.state import (
    EventOutcome,
    LedTo,
    Notify,
    ResourceState,
    SlowEffect,
    Step,
    at_present_prices,
    effect_takes,
    never_made,
    unknown_modification,
)
from headroom.domain.workload import estimate
from headroom.ports import IllegalStep, NotCovered, Ports, ResourceGone, StorageView

STEPS_ASIDE = timedelta(minutes=2)
"""How long a resource whose change just ended leaves its place to those that starve longer: the queue's turn."""


def reconcile(
    ports: Ports, ref: ResourceRef, now: datetime, *, trigger: str, must_record: bool = False
) -> Decision | EventOutcome:
    """Observe `ref` and do what is right: the decision, or why there was none to make.

    Raises ReadFailed when AWS did not answer.
    """
    try:
        view = ports.storage.view(ref)
    except NotCovered as problem:
        return _left_out(ports, ref, now, str(problem))
    except ResourceGone as gone:
        _release(ports, ref, now, gone)
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
        chain_id = resource_state.open_chain.decision_id
        resource_state = ports.state_store.resource_state(ref, now)
        starved = estimate(seen).pressed_minutes
        asked = must_record or awaits_person(resource_state)
        if not asked and others_first(ports, policy, now, view.volume, starved):
            ports.state_store.reconciled(ref, at=now, due_at=now + STEPS_ASIDE)
            return EventOutcome(led_to=LedTo.CHANGE_OPEN, which=chain_id)
    off = isinstance(policy, Policy) and limits_for(policy, view.volume).limits.mode is Mode.OFF
    if off and not awaits_person(resource_state) and not _leaves_changed(resource_state, view):
        if resource_state.resource_increase_usd > 0:  # its owner may have undone it meanwhile
            prices = owner_prices(policy, view.volume, _prices(ports, ref.region))
            resource_state = save_observed_modifications(ports, view, resource_state, prices, now)
        due_at = now + DAILY if resource_state.resource_increase_usd > 0 else None
        ports.state_store.reconciled(ref, at=now, due_at=due_at)
        return EventOutcome(led_to=LedTo.OFF)
    listed = _prices(ports, ref.region)

    def read(each: StorageView) -> DecisionInput:
        own = each.volume.ref == ref
        known = resource_state if own else ports.state_store.resource_state(each.volume.ref, now)
        prices = owner_prices(policy, each.volume, listed)
        paid = prices if isinstance(policy, Policy) else None  # its discount is not known
        known = save_observed_modifications(ports, each, known, paid, now)
        if isinstance(policy, Policy) and policy.calendars:
            known = replace(known, calendars=ports.calendars.seen(policy.calendars, now))
        seen = observe(ports, each, now, earlier_days=True)
        known = save_slow_effect(ports, seen, known, now)
        return DecisionInput(
            trigger=trigger,
            resource_state=with_profile(ports, each, seen, at_present_prices(known, prices)),
            observation=seen,
            policy=policy,
            prices=prices,
        )

    def concluded(decision: Decision) -> Decision:
        unmade = decision.current_usd is not None and never_made(
            decision.resource_state, decision.observation.modification, now
        )
        conclude(
            ports, decision, decision_input.resource_state, now, must_record=must_record or unmade,
            due_at=next_reconcile_at(decision),
        )  # fmt: skip
        return decision

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
            return concluded(settled)
    if resource_state.rollback is not None:
        decision = rollback.consider(ports, decision_input, resource_state.rollback)
    else:
        found = groups.consider(ports, decision_input, read)
        answer = found.primary.answer
        if (
            isinstance(policy, Policy)
            and isinstance(answer, Act)
            and only_saves(answer.plan, found.primary.diagnosis)
        ):
            kept = kept_for_a_set(ports, policy, now)
            state = replace(decision_input.resource_state, kept_places=kept)
            decision_input = replace(decision_input, resource_state=state)
            found = groups.consider(ports, decision_input, read) if kept else found
        if found.acts:
            groups.change_together(ports, found.acts, now, next_reconcile_at)
        decision = found.primary
        if decision in found.acts:
            return decision
    return concluded(decision)


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
    """The state after something was recorded about the resource; what else was read stays."""
    resource_state = ports.state_store.resource_state(decision_input.observation.volume.ref, now)
    before = decision_input.resource_state
    resource_state = at_present_prices(resource_state, decision_input.prices)
    return replace(resource_state, calendars=before.calendars, profile=before.profile)


def _left_out(ports: Ports, ref: ResourceRef, now: datetime, why: str) -> EventOutcome:
    """Leave a resource of a kind that is not covered as it is: AWS goes on billing what Headroom added, so it counts."""
    state = ports.state_store.resource_state(ref, now)
    if state.approval_request is not None:
        approvals.overtaken(ports, state.approval_request, ref, now, why)
    held = state.open_chain is not None or state.resource_increase_usd > 0 or awaits_person(state)
    ports.state_store.reconciled(ref, at=now, due_at=now + DAILY if held else None)
    return EventOutcome(led_to=LedTo.OFF, detail=why)


def _release(ports: Ports, ref: ResourceRef, now: datetime, why: ResourceGone) -> None:
    """End what is open about a resource that exists no more, and free what it held."""
    resource_state = ports.state_store.resource_state(ref, now)
    chain, asked = resource_state.open_chain, resource_state.approval_request
    gone = f"the {ref.noun} is gone: {why}"
    undo, wanted = resource_state.rollback, ""
    if undo is not None and undo.by_person:
        wanted = f"rollback asked for by {undo.who}, and not done: {gone}"
    if asked is not None and (chain is None or chain.decision_id != asked.decision_id):
        approved = asked.approved_at is not None
        said = [f"approved by {asked.approved_by}, and not done: {gone}"] if approved else []
        said += [wanted] if wanted and chain is None else []
        with suppress(IllegalStep):  # the tables may be backups of different days
            ports.ledger.append(
                asked.decision_id, Step.GONE, ref=ref, at=now, summary=gone, body={}, fencing=None,
                due_at=None, notify=Notify(text="; ".join(said)) if said else None,
            )  # fmt: skip
    lost = ""
    if chain is not None:
        try:
            ports.ledger.append(
                chain.decision_id, Step.GONE, ref=ref, at=now, summary=gone, body={},
                fencing=chain.fencing, due_at=None, notify=Notify(text=wanted) if wanted else None,
            )  # fmt: skip
        except IllegalStep:
            lost = chain.decision_id
    ports.state_store.forget(ref, at=now, another=why.another is not None, chain_lost=lost)
    if why.another is not None:
        why.another()


def observe(ports: Ports, view: StorageView, now: datetime, *, earlier_days: bool) -> Observation:
    """All that is read about a volume at one instant; every read ends before deciding starts.

    Every decision reads earlier days: they show how much is enough and which load recurs.
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
    """Count a modification that the ledger does not know; the owner's own one moves the price base.

    One that uses no slot any more still counts, however late it is observed. Without any prices, or without
    one that says what is left of an increase, it is left for a reconciliation that has them, and one that AWS may
    still refuse for one that sees its end: nothing else starts meanwhile. While a chain is open it may be ours.
    """
    change, enrolled = view.modification, resource_state.enrolment_usd is not None
    if change is None or resource_state.open_chain is not None:
        return resource_state
    landed = change.state is not ModificationState.FAILED
    if (
        change.state is ModificationState.MODIFYING
        and view.volume.configuration != change.target
        and enrolled
    ):
        return resource_state
    if landed and enrolled and not _says_what_is_left(prices, resource_state, change):
        return resource_state
    foreign = unknown_modification(resource_state, change, now)
    if foreign is None:
        return resource_state
    if not landed:
        foreign = replace(foreign, target=foreign.origin)  # it used a slot and changed nothing
    ports.state_store.save_modifications(
        view.volume.ref, [foreign], now=now, prices=prices if landed else None
    )
    return ports.state_store.resource_state(view.volume.ref, now)


def _says_what_is_left(
    prices: PriceTable | None, state: ResourceState, change: Modification
) -> bool:
    """Whether the increase that is in force after `change` can be worked out, if there was one."""
    if prices is None or not state.resource_increase_usd:
        return prices is not None
    try:
        prices.monthly(change.target)
    except PriceUnknown:
        return False
    return True


def _leaves_changed(state: ResourceState, view: StorageView) -> bool:
    """Whether Headroom's own changes may be in force of what it may not change any more, and nobody heard of it."""
    chosen, said = state.owner_configuration, LEFT_AS_CHANGED in state.escalated_causes
    if chosen is None or said:
        return False
    now = view.volume.configuration
    return has_less(now, chosen) or (state.resource_increase_usd > 0 and has_less(chosen, now))


def save_slow_effect(
    ports: Ports, seen: Observation, resource_state: ResourceState, now: datetime
) -> ResourceState:
    """Remember how long a raise had no effect, if none was seen to take as long."""
    minutes = int(effect_takes(seen, resource_state.modifications) / timedelta(minutes=1))
    if minutes <= resource_state.raises_take_minutes:
        return resource_state
    slow = SlowEffect(minutes=minutes, seen_at=now)
    ports.state_store.save_modifications(seen.volume.ref, [], now=now, slow_effect=slow)
    return replace(resource_state, raises_take_minutes=minutes)


def _prices(ports: Ports, region: str) -> PriceTable | None:
    try:
        return ports.prices.table(region)
    except PriceUnknown:
        return None
