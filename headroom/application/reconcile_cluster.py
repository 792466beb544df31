"""One look at one Aurora cluster: days instead of minutes, and otherwise as any other look."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from headroom.application import approvals
from headroom.application.chains import advance
from headroom.application.conclude import awaits_person, conclude
from headroom.domain.aurora import (
    ClusterDecisionInput,
    ClusterMemory,
    assess_cluster,
    check,
    decide_cluster,
    decide_cluster_rollback,
    empty_activity,
    mode_switch_of,
    revalidate_cluster,
    with_days,
)
from headroom.domain.catalog.aurora import AuroraPrices
from headroom.domain.decision import (
    Act,
    Decision,
    DecisionInput,
    Hold,
    Reason,
    Relieved,
    Verification,
)
from headroom.domain.planning import Plan
from headroom.domain.policy import Mode, Policy, PolicyUnreadable, limits_for
from headroom.domain.resources import (
    AuroraCluster,
    AuroraObservation,
    Observation,
    PriceUnknown,
    ResourceRef,
)
from headroom.domain.state import (
    MODIFICATION_RETENTION,
    WINDOW,
    ApprovalRequest,
    KnownModification,
    OpenChain,
    ResourceState,
    Step,
)
from headroom.domain.workload import cluster_demand
from headroom.ports import Clusters, Ports, ReadFailed, StorageView

DAILY = timedelta(hours=24)
"""How often a cluster is looked at: what fourteen days say changes once a day."""
SOON = timedelta(hours=1)
"""When one is looked at again whose change waits for what nobody knows the end of: a nightly
backup would else stand in the way of every look."""
ACTED = timedelta(minutes=5)
"""Moved on by the outcome; a crash before it is found by this."""
SAME_START_TOLERANCE = timedelta(seconds=1)


def look_at(
    ports: Ports, view: StorageView, now: datetime, *, trigger: str, must_record: bool = False
) -> Decision | None:
    """Look at one cluster and do what is right; the decision, or None when there was none to make.

    Raises ReadFailed when AWS did not answer.
    """
    ref, cluster, beside = view.volume.ref, view.cluster, ports.clusters
    if cluster is None or beside is None:
        raise ReadFailed(f"{ref.resource_id} was seen without what its mode is decided by")
    resource_state, policy = ports.state_store.resource_state(ref, now), ports.policies.current()
    off = isinstance(policy, Policy) and limits_for(policy, view.volume).limits.mode is Mode.OFF
    if off and resource_state.open_chain is None and not awaits_person(resource_state):
        due_at = now + DAILY if resource_state.resource_increase_usd > 0 else None
        ports.state_store.reconciled(ref, at=now, due_at=due_at)
        return None
    seen = AuroraObservation(at=now, cluster=cluster, activity=beside.activity(cluster, now))
    observation = observed(view, seen)
    if resource_state.open_chain is not None:
        if not _advance(ports, beside, observation, seen, resource_state.open_chain):
            return None
        resource_state = ports.state_store.resource_state(ref, now)
        if off and not awaits_person(resource_state):
            return None
    found = evidence_of(ports, beside, view, seen, resource_state, policy=policy, trigger=trigger)
    return _decide(ports, beside, found, must_record=must_record)


def evidence_of(
    ports: Ports, beside: Clusters, view: StorageView, seen: AuroraObservation, resource_state: ResourceState,
    *, policy: Policy | PolicyUnreadable, trigger: str,
) -> ClusterDecisionInput:  # fmt: skip
    """All that a decision is made from; a change of somebody else and new days are noted."""
    now, cluster = seen.at, seen.cluster
    resource_state = _note_change(ports, view, resource_state, now)
    if isinstance(policy, Policy) and policy.calendars:
        resource_state = replace(
            resource_state, calendars=ports.calendars.seen(policy.calendars, now)
        )
    prices = _prices(beside, cluster)
    memory = _noted(beside, view.volume.ref, seen)
    return ClusterDecisionInput(
        decision_input=DecisionInput(
            trigger=trigger, observation=observed(view, seen), resource_state=resource_state, policy=policy,
            prices=None,
        ),
        seen=seen,
        prices=prices,
        noted=() if memory is None else tuple(d for d in memory.days if d.mode is not cluster.mode),
        check=None if memory is None else check(memory.switch, seen, prices),
    )  # fmt: skip


def _decide(
    ports: Ports, beside: Clusters, found: ClusterDecisionInput, *, must_record: bool
) -> Decision | None:
    """What becomes of a request or a wish, or else of what the bill says."""
    now, resource_state = found.seen.at, found.decision_input.resource_state
    decision: Decision | None = None
    if resource_state.approval_request is not None:
        settled = _settle(ports, found, resource_state.approval_request)
        if settled is True:
            return None
        found = _decide_again(ports, found)
        resource_state = found.decision_input.resource_state
        decision = settled if isinstance(settled, Decision) else None
    if decision is None and resource_state.rollback is not None:
        change = ports.ledger.decision(resource_state.rollback.decision_id)
        decision = decide_cluster_rollback(found, resource_state.rollback, change)
    if decision is None:
        decision = decide_cluster(found)
    checked = found.check is not None and resource_state.rollback is None
    _carry(ports, beside, decision, resource_state, now, must_record=must_record or checked)
    return decision


def _carry(
    ports: Ports, beside: Clusters, decision: Decision, resource_state: ResourceState, now: datetime, *,
    must_record: bool,
) -> None:  # fmt: skip
    """Record and act; then tell what the owner must hear of a decision not to act, once."""
    due_at = next_reconcile_at(decision)
    if not conclude(ports, decision, resource_state, now, must_record=must_record, due_at=due_at):
        return
    side, ref = decision.cluster, decision.observation.volume.ref
    if side is None:
        return
    news = decision.signature != resource_state.last_signature
    told = bool(side.told) and news and decision.effective.enrolled
    if isinstance(decision.answer, Hold) and (told or side.check is not None):
        ports.notifier.tell(decision, Step.DECIDED, decision.summary)
    if side.check is not None:
        beside.memory(ref, _checked)


def _checked(memory: ClusterMemory) -> ClusterMemory:
    if memory.switch is None:
        return memory
    return replace(memory, switch=replace(memory.switch, checked=True))


def _settle(ports: Ports, found: ClusterDecisionInput, asked: ApprovalRequest) -> Decision | bool:
    """What becomes of a request: a rollback that somebody wants goes before it."""
    ref, now = found.seen.cluster.ref, found.seen.at
    if found.decision_input.resource_state.rollback is not None:
        approvals.overtaken(ports, asked, ref, now, "a rollback is wanted instead")
        return False
    return approvals.settle(
        ports, found.decision_input, asked, now,
        judge=lambda _, decision, asked: revalidate_cluster(found, decision, asked),
    )  # fmt: skip


def _decide_again(ports: Ports, found: ClusterDecisionInput) -> ClusterDecisionInput:
    """The evidence after something was recorded about the cluster, calendars as they were read."""
    resource_state = ports.state_store.resource_state(found.seen.cluster.ref, found.seen.at)
    resource_state = replace(
        resource_state, calendars=found.decision_input.resource_state.calendars
    )
    return replace(
        found, decision_input=replace(found.decision_input, resource_state=resource_state)
    )


def observed(view: StorageView, seen: AuroraObservation) -> Observation:
    """The cluster as all storage is observed: what it is, without minutes of a volume."""
    return Observation(
        at=seen.at, volume=view.volume, modification=view.modification,
        activity=empty_activity(seen), history=None, instance=None, instance_activity=None,
    )  # fmt: skip


def _advance(
    ports: Ports, beside: Clusters, observation: Observation, seen: AuroraObservation,
    chain: OpenChain,
) -> bool:  # fmt: skip
    """Move an open chain on; a change that landed is remembered with its forecast."""

    def became(decision: Decision, plan: Plan, since: datetime) -> Verification:
        found = assess_cluster(decision, plan, seen, since)
        if isinstance(found, Relieved):
            switch = mode_switch_of(decision, since)
            beside.memory(seen.cluster.ref, lambda memory: replace(memory, switch=switch))
        return found

    return advance(ports, observation, chain, seen.at, check=became)


def _note_change(
    ports: Ports, view: StorageView, resource_state: ResourceState, now: datetime
) -> ResourceState:
    """Count a change of mode nobody told the ledger of, so that nobody is fought.

    What is in force of our own ends with it: the mode is the owner's choice from then on.
    """
    change, ref = view.modification, view.volume.ref
    enrolled = resource_state.enrolment_usd is not None
    if change is None or change.started_at <= now - (
        MODIFICATION_RETENTION if enrolled else WINDOW
    ):
        return resource_state
    if any(
        abs(change.started_at - m.started_at) <= SAME_START_TOLERANCE
        for m in resource_state.modifications
    ):
        return resource_state
    theirs = KnownModification(
        started_at=change.started_at, by="other", origin=change.origin, target=change.target
    )
    ports.state_store.save_modifications(
        ref, [theirs], now=now, owner_price=resource_state.enrolment_usd
    )
    return ports.state_store.resource_state(ref, now)


def _noted(beside: Clusters, ref: ResourceRef, seen: AuroraObservation) -> ClusterMemory | None:
    """What is remembered of the cluster, with the days that are published of it now."""
    days = cluster_demand(seen, slow_ms=1e9).days
    return beside.memory(ref, lambda memory: with_days(memory, days, seen.cluster.mode))


def _prices(beside: Clusters, cluster: AuroraCluster) -> AuroraPrices | None:
    try:
        return beside.prices(cluster.ref.region, cluster.engine)
    except PriceUnknown:
        return None


def next_reconcile_at(decision: Decision) -> datetime:
    """When the sweep looks again: once a day, or sooner where something is to be done or answered."""
    answer, at, resource_state = decision.answer, decision.at, decision.resource_state
    found = [at + DAILY]
    if isinstance(answer, Act):
        found.append(at + ACTED)
    elif isinstance(answer, Hold) and answer.until is not None:
        found.append(max(answer.until, at + timedelta(minutes=1)))
    elif answer.reason is Reason.BLOCKED_TEMPORARILY and decision.effective.enrolled:
        found.append(at + SOON)
    waits = (
        one.expires
        for one in (resource_state.approval_request, resource_state.rollback)
        if one is not None
    )
    found += [max(until, at + timedelta(minutes=1)) for until in waits]
    return min(found)
