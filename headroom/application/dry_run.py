"""What one reconciliation would decide now: the same reads and the same decision, and nothing is written.

Its storage cannot be changed and its ledger cannot be written, whatever it is given: what a
reconciliation would store is kept here and dropped with the result. The caller drops what the
storage itself remembers of a database (cli/sources/storage.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any, NoReturn, TypeVar, cast

from headroom.application import groups, rollback
from headroom.application import reconcile_cluster as clusters
from headroom.application.profile import with_profile
from headroom.application.reconcile import observe, save_observed_modifications
from headroom.domain.aurora import decide_cluster, decide_cluster_rollback
from headroom.domain.catalog import PriceTable
from headroom.domain.decision import Decision, DecisionInput
from headroom.domain.policy import Mode, Policy, PolicyUnreadable, owner_prices
from headroom.domain.resources import AuroraObservation, Kind, PriceUnknown, ResourceRef
from headroom.domain.state import (
    KnownModification,
    LoadProfile,
    ResourceState,
    SlowEffect,
    StoredState,
    after_modifications,
    at_present_prices,
    micro_usd,
    recent_modifications,
)
from headroom.ports import Archive, Ledger, Ports, ReadFailed, StateStore, Storage, StorageView

T = TypeVar("T")


class ReadOnlyViolation(RuntimeError):
    """A dry run was about to write: a mistake of ours, and nothing was written."""


def _refuse(what: str, *_: object, **__: object) -> NoReturn:
    raise ReadOnlyViolation(f"a dry run never calls {what}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunResult:
    """What a reconciliation would decide, and what it would do before it came to that."""

    decision: Decision
    remarks: tuple[str, ...]


def decide_dry_run(ports: Ports, ref: ResourceRef, now: datetime) -> DryRunResult:
    """What a reconciliation of `ref` would decide at `now`.

    Raises ResourceGone, ReadFailed, and LookupError when a rollback waits of what is not known.
    """
    ports = _dry(ports)
    view = ports.storage.view(ref)
    if view.volume.ref.kind is Kind.AURORA:
        return _of_cluster(ports, view, ports.policies.current(), now)
    read = _reader(ports, ref, now)
    decision_input = read(view)
    resource_state = decision_input.resource_state
    if resource_state.rollback is not None:
        decision = rollback.consider(ports, decision_input, resource_state.rollback)
    else:
        decision = groups.consider(ports, decision_input, read).primary
    return DryRunResult(decision=decision, remarks=tuple(_remarks(decision)))


def input_dry_run(ports: Ports, ref: ResourceRef, now: datetime) -> DecisionInput:
    """What a decision about a volume or a database would start from at `now`.

    Raises ResourceGone, ReadFailed.
    """
    ports = _dry(ports)
    return _reader(ports, ref, now)(ports.storage.view(ref))


def _reader(
    ports: Ports, ref: ResourceRef, now: datetime
) -> Callable[[StorageView], DecisionInput]:
    """Reads the input of a decision about each volume in the place of `ref`."""
    policy = ports.policies.current()
    try:
        listed = ports.prices.table(ref.region)
    except PriceUnknown:
        listed = None

    def read(each: StorageView) -> DecisionInput:
        known = ports.state_store.resource_state(each.volume.ref, now)
        prices = owner_prices(policy, each.volume, listed)
        known = save_observed_modifications(ports, each, known, prices, now)
        if isinstance(policy, Policy) and policy.calendars:
            known = replace(known, calendars=ports.calendars.seen(policy.calendars, now))
        seen = observe(ports, each, now, earlier_days=True)
        return DecisionInput(
            trigger="person",
            observation=seen,
            resource_state=with_profile(ports, each, seen, at_present_prices(known, prices)),
            policy=policy,
            prices=prices,
        )

    return read


def _of_cluster(
    ports: Ports, view: StorageView, policy: Policy | PolicyUnreadable, now: datetime
) -> DryRunResult:
    """What a reconciliation of an Aurora cluster would decide: its mode, by days and both bills."""
    ref, cluster, beside = view.volume.ref, view.cluster, ports.clusters
    if cluster is None or beside is None:
        raise ReadFailed(f"{ref.resource_id} was read without the metrics and prices of a cluster")
    seen = AuroraObservation(at=now, cluster=cluster, activity=beside.activity(cluster, now))
    resource_state = ports.state_store.resource_state(ref, now)
    found = clusters.gather_input(
        ports, beside, view, seen, resource_state, policy=policy, trigger="person"
    )
    waits = found.decision_input.resource_state.rollback
    if waits is not None:
        decision = decide_cluster_rollback(found, waits, rollback.undone(ports, waits))
    else:
        decision = decide_cluster(found)
    return DryRunResult(decision=decision, remarks=tuple(_remarks(decision)))


def _remarks(decision: Decision) -> Iterator[str]:
    resource_state = decision.resource_state
    chain, approval_request = resource_state.open_chain, resource_state.approval_request
    if decision.effective.limits.mode is Mode.OFF:
        yield "its mode is off: it is not reconciled, and none of this would be decided"
    if chain is not None:
        yield (
            f"a change of ours is not over ({chain.decision_id}, {chain.phase}): a reconciliation continues "
            "with that one first"
        )
    if approval_request is not None:
        yield f"a request waits for a person ({approval_request.decision_id}): a reconciliation settles that one first"
    if resource_state.rollback is not None:
        yield f"a rollback of {resource_state.rollback.decision_id} waits, and goes before anything else"


def _dry(ports: Ports) -> Ports:
    return replace(
        ports,
        storage=_read_only(ports.storage, Storage.fleet, Storage.view, Storage.attached),
        state_store=cast(StateStore, _Overlaid(ports.state_store)),
        ledger=_read_only(ports.ledger, Ledger.chain, Ledger.decision),
        scan=_read_only(ports.scan),
        archive=_read_only(
            ports.archive,
            Archive.by_resource,
            Archive.by_time,
            Archive.by_outcome,
            Archive.event_records,
        ),
    )


def _read_only(port: T, *reads: Callable[..., object]) -> T:
    """`port` with the methods `reads` only: calling any other raises ReadOnlyViolation."""
    return cast(T, _ReadOnly(port, *reads))


class _ReadOnly:
    def __init__(self, port: object, *reads: Callable[..., object]) -> None:
        self._port, self._reads = port, frozenset(read.__name__ for read in reads)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name) if name in self._reads else partial(_refuse, name)


class _Overlaid(_ReadOnly):
    """States that are only read; modifications seen here are known until the decision is made."""

    def __init__(self, state_store: StateStore) -> None:
        super().__init__(
            state_store,
            StateStore.concurrency,
            StateStore.queue,
            StateStore.due,
            StateStore.profile,
        )
        self._standings = state_store
        self._seen: dict[ResourceRef, ResourceState] = {}

    def resource_state(self, ref: ResourceRef, now: datetime) -> ResourceState:
        return self._seen.get(ref) or self._standings.resource_state(ref, now)

    def save_profile(self, ref: ResourceRef, profile: LoadProfile) -> None:
        """Nothing: the function saves it when it reconciles."""

    def save_modifications(
        self,
        ref: ResourceRef,
        seen: Sequence[KnownModification],
        *,
        now: datetime,
        full_until: datetime | None = None,
        owner_price: Decimal | None = None,
        prices: PriceTable | None = None,
        slow_effect: SlowEffect | None = None,
    ) -> None:
        before = self.resource_state(ref, now)
        earlier = () if before.earlier_modification is None else (before.earlier_modification,)
        state = StoredState(
            modifications=(*earlier, *before.modifications), enrolment_usd=before.enrolment_usd,
            owner_configuration=before.owner_configuration, last_act_at=before.last_act_at,
            in_force_micro_usd=micro_usd(before.resource_increase_usd),
        )  # fmt: skip
        known = after_modifications(state, seen, now=now, full_until=None, prices=prices)
        modifications, last = recent_modifications(known.modifications, now)
        found = replace(
            before, modifications=modifications, earlier_modification=last,
            enrolment_usd=known.enrolment_usd, owner_configuration=known.owner_configuration,
            slots_full_until=full_until or before.slots_full_until,
        )  # fmt: skip
        if owner_price is not None:  # the increase in force is the owner's own now
            found = replace(
                found, enrolment_usd=owner_price, resource_increase_usd=Decimal(0),
                account_increase_usd=before.account_increase_usd - before.resource_increase_usd,
            )  # fmt: skip
        self._seen[ref] = found


__all__ = ["DryRunResult", "ReadOnlyViolation", "decide_dry_run", "input_dry_run"]
