"""What CloudWatch publishes of a database's minute, under RDS's names, units and dimensions.

A simulated database and an emulated one publish the same figures.
Rates are operations or bytes per second, latencies seconds and absent for a direction at rest. Source:
RDS User Guide, "Amazon CloudWatch instance-level metrics" and "dimensions for Amazon RDS" (2026-10).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headroom.domain.resources import Configuration, InstanceLimits
from headroom.proving.metrics.volume import Datapoint, Dimensions, alike, metric_sums
from headroom.proving.physics import MinuteFacts

NAMESPACE = "AWS/RDS"
GIB = 1024**3
MINUTE_S = 60
_SAME = {"VolumeQueueLength": "DiskQueueDepth", "BurstBalance": "BurstBalance"}
_PER_SECOND = {
    "VolumeReadOps": "ReadIOPS",
    "VolumeWriteOps": "WriteIOPS",
    "VolumeReadBytes": "ReadThroughput",
    "VolumeWriteBytes": "WriteThroughput",
}
_WAITS = {"Read": "ReadLatency", "Write": "WriteLatency"}
_READS = ("ReadIOPS", "ReadThroughput", "ReadLatency")


@dataclass(frozen=True, slots=True, kw_only=True)
class DbMember:
    """A DB instance as its metrics name it; `engine` as RDS writes it, such as `postgres`."""

    identifier: str
    instance_class: str
    engine: str
    volume_name: str = ""
    """One of several storage volumes of it; empty for the only one."""

    def dimensions(self) -> tuple[Dimensions, ...]:
        """The dimension sets of its datapoints: its own, its class, its engine; of a volume only the pair."""
        if self.volume_name:
            pair = (("DbInstanceIdentifier", self.identifier), ("VolumeName", self.volume_name))
            return (pair,)
        return (
            (("DBInstanceIdentifier", self.identifier),),
            (("DatabaseClass", self.instance_class),),
            (("EngineName", self.engine),),
        )


def database_datapoints(
    facts: MinuteFacts,
    *,
    members: Sequence[DbMember],
    configuration: Configuration,
    limits: InstanceLimits,
    free_gib: float | None = None,
) -> list[Datapoint]:
    """The datapoints of a database in a minute; none unless the whole minute was measured.

    `members` are the writer and, of a Multi-AZ DB cluster, its readers: they write what the writer
    writes, and serve no reads; their balances are not published. `configuration` is what RDS reports
    in that minute; without `free_gib` no free space is published.
    """
    values = _values(facts, configuration, limits)
    if not facts.published:
        return []
    if free_gib is not None:
        values["FreeStorageSpace"] = free_gib * GIB
    points = []
    for number, member in enumerate(members):
        published = values if number == 0 else _of_reader(values)
        for dimensions in member.dimensions():
            points += [
                alike(NAMESPACE, name, dimensions, facts.start, value)
                for name, value in published.items()
            ]
    return points


def added_up(points: Iterable[Datapoint], member: DbMember) -> list[Datapoint]:
    """The same minute of a whole instance: rates, queue and free space of its volumes added up.

    Latencies are left out, and balances are those of the instance already: the lowest is published.
    """
    found: dict[str, list[Datapoint]] = {}
    for point in points:
        found.setdefault(point.name, []).append(point)
    return [
        alike(
            NAMESPACE, name, dimensions, each[0].timestamp,
            (min if name.startswith("EBS") else sum)(point.sum for point in each),
        )
        for name, each in found.items()
        if not name.endswith("Latency")
        for dimensions in member.dimensions()
    ]  # fmt: skip


def _values(
    facts: MinuteFacts, configuration: Configuration, limits: InstanceLimits
) -> dict[str, float]:
    """The writer's values by RDS metric, derived from the EBS metrics of the same minute."""
    found = metric_sums(facts, configuration=configuration, limits=limits, database=True)
    values = {ours: found[name] for name, ours in _SAME.items() if name in found}
    values |= {ours: found[n] / MINUTE_S for n, ours in _PER_SECOND.items() if n in found}
    for direction, ours in _WAITS.items():
        operations = found.get(f"Volume{direction}Ops", 0.0)
        if operations > 0:
            values[ours] = found[f"VolumeTotal{direction}Time"] / operations
    return values | {name: v for name, v in found.items() if name.startswith("EBS")}


def _of_reader(values: Mapping[str, float]) -> dict[str, float]:
    """A reader's share: all writes of the writer, none of its reads."""
    rates = values["ReadIOPS"], values["WriteIOPS"]
    writes = rates[1] / sum(rates) if sum(rates) else 0.0
    found = {n: v for n, v in values.items() if not n.startswith(("EBS", "BurstBalance"))}
    found["DiskQueueDepth"] = values["DiskQueueDepth"] * writes
    found.pop("ReadLatency", None)
    return found | {name: 0.0 for name in _READS if name in found}
