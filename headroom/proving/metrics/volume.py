"""The datapoints of a volume and its instance in one minute: names, dimensions, gaps.

Source: EBS User Guide, "Amazon CloudWatch metrics for Amazon EBS"; EC2 User Guide, "List the
available CloudWatch metrics for your instances" (checked 2026-10). RDS publishes the same of a database
under its own names (ReadIOPS, DiskQueueDepth, BurstBalance ...), and no check of any limit; this module
uses the names of EBS.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from headroom.domain.catalog.ebs import capability, gp2_baseline
from headroom.domain.resources import Configuration, InstanceLimits, VolumeType
from headroom.proving.physics import MinuteFacts

BALANCE_EVERY_MIN = 5
"""Balances of an instance come with basic monitoring only."""
BALANCES = ("EBSIOBalance%", "EBSByteBalance%")
PROVISIONED = (VolumeType.IO1, VolumeType.IO2)
BURSTING = (VolumeType.GP2, VolumeType.ST1, VolumeType.SC1)
OF_THE_PAIR = frozenset(
    {
        "VolumeAvgIOPS", "VolumeAvgThroughput", "VolumeAvgReadLatency", "VolumeAvgWriteLatency",
        "VolumeStalledIOCheck", "VolumeIOPSExceededCheck", "VolumeThroughputExceededCheck",
    }
)  # fmt: skip
"""Metrics of a volume on one instance, published under both ids."""

Dimensions = tuple[tuple[str, str], ...]


class Datapoint(NamedTuple):
    """One published statistic set of the minute (or five) that begins at `timestamp`.

    A tuple: a simulation makes some twenty for every minute.
    """

    namespace: str
    name: str
    dimensions: Dimensions
    timestamp: datetime
    sum: float
    samples: float
    minimum: float
    maximum: float


def alike(
    namespace: str,
    name: str,
    dimensions: Dimensions,
    at: datetime,
    value: float,
    samples: float = 1.0,
    total: float | None = None,
) -> Datapoint:
    """A datapoint of `samples` equal values; `total` is their exact sum."""
    return Datapoint(
        namespace=namespace, name=name, dimensions=dimensions, timestamp=at,
        sum=value * samples if total is None else total, samples=samples, minimum=value,
        maximum=value,
    )  # fmt: skip


def datapoints(
    facts: MinuteFacts,
    *,
    volume_id: str,
    instance_id: str | None,
    configuration: Configuration,
    nitro: bool = True,
    multi_attach: bool = False,
    queue_noise: float = 0.0,
) -> list[Datapoint]:
    """The datapoints of a volume; none while it is detached or unless the whole minute was measured.

    `configuration` is what DescribeVolumes reports in that minute. The queue length is published
    with `queue_noise`, a share of it, added.
    """
    if instance_id is None:
        return []
    alone: Dimensions = (("VolumeId", volume_id),)
    pair: Dimensions = (("InstanceId", instance_id), ("VolumeId", volume_id))
    metrics = volume_metrics(
        facts, configuration=configuration, nitro=nitro, multi_attach=multi_attach,
        queue_noise=queue_noise,
    )  # fmt: skip
    return [
        alike("AWS/EBS", name, pair if name in OF_THE_PAIR else alone, facts.start,
              total / samples, samples, total)
        for name, total, samples in metrics
    ]  # fmt: skip


def volume_metrics(
    facts: MinuteFacts, *, configuration: Configuration, nitro: bool = True,
    multi_attach: bool = False, queue_noise: float = 0.0,
) -> list[tuple[str, float, float]]:  # fmt: skip
    """Name, sum and number of samples of a volume's metrics in a minute, as in `datapoints`."""
    if not facts.published:
        return []
    kind = configuration.volume_type
    metrics = _of_volume(facts, multi_attach, queue_noise)
    if kind in PROVISIONED:
        metrics.append(("VolumeConsumedReadWriteOps", facts.ebs_ops, 1.0))
        if not multi_attach:
            share = 100 * facts.ebs_iops / max(1, configuration.iops or 0)
            metrics.append(("VolumeThroughputPercentage", min(100.0, share), 1.0))
    if _has_balance(configuration, facts):
        metrics.append(("BurstBalance", facts.burst_balance_percent or 0.0, 1.0))
    if nitro and kind is not VolumeType.STANDARD and configuration.database is None:
        metrics += _on_nitro(facts, multi_attach)
    return metrics


def instance_datapoints(
    facts: MinuteFacts, *, instance_id: str, limits: InstanceLimits, database: bool = False
) -> list[Datapoint]:
    """The datapoints of an instance: checks each minute, balances every five.

    A database's instance has the balances only.
    """
    alone: Dimensions = (("InstanceId", instance_id),)
    return [
        alike("AWS/EC2", name, alone, facts.start, value)
        for name, value in instance_metrics(facts, limits=limits, database=database)
    ]


def instance_metrics(
    facts: MinuteFacts, *, limits: InstanceLimits, database: bool = False
) -> list[tuple[str, float]]:
    """Name and value of an instance's metrics in a minute, as in `instance_datapoints`."""
    if not facts.published or not limits.nitro:
        return []
    named: list[tuple[str, float | None]] = []
    if not database:
        named += [
            ("InstanceEBSIOPSExceededCheck", float(facts.instance_iops_exceeded)),
            ("InstanceEBSThroughputExceededCheck", float(facts.instance_throughput_exceeded)),
        ]
    if facts.start.minute % BALANCE_EVERY_MIN == 0:
        if limits.maximum_iops > limits.baseline_iops:
            named.append((BALANCES[0], facts.instance_io_balance_percent))
        if limits.maximum_mibps > limits.baseline_mibps:
            named.append((BALANCES[1], facts.instance_byte_balance_percent))
    return [(name, value) for name, value in named if value is not None]


def metric_sums(
    facts: MinuteFacts, *, configuration: Configuration, limits: InstanceLimits,
    database: bool = False, queue_noise: float = 0.0,
) -> dict[str, float]:  # fmt: skip
    """The sums of all metrics of a volume and of its instance in a minute, by name."""
    metrics = volume_metrics(
        facts, configuration=configuration, nitro=limits.nitro, queue_noise=queue_noise
    )
    sums = {name: total for name, total, _ in metrics}
    sums.update(instance_metrics(facts, limits=limits, database=database))
    return sums


def _of_volume(
    facts: MinuteFacts, multi_attach: bool, queue_noise: float
) -> list[tuple[str, float, float]]:
    """The metrics of every attached volume; without a sample, one zero is published."""
    ops = facts.served_ops
    waited = facts.queue_seen_avg * 60
    reads = facts.served_read_ops / ops if ops else 0.0
    reading, writing = facts.served_read_ops or 1.0, facts.served_write_ops or 1.0
    metrics = [
        ("VolumeReadOps", facts.served_read_ops, 1.0),
        ("VolumeWriteOps", facts.served_write_ops, 1.0),
        ("VolumeReadBytes", facts.served_read_bytes, reading),
        ("VolumeWriteBytes", facts.served_write_bytes, writing),
        ("VolumeQueueLength", max(0.0, facts.queue_seen_avg * (1 + queue_noise)), 1.0),
    ]
    if not multi_attach:
        metrics += [
            ("VolumeTotalReadTime", waited * reads, reading),
            ("VolumeTotalWriteTime", waited * (1 - reads), writing),
            ("VolumeIdleTime", facts.idle_s, 1.0),
        ]
    return metrics


def _on_nitro(facts: MinuteFacts, multi_attach: bool) -> list[tuple[str, float, float]]:
    ops = facts.served_ops
    size = facts.served_read_bytes + facts.served_write_bytes
    latency = 1000 * facts.queue_seen_avg * 60 / ops if ops else 0.0
    metrics = [
        ("VolumeAvgIOPS", ops / 60, 1.0),
        ("VolumeAvgThroughput", size / 60 / 1024, 1.0),
        ("VolumeAvgReadLatency", latency if facts.served_read_ops else 0.0, 1.0),
        ("VolumeAvgWriteLatency", latency if facts.served_write_ops else 0.0, 1.0),
        ("VolumeStalledIOCheck", 0.0, 1.0),
    ]
    if not multi_attach:
        metrics += [
            ("VolumeIOPSExceededCheck", float(facts.iops_exceeded), 1.0),
            ("VolumeThroughputExceededCheck", float(facts.throughput_exceeded), 1.0),
        ]
    return metrics


def _has_balance(configuration: Configuration, facts: MinuteFacts) -> bool:
    """BurstBalance exists for types with a bucket, below the burst rate, while the volume works."""
    if configuration.volume_type not in BURSTING or facts.burst_balance_percent is None:
        return False
    if configuration.database is not None:
        return capability(configuration).iops_credits > 0 and facts.served_ops > 0
    if configuration.volume_type is VolumeType.GP2 and gp2_baseline(configuration.size_gib) >= 3000:
        return False
    return facts.served_ops > 0
