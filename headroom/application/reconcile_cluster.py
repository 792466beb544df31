"""Reconciles one Aurora cluster: by days instead of minutes, otherwise like other storage."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from headroom.application import approvals
from headroom.application.chains import advance
from headroom.application.conclude import awaits_person, conclude
from headroom.application.rollback import undone
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
    with_members,
)
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
from headroom.domain.policy import Mode, Policy, PolicyUnreadable, discount_of, limits_for
from headroom.domain.resources import AuroraObservation, Observation, PriceUnknown
from headroom.domain.state import (
    ApprovalRequest,
    EventOutcome,
    LedTo,
    OpenChain,
    ResourceState,
    unknown_modification,
)
from headroom.domain.workload import cluster_demand
from headroom.ports import Clusters, Ports, ReadFailed, StorageView

DAILY = timedelta(hours=24)
"""How often a cluster is reconciled: fourteen days of I/O change once a day."""
SOON = timedelta(hours=1)
"""When to try again a change that is blocked for an unknown time. A nightly backup would otherwise
block it at every daily attempt."""
ACTED = timedelta(minutes=5)
"""The outcome moves a change on; after a crash, this does."""


def reconcile(
    ports: Ports, view: StorageView, now: datetime, *, trigger: str, must_record: bool = False
) -> Decision | EventOutcome:
    """Observe one cluster, decide and act; the decision, or why there was none to make.

    Raises ReadFailed when AWS did not answer.
    """
    ref, cluster, clusters = view.volume.ref, view.cluster, ports.clusters
    if cluster is None or clusters is None:
        raise ReadFailed(f"{ref.resource_id} was read without the metrics and prices of a cluster")
    resource_state, policy = ports.state_store.resource_state(ref, now), ports.policies.current()
    off = isinstance(policy, Policy) and limits_for(policy, view.volume).limits.mode is Mode.OFF
    if off and resource_state.open_chain is None and not awaits_person(resource_state):
        due_at = now + DAILY if resource_state.resource_increase_usd > 0 else None
        ports.state_store.reconciled(ref, at=now, due_at=due_at)
        return EventOutcome(led_to=LedTo.OFF)
    observed = AuroraObservation(at=now, cluster=cluster, activity=clusters.activity(cluster, now))
    if resource_state.open_chain is not None:
        if not _advance(ports, clusters, view, observed, resource_state.open_chain):
            chain_id = resource_state.open_chain.decision_id
            return EventOutcome(led_to=LedTo.CHANGE_OPEN, which=chain_id)
        resource_state = ports.state_store.resource_state(ref, now)
        if off and not awaits_person(resource_state):
            return EventOutcome(led_to=LedTo.OFF)
    cluster_input = gather_input(
        ports, clusters, view, observed, resource_state, policy=policy, trigger=trigger
    )
    return _decide(ports, clusters, cluster_input, must_record=must_record)


def gather_input(
    ports: Ports, clusters: Clusters, view: StorageView, observed: AuroraObservation,
    resource_state: ResourceState, *, policy: Policy | PolicyUnreadable, trigger: str,
) -> ClusterDecisionInput:  # fmt: skip
    """All inputs of a decision; records a change that somebody else made, and new whole days."""
    now, cluster = observed.at, observed.cluster
    resource_state = _record_external_change(ports, view, resource_state, now)
    if isinstance(policy, Policy) and policy.calendars:
        calendars = ports.calendars.seen(policy.calendars, now)
        resource_state = replace(resource_state, calendars=calendars)
    try:
        listed = clusters.prices(cluster.ref.region, cluster.engine)
        prices = listed.after_discount(discount_of(policy, view.volume))
    except PriceUnknown:
        prices = None
    days = cluster_demand(observed, slow_ms=1e9).days

    def seen(before: ClusterMemory) -> ClusterMemory:
        return with_members(with_days(before, days, cluster.mode), cluster.members, now)

    memory = clusters.memory(cluster.ref, seen)
    earlier = () if memory is None else memory.days
    members = () if memory is None else memory.members
    return ClusterDecisionInput(
        decision_input=DecisionInput(
            trigger=trigger, observation=_observation(view, observed),
            resource_state=resource_state, policy=policy, prices=None,
        ),
        observed=observed,
        prices=prices,
        earlier_days=tuple(day for day in earlier if day.mode is not cluster.mode),
        earlier_members=tuple(one for one in members if one.members != cluster.members),
        check=None if memory is None else check(memory.switch, observed, prices),
    )  # fmt: skip


def _decide(
    ports: Ports, clusters: Clusters, cluster_input: ClusterDecisionInput, *, must_record: bool
) -> Decision | EventOutcome:
    """Conclude a waiting approval or rollback, else decide by the bill; then record and act."""
    now, resource_state = cluster_input.observed.at, cluster_input.decision_input.resource_state
    decision: Decision | None = None
    if resource_state.approval_request is not None:
        settled = _settle(ports, cluster_input, resource_state.approval_request)
        if settled is True:
            request_id = resource_state.approval_request.decision_id
            return EventOutcome(led_to=LedTo.REQUEST_CONCLUDED, which=request_id)
        cluster_input = _refreshed(ports, cluster_input)
        resource_state = cluster_input.decision_input.resource_state
        decision = settled if isinstance(settled, Decision) else None
    if decision is None and resource_state.rollback is not None:
        change = undone(ports, resource_state.rollback)
        decision = decide_cluster_rollback(cluster_input, resource_state.rollback, change)
    if decision is None:
        decision = decide_cluster(cluster_input)
    checked = cluster_input.check is not None and resource_state.rollback is None
    recorded = conclude(
        ports, decision, resource_state, now, must_record=must_record or checked,
        due_at=next_reconcile_at(decision), noteworthy=_noteworthy(decision, resource_state),
    )  # fmt: skip
    if recorded and decision.cluster is not None and decision.cluster.check is not None:
        clusters.memory(decision.observation.volume.ref, _checked)
    return decision


def _noteworthy(decision: Decision, resource_state: ResourceState) -> bool:
    """Whether the owner should know of a decision not to act."""
    detail = decision.cluster
    if detail is None:
        return False
    news = decision.signature != resource_state.last_signature
    return detail.check is not None or bool(
        detail.owner_note and news and decision.effective.enrolled
    )


def _checked(memory: ClusterMemory) -> ClusterMemory:
    if memory.switch is None:
        return memory
    return replace(memory, switch=replace(memory.switch, checked=True))


def _settle(
    ports: Ports, cluster_input: ClusterDecisionInput, asked: ApprovalRequest
) -> Decision | bool:
    """What becomes of a request for approval: a rollback that somebody requested comes first."""
    ref, now = cluster_input.observed.cluster.ref, cluster_input.observed.at
    if cluster_input.decision_input.resource_state.rollback is not None:
        approvals.overtaken(ports, asked, ref, now, "a rollback is wanted instead")
        return False
    return approvals.settle(
        ports, cluster_input.decision_input, asked, now,
        judge=lambda _, decision, asked: revalidate_cluster(cluster_input, decision, asked),
    )  # fmt: skip


def _refreshed(ports: Ports, cluster_input: ClusterDecisionInput) -> ClusterDecisionInput:
    """The input after something was recorded about the cluster, with the calendars as read before."""
    before, observed = cluster_input.decision_input, cluster_input.observed
    resource_state = replace(
        ports.state_store.resource_state(observed.cluster.ref, observed.at),
        calendars=before.resource_state.calendars,
    )
    return replace(cluster_input, decision_input=replace(before, resource_state=resource_state))


def _observation(view: StorageView, observed: AuroraObservation) -> Observation:
    """The cluster as other storage is observed, without a volume's metrics."""
    return Observation(
        at=observed.at, volume=view.volume, modification=view.modification,
        activity=empty_activity(observed), history=None, instance=None, instance_activity=None,
    )  # fmt: skip


def _advance(
    ports: Ports, clusters: Clusters, view: StorageView, observed: AuroraObservation,
    chain: OpenChain,
) -> bool:  # fmt: skip
    """Advance an open chain; a change that landed is remembered with its forecast."""

    def assess(decision: Decision, plan: Plan, since: datetime) -> Verification:
        verification = assess_cluster(decision, plan, observed, since)
        if isinstance(verification, Relieved):
            switch = mode_switch_of(decision, since)
            clusters.memory(observed.cluster.ref, lambda memory: replace(memory, switch=switch))
        return verification

    return advance(ports, _observation(view, observed), chain, observed.at, check=assess)


def _record_external_change(
    ports: Ports, view: StorageView, resource_state: ResourceState, now: datetime
) -> ResourceState:
    """Count a change of mode that the ledger does not know, so that Headroom does not fight it.

    Headroom's own increase in force ends with it: the owner has chosen the mode.
    """
    shown, ref = view.modification, view.volume.ref
    external = None if shown is None else unknown_modification(resource_state, shown, now)
    if external is None:
        return resource_state
    ports.state_store.save_modifications(
        ref, [external], now=now, owner_price=resource_state.enrolment_usd
    )
    return ports.state_store.resource_state(ref, now)


def next_reconcile_at(decision: Decision) -> datetime:
    """When to reconcile next: once a day, or sooner if something is to be done or expires."""
    answer, at, resource_state = decision.answer, decision.at, decision.resource_state
    instants = [at + DAILY]
    if isinstance(answer, Act):
        instants.append(at + ACTED)
    elif isinstance(answer, Hold) and answer.until is not None:
        instants.append(max(answer.until, at + timedelta(minutes=1)))
    elif answer.reason is Reason.BLOCKED_TEMPORARILY and decision.effective.enrolled:
        instants.append(at + SOON)
    waits = (
        one.expires
        for one in (resource_state.approval_request, resource_state.rollback)
        if one is not None
    )
    instants += [max(until, at + timedelta(minutes=1)) for until in waits]
    return min(instants)
