"""Storage of databases among the products of AmazonRDS, at the catalogue's prices.

Each engine and deployment has products of its own under the same usage types; Aurora's storage and
I/O are sold for any engine. Source: AmazonRDS offer file (checked 2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

from headroom.domain.catalog.aurora import AURORA_PRICES, MILLION, AuroraPrices
from headroom.domain.catalog.rds import CATALOGUE_RDS_PRICES, RdsPrices
from headroom.domain.resources import Deployment, Engine, VolumeType
from headroom.localaws.prices.product import product

_ENGINES = {
    Engine.MYSQL: "MySQL", Engine.MARIADB: "MariaDB", Engine.POSTGRESQL: "PostgreSQL",
    Engine.ORACLE: "Oracle", Engine.SQL_SERVER: "SQL Server", Engine.DB2: "Db2",
}  # fmt: skip
_AURORA = ("Aurora MySQL", "Aurora PostgreSQL")
_DEPLOYMENTS = {
    Deployment.SINGLE_AZ: ("", "Single-AZ"),
    Deployment.MULTI_AZ: ("Multi-AZ-", "Multi-AZ"),
    Deployment.CLUSTER: ("Multi-AZCluster-", "Multi-AZ (readable standbys)"),
}
_STORAGE = {
    VolumeType.GP2: ("GP2-Storage", "General Purpose"),
    VolumeType.GP3: ("GP3-Storage", "General Purpose-GP3"),
    VolumeType.IO1: ("PIOPS-Storage", "Provisioned IOPS"),
    VolumeType.IO2: ("IO2-PIOPS-Storage", "Provisioned IOPS-IO2"),
}
_IOPS = {VolumeType.GP3: "GP3-PIOPS", VolumeType.IO1: "PIOPS", VolumeType.IO2: "IO2-PIOPS"}
_NOTHING = Decimal(0)


def products() -> Iterator[dict[str, Any]]:
    """Those of every Region of the catalogue."""
    for region, tables in CATALOGUE_RDS_PRICES.items():
        for prices in tables:
            yield from _of_engine(region, prices)
    for aurora in AURORA_PRICES.values():
        yield from _of_aurora(aurora)


def _of_engine(region: str, prices: RdsPrices) -> Iterator[dict[str, Any]]:
    prefix, option = _DEPLOYMENTS[prices.deployment]

    def one(
        family: str, usage: str, unit: str, usd: Decimal, *, volume: str = "", zone: str = ""
    ) -> dict[str, Any]:
        attributes = {"databaseEngine": _ENGINES[prices.engine], "deploymentOption": option}
        attributes |= {"volumeType": volume} if volume else {}
        return product(
            "AmazonRDS", region, prices.as_of, family, f"RDS:{prefix}{usage}", unit, usd,
            attributes=attributes, zone=zone,
        )  # fmt: skip

    for kind, usd in prices.gib.items():
        usage, volume = _STORAGE[kind]
        yield one("Database Storage", usage, "GB-Mo", usd, volume=volume)
        yield one("Database Storage", usage, "GB-Mo", usd * 2, volume=volume, zone="LZ1-")
    for kind, usd in prices.iops.items():
        yield one("Provisioned IOPS", _IOPS[kind], "IOPS-Mo", usd)
    if prices.gp3_mibps is not None:
        yield one("Provisioned Throughput", "GP3-Throughput", "MBPS-Mo", prices.gp3_mibps)


def _of_aurora(prices: AuroraPrices) -> Iterator[dict[str, Any]]:
    """Aurora's products, with Serverless v1 and a free preview, as in AWS's list."""
    as_of: date = prices.as_of

    def one(
        family: str, usage: str, unit: str, usd: Decimal, engine: str = "Any", **more: str
    ) -> dict[str, Any]:
        return product(
            "AmazonRDS", prices.region, as_of, family, usage, unit, usd,
            attributes={"databaseEngine": engine, **more},
        )  # fmt: skip

    storage = "Database Storage"
    yield one(storage, "Aurora:StorageUsage", "GB-Mo", prices.gib[0])
    yield one(storage, "Aurora:IO-OptimizedStorageUsage", "GB-Mo", prices.gib[1])
    preview = "Aurora:IO-OptimizedStorageUsage-LimitlessPreview"
    yield one(storage, preview, "GB-Mo", _NOTHING)
    yield one("System Operation", "Aurora:StorageIOUsage", "IOs", prices.million_ios / MILLION)
    for engine in _AURORA:
        for name, (standard, optimized) in prices.hour.items():
            for usage, usd, mode in (
                (f"InstanceUsage:{name}", standard, "EBS Only"),
                (f"InstanceUsageIOOptimized:{name}", optimized, "Aurora IO Optimization Mode"),
            ):
                yield one(
                    "Database Instance", usage, "Hrs", usd, engine, instanceType=name, storage=mode
                )
        if prices.acu_hour is not None:
            serverless = "ServerlessV2"
            yield one(serverless, "Aurora:ServerlessV2Usage", "ACU-Hr", prices.acu_hour[0], engine)
            yield one(
                serverless, "Aurora:ServerlessV2IOOptimizedUsage", "ACU-Hr", prices.acu_hour[1],
                engine,
            )  # fmt: skip
            yield one("Serverless", "Aurora:ServerlessUsage", "ACU-Hr", Decimal("0.06"), engine)
