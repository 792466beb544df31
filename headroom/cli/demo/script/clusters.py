"""Puts the demo's Aurora clusters on the stage, watches RDS, and brings back what happened to each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from headroom.cli.demo.script.deployment import Stage
from headroom.cli.demo.script.script import instant
from headroom.cli.demo.stories.clusters import CLUSTER_STORIES, MADE_MINUTE, ClusterStory
from headroom.cli.demo.stories.volumes import END_MINUTE
from headroom.cli.views.decision import DecisionStory
from headroom.domain.resources import StorageMode

ENGINE = "aurora-postgresql"
METRICS = ("VolumeReadIOPs", "VolumeWriteIOPs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What RDS told of a cluster at one instant."""

    at: datetime
    mode: StorageMode
    opens: datetime | None
    """When I/O-Optimized may be gone to again; None where it never was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMember:
    """A story, its cluster, and what RDS told of it since the start."""

    story: ClusterStory
    seen: list[Seen]

    @property
    def name(self) -> str:
        """The cluster's name: that of its story."""
        return self.story.key


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedCluster:
    """Everything that is known about one cluster's story after the demo."""

    story: ClusterStory
    name: str
    seen: tuple[Seen, ...]
    billed_ios: tuple[tuple[datetime, float], ...]
    """Billed I/O of every hour, as CloudWatch has it."""
    told: tuple[DecisionStory, ...]
    messages: int

    @property
    def opened(self) -> datetime | None:
        """When AWS's gate opened, as RDS told it at the start."""
        return self.seen[0].opens

    @property
    def switched_at(self) -> datetime | None:
        """When RDS first told I/O-Optimized; None when it never did."""
        return next((s.at for s in self.seen if s.mode is StorageMode.IO_OPTIMIZED), None)


ClusterCast = tuple[ClusterMember, ...]


def set_up(where: Stage, stories: Sequence[ClusterStory] = CLUSTER_STORIES) -> ClusterCast:
    """Create the clusters well before the start, and let their owners do what they did."""
    cast = tuple(ClusterMember(story=story, seen=[]) for story in stories)
    where.set_clock(instant(MADE_MINUTE))
    rds = where.client("rds")
    for member in cast:
        _create(rds, member)
    changes = sorted(
        (minute, member.name, mode)
        for member in cast
        if (switched := member.story.switched) is not None
        for minute, mode in (
            (switched.there_minute, StorageMode.IO_OPTIMIZED),
            (switched.back_minute, StorageMode.STANDARD),
        )
    )
    for minute, name, mode in changes:
        where.set_clock(instant(minute))
        rds.modify_db_cluster(
            DBClusterIdentifier=name, StorageType=mode.value, ApplyImmediately=True
        )
    return cast


def put_loads(where: Stage, cast: ClusterCast) -> None:
    """Declare what the clusters are asked for, the days before the start too; call it at the start."""
    for member in cast:
        request = {
            "cluster_id": member.name,
            "io_millions_per_month": member.story.io_millions,
            "storage_gib": member.story.storage_gib,
            "commit_latency_ms": 4,
        }
        where.ask("load", request)
    watch(where, cast, 0)


def watch(where: Stage, cast: ClusterCast, minute: int) -> None:
    """Take down what RDS tells of every cluster at `minute`."""
    shapes = where.client("rds").describe_db_clusters()["DBClusters"]
    found = {shape["DBClusterIdentifier"]: shape for shape in shapes}
    for member in cast:
        member.seen.append(_seen(found[member.name], minute))


def ended(
    where: Stage, cast: ClusterCast, stories: Sequence[DecisionStory], said: Sequence[str]
) -> tuple[PlayedCluster, ...]:
    """What is known about every cluster at the end; `said` is what was published to people."""
    return tuple(
        replace(so_far(member, stories, said), billed_ios=_billed(where, member.name))
        for member in cast
    )


def so_far(
    member: ClusterMember, stories: Sequence[DecisionStory], said: Sequence[str]
) -> PlayedCluster:
    """What is known about a cluster while it is played: all but what was billed for its I/O."""
    name = member.name
    return PlayedCluster(
        story=member.story,
        name=name,
        seen=tuple(member.seen),
        billed_ios=(),
        told=tuple(t for t in stories if t.decision.observation.volume.ref.resource_id == name),
        messages=sum(name in text for text in said),
    )


def _create(rds: Any, member: ClusterMember) -> None:
    story = member.story
    rds.create_db_cluster(
        DBClusterIdentifier=member.name, Engine=ENGINE, MasterUsername="headroom",
        ManageMasterUserPassword=True,
        Tags=[{"Key": k, "Value": v} for k, v in story.all_tags.items()],
    )  # fmt: skip
    for number in range(1, story.members + 1):
        rds.create_db_instance(
            DBInstanceIdentifier=f"{member.name}-{number}", DBClusterIdentifier=member.name,
            Engine=ENGINE, DBInstanceClass=story.instance_class,
        )  # fmt: skip


def _seen(shape: Mapping[str, Any], minute: int) -> Seen:
    """AWS leaves the mode out for Standard."""
    opens = shape.get("IOOptimizedNextAllowedModificationTime")
    return Seen(
        at=instant(minute),
        mode=StorageMode(shape.get("StorageType") or StorageMode.STANDARD),
        opens=None if opens is None else opens.astimezone(UTC),
    )


def _billed(where: Stage, name: str) -> tuple[tuple[datetime, float], ...]:
    """Billed I/O by the hour from the start on, both directions together."""
    dimensions = [{"Name": "DBClusterIdentifier", "Value": name}]
    answer = where.client("cloudwatch").get_metric_data(
        StartTime=instant(0),
        EndTime=instant(END_MINUTE),
        ScanBy="TimestampAscending",
        MetricDataQueries=[
            {
                "Id": metric.lower(),
                "MetricStat": {
                    "Metric": {
                        "Namespace": "AWS/RDS", "MetricName": metric, "Dimensions": dimensions,
                    },
                    "Period": 3_600,
                    "Stat": "Sum",
                },
            }
            for metric in METRICS
        ],
    )  # fmt: skip
    hours: dict[datetime, float] = {}
    for result in answer["MetricDataResults"]:
        for at, value in zip(result["Timestamps"], result["Values"], strict=True):
            hours[at] = hours.get(at, 0.0) + value
    return tuple(sorted((at.astimezone(UTC), value) for at, value in hours.items()))
