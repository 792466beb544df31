"""Free space of EBS volumes, as the CloudWatch agent measures it on their instances.

The agent's metrics name a volume only where its `disk` section appends the dimension `VolumeId`
(`"append_dimensions": {"VolumeId": "${aws:VolumeId}"}`, agent 1.300039 and later, Linux). On Windows
it never does: C: is the volume where the instance has just one. A percentage alone does not say of
how many GiB, so the size (`disk_total`; of Windows the free megabytes) must be published as well.
Whatever leaves doubt about which file system is meant is not read: LVM and RAID have no VolumeId, and
several file systems on one volume fill on their own.
Source: CloudWatch User Guide, "Metrics collected by the CloudWatch agent" (checked 2026-11).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from headroom.adapters.cloudwatch.metric_data import Dimensions, Query, Statistic, Window
from headroom.adapters.errors import reading
from headroom.domain.resources import Series
from headroom.ports import StorageView

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

NAMESPACE = "CWAgent"
USED, TOTAL = "disk_used_percent", "disk_total"
FREE_PERCENT, FREE_MIB = "LogicalDisk % Free Space", "LogicalDisk Free Megabytes"
FILE_SYSTEMS = ("ext4", "xfs")
"""Those that can be extended while they are mounted, with one command each."""
BOOT = ("/boot/", "/efi/")
_GIB = 1024**3
_MIB_PER_GIB = 1024

LISTED_FOR = timedelta(minutes=5)
"""How long a list of metrics counts. ListMetrics takes 25 calls a second, and one reconciliation needs it twice."""
MOST_LISTED = 200
"""Instances whose lists are remembered: their file systems are a few KB each."""

Listed = Mapping[str, Sequence[Dimensions]]
"""Under which dimensions the agent of an instance publishes each metric of interest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskSpace:
    """The two metrics of the one file system on a volume."""

    share: Query
    """Percent used, or of Windows percent free."""
    amount: Query
    """Its size in bytes, or of Windows what is free in MiB."""

    @property
    def queries(self) -> tuple[Query, Query]:
        return self.share, self.amount

    def free_gib(self, found: Mapping[Query, Series], span: Window) -> Series:
        """What was free in each period, at its least."""
        if self.amount.metric == FREE_MIB:
            return self._both(found, span, lambda _, mib: mib / _MIB_PER_GIB)
        return self._both(found, span, lambda used, size: size / _GIB * (1 - used / 100))

    def size_gib(self, found: Mapping[Query, Series], span: Window) -> Series:
        """The size of the file system in each period."""
        if self.amount.metric == FREE_MIB:
            return self._both(
                found, span,
                lambda free, mib: mib / _MIB_PER_GIB / (free / 100) if free >= 1 else None,
            )  # fmt: skip
        return self._both(found, span, lambda _, size: size / _GIB)

    def _both(
        self, found: Mapping[Query, Series], span: Window,
        of: Callable[[float, float], float | None],
    ) -> Series:  # fmt: skip
        pairs = zip(found[self.share].values, found[self.amount].values, strict=True)
        values = tuple(None if a is None or b is None else of(a, b) for a, b in pairs)
        return Series(start=span.start, period_s=span.period_s, values=values)


class Lists:
    """What was listed of instances in the last minutes."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[datetime, Listed]] = {}

    def of(self, client: CloudWatchClient, instance_id: str, now: datetime) -> Listed:
        """The list of one instance; raises ReadFailed."""
        kept = self._kept.get(instance_id)
        if kept is None or not timedelta(0) <= now - kept[0] < LISTED_FOR:
            if len(self._kept) >= MOST_LISTED:
                self._kept.clear()
            kept = self._kept[instance_id] = now, listed_of(client, instance_id)
        return kept[1]


def disks_of(
    client: CloudWatchClient,
    views: Sequence[StorageView],
    listing: Callable[[CloudWatchClient, str], Listed] | None = None,
) -> dict[str, DiskSpace]:
    """The metrics of each volume's one file system, by volume id; raises ReadFailed.

    One `listing`, of ListMetrics, for each instance. Metrics that were not published for three hours are not listed.
    """
    attached = [v for v in views if len(v.volume.instance_ids) == 1 and not v.volume.multi_attach]
    instances = dict.fromkeys(view.volume.instance_ids[0] for view in attached)
    read = listing or listed_of
    listed = {instance_id: read(client, instance_id) for instance_id in instances}
    found = {
        view.volume.ref.resource_id: _disk(view, listed[view.volume.instance_ids[0]])
        for view in attached
    }
    return {volume_id: disk for volume_id, disk in found.items() if disk is not None}


def _disk(view: StorageView, listed: Listed) -> DiskSpace | None:
    of_volume = ("VolumeId", view.volume.ref.resource_id)
    linux = _one_file_system([d for d in listed[USED] if of_volume in d])
    if linux is not None and linux in listed[TOTAL]:
        return DiskSpace(
            share=_query(USED, linux, "Maximum"), amount=_query(TOTAL, linux, "Minimum")
        )
    alone = view.instance is not None and view.instance.volume_ids == (of_volume[1],)
    drives = [d for d in listed[FREE_PERCENT] if d in listed[FREE_MIB]] if alone else []
    windows = [d for d in drives if dict(d).get("instance") == "C:"]
    if len(windows) != 1:
        return None
    return DiskSpace(
        share=_query(FREE_PERCENT, windows[0], "Minimum"),
        amount=_query(FREE_MIB, windows[0], "Minimum"),
    )


def _one_file_system(found: Iterable[Dimensions]) -> Dimensions | None:
    """Of a volume's file systems the only one besides those for booting, if it can be extended.

    One that is mounted at several places has one device; without a device each place counts.
    """
    systems: dict[str, Dimensions] = {}
    for dimensions in sorted(found):
        named = dict(dimensions)
        path, kind = named.get("path"), named.get("fstype")
        if path is None or kind is None:
            continue  # summed over several file systems
        if kind != "vfat" and not f"{path}/".startswith(BOOT):
            systems.setdefault(named.get("device", path), dimensions)
    one = next(iter(systems.values())) if len(systems) == 1 else None
    return one if one is not None and dict(one)["fstype"] in FILE_SYSTEMS else None


def listed_of(client: CloudWatchClient, instance_id: str) -> Listed:
    """What the agent of an instance published in the last three hours; raises ReadFailed."""
    found: dict[str, list[Dimensions]] = {n: [] for n in (USED, TOTAL, FREE_PERCENT, FREE_MIB)}
    asked = {
        "Namespace": NAMESPACE, "RecentlyActive": "PT3H",
        "Dimensions": [{"Name": "InstanceId", "Value": instance_id}],
    }  # fmt: skip
    with reading(f"ListMetrics of {instance_id}"):
        for page in client.get_paginator("list_metrics").paginate(**asked):  # type: ignore[arg-type]
            for metric in page["Metrics"]:
                if metric["MetricName"] in found:
                    dimensions = ((d["Name"], d["Value"]) for d in metric["Dimensions"])
                    found[metric["MetricName"]].append(tuple(sorted(dimensions)))
    return found


def _query(metric: str, dimensions: Dimensions, statistic: Statistic) -> Query:
    return Query(namespace=NAMESPACE, metric=metric, dimensions=dimensions, statistic=statistic)
