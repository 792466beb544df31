"""One look at one Aurora cluster: days instead of minutes, and otherwise as any other look."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from headroom.application import approvals
from headroom.application.carrying import carry_out, somebody_waits
from headroom.application.chains import advance
from headroom.domain.answers import Act, Hold, Reason
from headroom.domain.aurora import AuroraCluster, AuroraObservation
from headroom.domain.aurora_bill import AuroraPrices
from headroom.domain.aurora_demand import demand
from headroom.domain.cluster_again import judge_cluster_again, undo_cluster
from headroom.domain.cluster_check import assess_cluster, check, switch_of
from headroom.domain.cluster_decision import ClusterEvidence, decide_cluster, no_activity
from headroom.domain.cluster_memory import ClusterMemory, with_days
from headroom.domain.decision import Decision
from headroom.domain.evidence import Evidence
from headroom.domain.limits import Mode
from headroom.domain.observation import Observation
from headroom.domain.plans import Plan
from headroom.domain.policy import Policy, PolicyUnreadable, limits_for
from headroom.domain.records import Step
from headroom.domain.requests import Asked
from headroom.domain.resources import PriceUnknown, ResourceRef
from headroom.domain.standing import KEPT, WINDOW, KnownModification, OpenChain, Standing
from headroom.domain.verification import Relieved, Verification
from headroom.ports import Ports
from headroom.ports.clusters import Clusters
from headroom.ports.storage import ReadFailed, StorageView

DAILY = timedelta(hours=24)
"""How often a cluster is looked at: what fourteen days say changes once a day."""
SOON = timedelta(hours=1)
"""When one is looked at again whose change waits for what nobody knows the end of: a nightly
backup would else stand in the way of every look."""
ACTED = timedelta(minutes=5)
"""Moved on by the outcome; a crash before it is found by this."""
SAME_START = timedelta(seconds=1)


def look_at(
    ports: Ports, view: StorageView, now: datetime, *, trigger: str, must_record: bool = False
) -> Decision | None:
    """Look at one cluster and do what is right; the decision, or None when there was none to make.

    Raises ReadFailed when AWS did not answer.
    """
    ref, cluster, beside = view.volume.ref, view.cluster, ports.clusters
    if cluster is None or beside is None:
        raise ReadFailed(f"{ref.resource_id} was seen without what its mode is decided by")
    standing, policy = ports.standings.standing(ref, now), ports.policies.current()
    off = isinstance(policy, Policy) and limits_for(policy, view.volume).limits.mode is Mode.OFF
    if off and standing.open_chain is None and not somebody_waits(standing):
        due_at = now + DAILY if standing.own_increase_usd > 0 else None
        ports.standings.looked(ref, at=now, due_at=due_at)
        return None
    seen = AuroraObservation(at=now, cluster=cluster, activity=beside.activity(cluster, now))
    observation = observed(view, seen)
    if standing.open_chain is not None:
        if not _advance(ports, beside, observation, seen, standing.open_chain):
            return None
        standing = ports.standings.standing(ref, now)
        if off and not somebody_waits(standing):
            return None
    found = evidence_of(ports, beside, view, seen, standing, policy=policy, trigger=trigger)
    return _decide(ports, beside, found, must_record=must_record)


def evidence_of(
    ports: Ports, beside: Clusters, view: StorageView, seen: AuroraObservation, standing: Standing,
    *, policy: Policy | PolicyUnreadable, trigger: str,
) -> ClusterEvidence:  # fmt: skip
    """All that a decision is made from; a change of somebody else and new days are noted."""
    now, cluster = seen.at, seen.cluster
    standing = _note_change(ports, view, standing, now)
    if isinstance(policy, Policy) and policy.calendars:
        standing = replace(standing, calendars=ports.calendars.seen(policy.calendars, now))
    prices = _prices(beside, cluster)
    memory = _noted(beside, view.volume.ref, seen)
    return ClusterEvidence(
        evidence=Evidence(
            trigger=trigger, observation=observed(view, seen), standing=standing, policy=policy,
            prices=None,
        ),
        seen=seen,
        prices=prices,
        noted=() if memory is None else tuple(d for d in memory.days if d.mode is not cluster.mode),
        check=None if memory is None else check(memory.switch, seen, prices),
    )  # fmt: skip


def _decide(
    ports: Ports, beside: Clusters, found: ClusterEvidence, *, must_record: bool
) -> Decision | None:
    """What becomes of a request or a wish, or else of what the bill says."""
    now, standing = found.seen.at, found.evidence.standing
    decision: Decision | None = None
    if standing.asking is not None:
        settled = _settle(ports, found, standing.asking)
        if settled is True:
            return None
        found = _anew(ports, found)
        standing = found.evidence.standing
        decision = settled if isinstance(settled, Decision) else None
    if decision is None and standing.rollback is not None:
        change = ports.ledger.decision(standing.rollback.decision_id)
        decision = undo_cluster(found, standing.rollback, change)
    if decision is None:
        decision = decide_cluster(found)
    checked = found.check is not None and standing.rollback is None
    _carry(ports, beside, decision, standing, now, must_record=must_record or checked)
    return decision


def _carry(
    ports: Ports, beside: Clusters, decision: Decision, standing: Standing, now: datetime, *,
    must_record: bool,
) -> None:  # fmt: skip
    """Record and act; then tell what the owner must hear of a decision not to act, once."""
    due_at = next_look(decision)
    if not carry_out(ports, decision, standing, now, must_record=must_record, due_at=due_at):
        return
    side, ref = decision.cluster, decision.observation.volume.ref
    if side is None:
        return
    news = decision.signature != standing.last_signature
    told = bool(side.told) and news and decision.effective.enrolled
    if isinstance(decision.answer, Hold) and (told or side.check is not None):
        ports.notifier.tell(decision, Step.DECIDED, decision.summary)
    if side.check is not None:
        beside.memory(ref, _checked)


def _checked(memory: ClusterMemory) -> ClusterMemory:
    if memory.switch is None:
        return memory
    return replace(memory, switch=replace(memory.switch, checked=True))


def _settle(ports: Ports, found: ClusterEvidence, asked: Asked) -> Decision | bool:
    """What becomes of a request: a rollback that somebody wants goes before it."""
    ref, now = found.seen.cluster.ref, found.seen.at
    if found.evidence.standing.rollback is not None:
        approvals.overtaken(ports, asked, ref, now, "a rollback is wanted instead")
        return False
    return approvals.settle(
        ports, found.evidence, asked, now,
        judge=lambda _, decision, asked: judge_cluster_again(found, decision, asked),
    )  # fmt: skip


def _anew(ports: Ports, found: ClusterEvidence) -> ClusterEvidence:
    """The evidence after something was recorded about the cluster, calendars as they were read."""
    standing = ports.standings.standing(found.seen.cluster.ref, found.seen.at)
    standing = replace(standing, calendars=found.evidence.standing.calendars)
    return replace(found, evidence=replace(found.evidence, standing=standing))


def observed(view: StorageView, seen: AuroraObservation) -> Observation:
    """The cluster as all storage is observed: what it is, without minutes of a volume."""
    return Observation(
        at=seen.at, volume=view.volume, modification=view.modification,
        activity=no_activity(seen), history=None, instance=None, instance_activity=None,
    )  # fmt: skip


def _advance(
    ports: Ports, beside: Clusters, observation: Observation, seen: AuroraObservation,
    chain: OpenChain,
) -> bool:  # fmt: skip
    """Move an open chain on; a change that landed is remembered with its forecast."""

    def became(decision: Decision, plan: Plan, since: datetime) -> Verification:
        found = assess_cluster(decision, plan, seen, since)
        if isinstance(found, Relieved):
            switch = switch_of(decision, since)
            beside.memory(seen.cluster.ref, lambda memory: replace(memory, switch=switch))
        return found

    return advance(ports, observation, chain, seen.at, check=became)


def _note_change(ports: Ports, view: StorageView, standing: Standing, now: datetime) -> Standing:
    """Count a change of mode nobody told the ledger of, so that nobody is fought.

    What is in force of our own ends with it: the mode is the owner's choice from then on.
    """
    change, ref = view.modification, view.volume.ref
    enrolled = standing.enrolment_usd is not None
    if change is None or change.started_at <= now - (KEPT if enrolled else WINDOW):
        return standing
    if any(abs(change.started_at - m.started_at) <= SAME_START for m in standing.modifications):
        return standing
    theirs = KnownModification(
        started_at=change.started_at, by="other", origin=change.origin, target=change.target
    )
    ports.standings.saw_modifications(ref, [theirs], now=now, owner_price=standing.enrolment_usd)
    return ports.standings.standing(ref, now)


def _noted(beside: Clusters, ref: ResourceRef, seen: AuroraObservation) -> ClusterMemory | None:
    """What is remembered of the cluster, with the days that are published of it now."""
    days = demand(seen, slow_ms=1e9).days
    return beside.memory(ref, lambda memory: with_days(memory, days, seen.cluster.mode))


def _prices(beside: Clusters, cluster: AuroraCluster) -> AuroraPrices | None:
    try:
        return beside.prices(cluster.ref.region, cluster.engine)
    except PriceUnknown:
        return None


def next_look(decision: Decision) -> datetime:
    """When the sweep looks again: once a day, or sooner where something is to be done or answered."""
    answer, at, standing = decision.answer, decision.at, decision.standing
    found = [at + DAILY]
    if isinstance(answer, Act):
        found.append(at + ACTED)
    elif isinstance(answer, Hold) and answer.until is not None:
        found.append(max(answer.until, at + timedelta(minutes=1)))
    elif answer.reason is Reason.BLOCKED_FOR_NOW and decision.effective.enrolled:
        found.append(at + SOON)
    waits = (one.expires for one in (standing.asking, standing.rollback) if one is not None)
    found += [max(until, at + timedelta(minutes=1)) for until in waits]
    return min(found)
