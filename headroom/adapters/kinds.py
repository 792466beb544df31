"""Every kind of storage and its adapters: a new kind is a folder in adapters and an entry here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from headroom.adapters.aurora import AuroraClusterStorage
from headroom.adapters.cloudwatch import (
    CloudWatchAuroraMetrics,
    CloudWatchMetrics,
    CloudWatchRdsMetrics,
)
from headroom.adapters.dispatch import KindMetrics, MetricsByKind, StorageByKind
from headroom.adapters.ebs import EbsFleet
from headroom.adapters.fleet import AwsFleet
from headroom.adapters.prices import AuroraPriceBook
from headroom.adapters.rds import RdsStorage
from headroom.domain.resources import Kind
from headroom.ports import Clusters, FleetReads, Metrics, Notes, Storage


class Clients(Protocol):
    """Clients of AWS services by name, each made once."""

    def reads(self, service: str) -> Any:
        """For calls that may be repeated."""

    def once(self, service: str) -> Any:
        """For a change of storage: one attempt only, a second one could use a second slot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What the adapters of a kind are made from."""

    clients: Clients
    account_id: str
    region: str
    notes: Notes
    clock: Callable[[], datetime]
    glance: timedelta
    """How far back a fleet scan reads."""
    disks: bool = False
    """Whether free space of volumes is read where an agent publishes it."""
    aurora_prices: AuroraPriceBook | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KindAdapters:
    """The adapters of one kind of storage; `clusters` only where a kind has clusters."""

    storage: Storage
    metrics: KindMetrics
    clusters: Clusters | None = None


def _volumes(env: Environment) -> EbsFleet:
    return EbsFleet(
        env.clients.reads("ec2"), modify_client=env.clients.once("ec2"),
        account_id=env.account_id, region=env.region,
    )  # fmt: skip


def _volume_metrics(env: Environment) -> CloudWatchMetrics:
    return CloudWatchMetrics(
        env.clients.reads("cloudwatch"), account_id=env.account_id, region=env.region,
        glance=env.glance, disks=env.disks,
    )  # fmt: skip


def _rds(env: Environment) -> KindAdapters:
    return KindAdapters(
        storage=RdsStorage(
            env.clients.reads("rds"), env.clients.reads("ec2"),
            modify_client=env.clients.once("rds"), notes=env.notes, clock=env.clock,
            account_id=env.account_id, region=env.region,
        ),
        metrics=CloudWatchRdsMetrics(env.clients.reads("cloudwatch"), glance=env.glance),
    )  # fmt: skip


def _aurora(env: Environment) -> KindAdapters:
    if env.aurora_prices is None:
        raise ValueError("Aurora clusters need a price book")
    metrics = CloudWatchAuroraMetrics(env.clients.reads("cloudwatch"))
    clusters = AuroraClusterStorage(
        env.clients.reads("rds"), modify_client=env.clients.once("rds"), metrics=metrics,
        prices=env.aurora_prices, notes=env.notes, clock=env.clock,
        account_id=env.account_id, region=env.region,
    )  # fmt: skip
    return KindAdapters(storage=clusters, metrics=metrics, clusters=clusters)


KINDS: Mapping[Kind, Callable[[Environment], KindAdapters]] = {Kind.RDS: _rds, Kind.AURORA: _aurora}


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapters:
    """The adapters of all kinds of storage together."""

    storage: Storage
    metrics: Metrics
    clusters: Clusters | None
    fleet: FleetReads


def adapters_of(kinds: Collection[Kind], env: Environment) -> Adapters:
    """The adapters of all `kinds`, which include EBS."""
    volumes, volume_metrics = _volumes(env), _volume_metrics(env)
    made = {kind: make(env) for kind, make in KINDS.items() if kind in kinds}
    others = {kind: one.storage for kind, one in made.items()}
    fleet = AwsFleet(volumes, volume_metrics, others)
    if not made:
        return Adapters(storage=volumes, metrics=volume_metrics, clusters=None, fleet=fleet)
    return Adapters(
        storage=StorageByKind({Kind.EBS: volumes, **others}),
        metrics=MetricsByKind(volume_metrics, {kind: one.metrics for kind, one in made.items()}),
        clusters=next((one.clusters for one in made.values() if one.clusters is not None), None),
        fleet=fleet,
    )
