"""RDS's answers about Aurora clusters, their members and reservations, as the domain's nouns.

Shapes: RDS API 2014-10-31 (botocore 1.44): elements of DescribeDBClusters, DescribeDBInstances and
DescribeReservedDBInstances. The first two also list Neptune, DocumentDB and Multi-AZ DB clusters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from math import inf
from typing import Any

from headroom.domain.resources import (
    GATE,
    SERVERLESS,
    AuroraCluster,
    Kind,
    Member,
    ResourceRef,
    StorageMode,
    family,
    units,
)

Shape = Mapping[str, Any]
"""An element of a response."""

ENGINES = ("aurora-postgresql", "aurora-mysql")
_RESERVED_FOR = {"aurora-postgresql": "aurora postgresql", "aurora-mysql": "aurora mysql"}
"""ProductDescription of a reservation; `aurora` alone is MySQL's older name."""
_OLDER = {"aurora-mysql": "aurora"}
UPLIFT = 1.3
"""Units that an instance in I/O-Optimized uses of a reservation, in times of those in Standard."""


def ours(shape: Shape) -> bool:
    """Whether the cluster is one whose storage mode may be chosen.

    Not Neptune, DocumentDB or a Multi-AZ DB cluster; not Serverless v1 or Limitless, which are billed
    and changed by rules of their own.
    """
    provisioned = shape.get("EngineMode", "provisioned") == "provisioned"
    limitless = shape.get("ClusterScalabilityType") == "limitless"
    return shape.get("Engine") in ENGINES and provisioned and not limitless


def cluster(
    shape: Shape,
    instances: Iterable[Shape],
    *,
    account_id: str,
    region: str,
    reserved: tuple[Member, ...] | None,
    parallel_query: bool | None,
    first_seen_in_mode: datetime | None,
    named_at: datetime | None = None,
) -> AuroraCluster:
    """A cluster with its members; `instances` may be all of the account's.

    `first_seen_in_mode` is since when it was seen in its present mode, from notes of our own: AWS keeps no
    history, and reports only the gate. `named_at` is when it was seen to have taken another's name. Raises ValueError or KeyError for what is not understood, and
    for a member whose instance is not among those given.
    """
    found = {one["DBInstanceIdentifier"]: one for one in instances}
    names = [one["DBInstanceIdentifier"] for one in shape["DBClusterMembers"]]
    missing = [name for name in names if name not in found]
    if missing:
        raise ValueError(f"no instance was listed for member {', '.join(missing)}")
    mode = StorageMode(shape.get("StorageType") or StorageMode.STANDARD)
    opens = _instant(shape.get("IOOptimizedNextAllowedModificationTime"))
    pending = (shape.get("PendingModifiedValues") or {}).get("StorageType")
    return AuroraCluster(
        ref=ResourceRef(
            kind=Kind.AURORA, account_id=account_id, region=region,
            resource_id=shape["DBClusterIdentifier"],
        ),
        engine=shape["Engine"],
        engine_version=shape["EngineVersion"],
        status=status_of(shape, [found[name] for name in names]),
        mode=mode,
        mode_since=_since(mode, opens, first_seen_in_mode),
        pending_storage_mode=None if pending is None else StorageMode(pending),
        next_allowed_at=opens,
        members=members_of(shape, found.values()),
        reserved=reserved,
        parallel_query=parallel_query,
        tags=tuple(sorted((t["Key"], t.get("Value", "")) for t in shape.get("TagList") or ())),
        writer=next(
            (m["DBInstanceIdentifier"] for m in shape["DBClusterMembers"] if m.get("IsClusterWriter")),
            None,
        ),
        serverless_members=tuple(
            name for name in names if found[name]["DBInstanceClass"] == SERVERLESS
        ),
        metrics_from=max(
            (at for at in (_instant(shape.get("ClusterCreateTime")), named_at) if at is not None),
            default=None,
        ),
    )  # fmt: skip


def members_of(shape: Shape, instances: Iterable[Shape]) -> tuple[Member, ...]:
    """The members by class; raises KeyError where an instance is not among those given."""
    classes = {one["DBInstanceIdentifier"]: one["DBInstanceClass"] for one in instances}
    names = (one["DBInstanceIdentifier"] for one in shape["DBClusterMembers"])
    return _counted(classes[name] for name in names)


def status_of(shape: Shape, members: Iterable[Shape]) -> str:
    """`available` only where the cluster and each member are."""
    if shape["Status"] != "available":
        return str(shape["Status"])
    for one in members:
        if one["DBInstanceStatus"] != "available":
            return f"member {one['DBInstanceIdentifier']} {one['DBInstanceStatus']}"
    return "available"


def _since(
    mode: StorageMode, opens: datetime | None, first_seen: datetime | None
) -> datetime | None:
    """Since when the mode is known to be in force: the gate opens 30 days after it was gone to.

    The later of the two where both are known: what is counted was certainly measured under it.
    """
    by_gate = opens - GATE if opens is not None and mode is StorageMode.IO_OPTIMIZED else None
    return max((at for at in (by_gate, first_seen) if at is not None), default=None)


def _instant(value: datetime | None) -> datetime | None:
    return None if value is None else value.astimezone(UTC)


def _counted(classes: Iterable[str]) -> tuple[Member, ...]:
    counts: dict[str, int] = {}
    for name in classes:
        counts[name] = counts.get(name, 0) + 1
    return tuple(Member(instance_class=name, count=counts[name]) for name in sorted(counts))


def reservations(shapes: Iterable[Shape], engine: str) -> tuple[Member, ...]:
    """Active reservations for an engine, of the whole account."""
    wanted = (_RESERVED_FOR[engine], _OLDER.get(engine))
    found: dict[str, int] = {}
    for shape in shapes:
        if shape["State"] != "active" or shape["ProductDescription"].lower() not in wanted:
            continue
        name = shape["DBInstanceClass"]
        found[name] = found.get(name, 0) + int(shape["DBInstanceCount"])
    return tuple(Member(instance_class=name, count=found[name]) for name in sorted(found))


def covering(
    reserved: tuple[Member, ...], members: tuple[Member, ...],
    others: Mapping[str, float] | None = None,
) -> tuple[Member, ...]:  # fmt: skip
    """What of an account's reservations may be counted on for one cluster: no more than it needs.

    What is left over may be another cluster's: taken for spare, it would make I/O-Optimized look
    cheaper than it is. For a cluster in I/O-Optimized, `others` are the units by family that the rest of the
    account uses: what these leave pays for the uplift too. Raises ValueError for a size whose units are not known.
    """
    covered: list[Member] = []
    own = [m for m in members if m.instance_class != SERVERLESS]
    for name in sorted({family(m.instance_class) for m in own}):
        needed = [m for m in own if family(m.instance_class) == name]
        held = [m for m in reserved if family(m.instance_class) == name]
        used = None if others is None else others.get(name, 0.0)
        ample = used is not None and _units(held) >= used + UPLIFT * _units(needed)
        alone = used == 0
        covered += held if ample or alone or _units(held) < _units(needed) else needed
    return tuple(covered)


def units_in_use(instances: Iterable[Shape], engine: str, *, beside: str) -> dict[str, float]:
    """Units of reservations by family that an engine's instances use, without those of the cluster `beside`.

    Unlimited for a family with a size whose units are not known.
    """
    found: dict[str, float] = {}
    for shape in instances:
        name = shape["DBInstanceClass"]
        cluster = shape.get("DBClusterIdentifier")
        if shape.get("Engine") != engine or cluster == beside or name == SERVERLESS:
            continue
        optimized = shape.get("StorageType") == StorageMode.IO_OPTIMIZED
        try:
            needs = units(name) * (UPLIFT if optimized else 1.0)
        except ValueError:
            needs = inf
        found[family(name)] = found.get(family(name), 0.0) + needs
    return found


def _units(members: Iterable[Member]) -> float:
    return sum(units(m.instance_class) * m.count for m in members)
