"""Storage of databases for tests, in the words of the builders."""

from __future__ import annotations

from headroom.domain.resources import Configuration, Database, Deployment, Engine, VolumeType

STRIPED = (Engine.MYSQL, Engine.MARIADB, Engine.POSTGRESQL, Engine.DB2)


def database(
    engine: Engine = Engine.POSTGRESQL, deployment: Deployment = Deployment.SINGLE_AZ
) -> Database:
    return Database(engine=engine, deployment=deployment)


def rds(
    kind: VolumeType = VolumeType.GP3,
    size: int = 400,
    iops: int | None = None,
    mibps: int | None = None,
    *,
    engine: Engine = Engine.POSTGRESQL,
    deployment: Deployment = Deployment.SINGLE_AZ,
) -> Configuration:
    return Configuration(
        volume_type=kind,
        size_gib=size,
        iops=iops,
        throughput_mibps=mibps,
        database=database(engine, deployment),
    )
