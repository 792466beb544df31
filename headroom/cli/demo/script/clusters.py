"""The demo's Aurora clusters: created with their history, loaded, watched through RDS."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from headroom.cli.demo.script.actor import Event, instant, of_resource
from headroom.cli.demo.script.deployment import LocalAccount
from headroom.cli.demo.script.outcome import ClusterRun, ClusterState
from headroom.cli.demo.stories.clusters import MADE_MINUTE, ClusterStory
from headroom.cli.demo.stories.volumes import END_MINUTE
from headroom.cli.views.decision import DecisionStory
from headroom.domain.resources import StorageMode

ENGINE = "aurora-postgresql"
METRICS = ("VolumeReadIOPs", "VolumeWriteIOPs")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterActor:
    """The story of an Aurora cluster; the cluster has the story's name."""

    story: ClusterStory
    states: list[ClusterState] = field(default_factory=list)

    @property
    def resource_id(self) -> str:
        """The cluster's name."""
        return self.story.key

    def load(self, where: LocalAccount) -> None:
        """Declare the cluster's load, the days before the start too; call it at the start."""
        request = {
            "cluster_id": self.resource_id,
            "io_millions_per_month": self.story.io_millions,
            "storage_gib": self.story.storage_gib,
            "commit_latency_ms": 4,
        }
        where.ask("load", request)
        self.observe(where, 0)

    def events(self) -> Iterable[Event]:
        """Nothing: its owner changed it before the start only."""
        return ()

    def observe(self, where: LocalAccount, minute: int) -> None:
        """Note what RDS reports about the cluster."""
        rds = where.client("rds")
        described = rds.describe_db_clusters(DBClusterIdentifier=self.resource_id)
        self.states.append(_state(described["DBClusters"][0], minute))

    def run(
        self, where: LocalAccount, decisions: Sequence[DecisionStory], published: Sequence[str]
    ) -> ClusterRun:
        """What is known so far."""
        return ClusterRun(
            story=self.story,
            resource_id=self.resource_id,
            states=tuple(self.states),
            billed_ios=_billed(where, self.resource_id),
            decisions=of_resource(decisions, self.resource_id),
            messages=sum(self.resource_id in text for text in published),
        )


def set_up(where: LocalAccount, stories: Sequence[ClusterStory]) -> tuple[ClusterActor, ...]:
    """Create the clusters well before the start, and make their owners' changes."""
    where.set_clock(instant(MADE_MINUTE))
    rds = where.client("rds")
    for story in stories:
        _create(rds, story)
    changes = sorted(
        (minute, story.key, mode)
        for story in stories
        if (switched := story.switched) is not None
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
    return tuple(ClusterActor(story=story) for story in stories)


def _create(rds: Any, story: ClusterStory) -> None:
    rds.create_db_cluster(
        DBClusterIdentifier=story.key, Engine=ENGINE, MasterUsername="headroom",
        ManageMasterUserPassword=True,
        Tags=[{"Key": k, "Value": v} for k, v in story.all_tags.items()],
    )  # fmt: skip
    for number in range(1, story.members + 1):
        rds.create_db_instance(
            DBInstanceIdentifier=f"{story.key}-{number}", DBClusterIdentifier=story.key,
            Engine=ENGINE, DBInstanceClass=story.instance_class,
        )  # fmt: skip


def _state(shape: Mapping[str, Any], minute: int) -> ClusterState:
    """AWS leaves the mode out for Standard."""
    opens = shape.get("IOOptimizedNextAllowedModificationTime")
    return ClusterState(
        at=instant(minute),
        mode=StorageMode(shape.get("StorageType") or StorageMode.STANDARD),
        opens=None if opens is None else opens.astimezone(UTC),
    )


def _billed(where: LocalAccount, name: str) -> tuple[tuple[datetime, float], ...]:
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
