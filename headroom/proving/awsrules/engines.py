"""Engines by the names that CreateDBInstance and CreateDBCluster take."""

from __future__ import annotations

from headroom.domain.resources import Engine

AURORA_ENGINES = ("aurora-mysql", "aurora-postgresql")
OTHER_ENGINES = ("neptune", "docdb")
"""Engines of other services that RDS's calls also list."""
EDITIONS = {
    "oracle": ("ee", "ee-cdb", "se2", "se2-cdb"),
    "sqlserver": ("ee", "se", "ex", "web"),
    "db2": ("se", "ae"),
}
ENGINE_VERSIONS = {
    "mysql": "8.4.6", "mariadb": "11.4.8", "postgres": "17.6", "oracle": "19.0.0.0.ru-2026-07",
    "sqlserver": "16.00.4215.2.v1", "db2": "11.5.9.0", "aurora-mysql": "8.0.mysql_aurora.3.10.1",
    "aurora-postgresql": "17.6", "neptune": "1.4.6.0", "docdb": "5.0.0",
}  # fmt: skip
"""The default version of each engine."""
ENGINE_PORTS = {
    "mysql": 3306, "mariadb": 3306, "postgres": 5432, "oracle": 1521, "sqlserver": 1433,
    "db2": 50000, "aurora-mysql": 3306, "aurora-postgresql": 5432, "neptune": 8182, "docdb": 27017,
}  # fmt: skip


def engine_family(name: str) -> str:
    """`oracle` of `oracle-ee`; other names are their own family."""
    head, _, edition = name.partition("-")
    return head if edition in EDITIONS.get(head, ()) else name


def engine_of(name: str) -> Engine | None:
    """The engine whose storage RDS sets; None for any other name."""
    found = engine_family(name)
    return Engine(found) if found in set(Engine) and (found == name or "-" in name) else None
