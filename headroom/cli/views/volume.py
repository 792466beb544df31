"""A volume or a database in words: its configuration, its class, what restricts it."""

from __future__ import annotations

from collections.abc import Iterator

from headroom.domain.resources import (
    COPIES,
    Configuration,
    Database,
    Deployment,
    Observation,
    Volume,
)
from headroom.domain.workload import SpaceForecast

DEPLOYMENTS = {
    Deployment.SINGLE_AZ: "Single-AZ",
    Deployment.MULTI_AZ: "Multi-AZ, two copies paid for",
    Deployment.CLUSTER: "Multi-AZ DB cluster, three copies paid for",
}


def was(volume: Volume) -> str:
    """One sentence on what it is and where."""
    database = volume.configuration.database
    if database is None:
        return f"It was {volume.configuration}, in {volume.availability_zone}."
    return f"It was {volume.configuration}, storage of {database.engine}, in {volume.availability_zone}."


def lines(observation: Observation) -> tuple[str, ...]:
    """The main facts about a database; nothing about an EBS volume."""
    volume = observation.volume
    database = volume.configuration.database
    return () if database is None else tuple(_of_database(observation, database))


def _of_database(observation: Observation, database: Database) -> Iterator[str]:
    volume, facts = observation.volume, observation.volume.facts
    yield f"{database.engine}, {DEPLOYMENTS[database.deployment]}; {_striping(volume.configuration)}"
    if facts is None:
        return
    yield f"class {facts.instance_class}: {_class(observation)}"
    working = "" if facts.operation is None else f", storage {facts.operation}"
    yield f"status {facts.status}{working}"
    yield f"pending: {', '.join(facts.pending) or 'nothing'}"
    yield (
        f"storage autoscaling up to {facts.max_allocated_gib:,} GiB: RDS owns the size"
        if facts.max_allocated_gib is not None
        else "storage autoscaling off"
    )
    if facts.replica_of is not None:
        yield f"read replica of {facts.replica_of}: its storage is its own"
    if facts.unusual is not None:
        yield f"its storage is unusual: {facts.unusual}"
    accepted = ", ".join(sorted(valid.volume_type.value for valid in observation.valid))
    yield (
        f"RDS accepts {accepted} (DescribeValidDBInstanceModifications)"
        if accepted
        else "accepted types are from Headroom's table: RDS was not asked or did not answer"
    )


def _striping(configuration: Configuration) -> str:
    database = configuration.database
    if database is None:
        return "one volume"
    stripes = database.stripes(configuration.size_gib)
    over = "one volume" if stripes == 1 else f"{stripes} volumes"
    return f"each copy on {over}"


def _class(observation: Observation) -> str:
    instance = observation.instance
    limits = None if instance is None else instance.limits
    if limits is None:
        return "its EBS limits are not known, so Headroom spends nothing"
    return (
        f"sustains {limits.baseline_iops:,} IOPS and {limits.baseline_mibps:,.0f} MiB/s, at most "
        f"{limits.maximum_iops:,} and {limits.maximum_mibps:,.0f}"
    )


def as_object(observation: Observation) -> dict[str, object] | None:
    """The database for JSON; None for an EBS volume."""
    volume, facts = observation.volume, observation.volume.facts
    database = volume.configuration.database
    if database is None:
        return None
    limits = None if observation.instance is None else observation.instance.limits
    return {
        "engine": database.engine.value,
        "deployment": database.deployment.value,
        "stripes": database.stripes(volume.configuration.size_gib),
        "copies_paid_for": COPIES[database.deployment],
        "instance_class": None if facts is None else facts.instance_class,
        "class_iops": None if limits is None else limits.baseline_iops,
        "class_mibps": None if limits is None else limits.baseline_mibps,
        "status": None if facts is None else facts.status,
        "storage_operation": None if facts is None else facts.operation,
        "pending": [] if facts is None else list(facts.pending),
        "max_allocated_gib": None if facts is None else facts.max_allocated_gib,
        "replica_of": None if facts is None else facts.replica_of,
        "unusual": None if facts is None else facts.unusual,
        "additional_volumes": [] if facts is None else [str(each) for each in facts.additional],
        "takes": sorted(valid.volume_type.value for valid in observation.valid),
    }


def space_lines(space: SpaceForecast) -> tuple[str, ...]:
    """The forecast of a database's free space."""
    needed = f"; {space.needed_gib:,} GiB needed" if space.short else ""
    return (
        space.explanation,
        f"lowest forecast within a day: {space.lowest_gib:,.1f} GiB; it fills by "
        f"{space.fill_gib_per_day:,.1f} GiB a day ({space.basis.value.replace('_', ' ')}){needed}",
    )


def space_object(space: SpaceForecast | None) -> dict[str, object] | None:
    """The same for JSON; None where free space is not forecast."""
    if space is None:
        return None
    return {
        "size_gib": space.size_gib,
        "free_gib": space.free_gib,
        "reserve_gib": space.reserve_gib,
        "lowest_gib": space.lowest_gib,
        "fill_gib_per_day": space.fill_gib_per_day,
        "full_at": space.full_at,
        "needed_gib": space.needed_gib,
        "basis": space.basis.value,
        "short": space.short,
    }
