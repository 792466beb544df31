"""How metrics name databases and Aurora clusters: by their DB instances, the writer's first."""

from __future__ import annotations

from headroom.domain.resources import PRIMARY_VOLUME
from headroom.localaws.rds import DatabaseStore, DbCluster
from headroom.proving.metrics import AuroraMembers, DbMember


def members_of(store: DatabaseStore, name: str) -> list[DbMember]:
    """The DB instances that a database's metrics are published of."""
    database, held = store.database(name), store.instance_class(name)
    names = database.members if isinstance(database, DbCluster) else [database.name]
    volume = ""
    if not isinstance(database, DbCluster) and database.additional:
        volume = name.partition("/")[2] or PRIMARY_VOLUME
    return [
        DbMember(identifier=each, instance_class=held, engine=database.engine, volume_name=volume)
        for each in names
    ]


def aurora_members(store: DatabaseStore, cluster: DbCluster) -> AuroraMembers:
    """An Aurora cluster with its members."""
    members = [
        DbMember(identifier=name, instance_class=store.instance_class(name), engine=cluster.engine)
        for name in cluster.members
    ]
    return AuroraMembers(cluster=cluster.name, engine=cluster.engine, members=members)
