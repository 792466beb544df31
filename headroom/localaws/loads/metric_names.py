"""How metrics name databases and Aurora clusters: by their DB instances, the writer's first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from headroom.domain.resources import StorageMode
from headroom.localaws.rds import database_store
from headroom.localaws.state import AccountRegion, Cloud
from headroom.proving.metrics import AuroraMembers, DbMember


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMembers:
    """An Aurora cluster as its metrics name it, its mode, and when I/O-Optimized opens again."""

    named: AuroraMembers
    mode: StorageMode
    opens: datetime | None


def members_of(cloud: Cloud, account_region: AccountRegion, name: str) -> list[DbMember]:
    """The DB instances that a database's metrics are published of."""
    book = database_store(cloud, account_region)
    engine = book.engine(name)
    held = book.instance_class(name)
    return [
        DbMember(identifier=one, instance_class=held, engine=engine) for one in book.members(name)
    ]


def cluster_of(cloud: Cloud, account_region: AccountRegion, name: str) -> ClusterMembers:
    """An Aurora cluster with its members."""
    book = database_store(cloud, account_region)
    found = book.aurora(name)
    members = [
        DbMember(identifier=each.name, instance_class=each.instance_class, engine=found.engine)
        for each in found.members
    ]
    return ClusterMembers(
        named=AuroraMembers(cluster=name, engine=found.engine, members=members),
        mode=found.mode,
        opens=found.next_allowed_at,
    )
