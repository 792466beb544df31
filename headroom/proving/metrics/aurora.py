"""What CloudWatch publishes of an Aurora cluster's five minutes, under RDS's names and dimensions.

Billed I/O is a count of the five minutes, no rate, and the cluster's alone; docs and console spell its
dimension DBClusterIdentifier, the list of dimensions DbClusterIdentifier with EngineName, and both are
published. Commits are the writer's, capacity each serverless member's, the cluster's their mean. Source:
Aurora User Guide, "Cluster-level metrics" and "Instance-level metrics for Amazon Aurora" (2026-10).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from headroom.domain.resources import SERVERLESS
from headroom.proving.metrics.database import GIB, NAMESPACE, DbMember
from headroom.proving.metrics.volume import Datapoint, Dimensions, alike
from headroom.proving.workloads import AuroraLoad

SAMPLES = 5.0
"""Instance metrics come every minute: five equal values form one statistic set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuroraMembers:
    """A cluster by the names of its metrics, the writer first."""

    cluster: str
    engine: str
    members: Sequence[DbMember]

    def dimensions(self) -> tuple[Dimensions, ...]:
        """The sets that the cluster's own datapoints are published under."""
        return (
            (("DBClusterIdentifier", self.cluster),),
            (("DbClusterIdentifier", self.cluster), ("EngineName", self.engine)),
        )


def aurora_datapoints(
    load: AuroraLoad, at: datetime, of: AuroraMembers, *, io_published: bool = True
) -> list[Datapoint]:
    """What is published of the five minutes that begin at `at`.

    Unmeasured minutes have the size only, once an hour. With `io_published` false there is no billed
    I/O: AWS does not document whether it is published under I/O-Optimized.
    """
    points: list[Datapoint] = []
    if at.minute == 0:
        points += _everywhere("VolumeBytesUsed", of.dimensions(), at, load.storage_gib * GIB)
    ios = load.ios(at)
    if ios is None:
        return points
    if io_published:
        reads = ios * load.read_share
        points += _everywhere("VolumeReadIOPs", of.dimensions(), at, reads)
        points += _everywhere("VolumeWriteIOPs", of.dimensions(), at, ios - reads)
    return points + list(_of_members(load, at, of))


def _of_members(load: AuroraLoad, at: datetime, of: AuroraMembers) -> Iterator[Datapoint]:
    cluster = ("DBClusterIdentifier", of.cluster)
    if load.commit_latency_ms is not None and of.members:
        writer: tuple[Dimensions, ...] = (
            (("DBInstanceIdentifier", of.members[0].identifier),),
            (cluster,),
            (cluster, ("Role", "WRITER")),
        )
        yield from _everywhere("CommitLatency", writer, at, load.commit_latency_ms, SAMPLES)
    serverless = [m for m in of.members if m.instance_class == SERVERLESS]
    for member in serverless:
        sets: tuple[Dimensions, ...] = ((("DBInstanceIdentifier", member.identifier),), (cluster,))
        each = load.acus / len(serverless)
        yield from _everywhere("ServerlessDatabaseCapacity", sets, at, each, SAMPLES)


def _everywhere(
    name: str, sets: Sequence[Dimensions], at: datetime, value: float, samples: float = 1.0
) -> Iterator[Datapoint]:
    for dimensions in sets:
        yield alike(NAMESPACE, name, dimensions, at, value, samples)
