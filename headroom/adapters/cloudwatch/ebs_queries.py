"""Which metrics of a volume and its instance are read, and under which dimensions.

The Exceeded checks of a volume exist only under the pair of InstanceId and VolumeId; asked for by
VolumeId alone they are silently empty. Source: EBS User Guide, "CloudWatch metrics for EBS";
EC2 User Guide, "EBS metrics for Nitro-based instances" (2026-10).
"""

from __future__ import annotations

from dataclasses import replace

from headroom.adapters.cloudwatch.metric_data import Query, Statistic
from headroom.domain.detection import Glance, Metric
from headroom.domain.resources import Instance, Volume, VolumeType

_WITH_CREDITS = (VolumeType.GP2, VolumeType.ST1, VolumeType.SC1)
"""Types that publish BurstBalance."""
RATES = ("VolumeReadOps", "VolumeWriteOps", "VolumeReadBytes", "VolumeWriteBytes")


def of_volume(volume_id: str, metric: str, statistic: Statistic) -> Query:
    """A metric under the volume alone."""
    dimensions = (("VolumeId", volume_id),)
    return Query(namespace="AWS/EBS", metric=metric, dimensions=dimensions, statistic=statistic)


def _of_pair(volume: Volume, metric: str, statistic: Statistic) -> Query | None:
    """A metric under the pair: only with exactly one instance."""
    if len(volume.instance_ids) != 1 or volume.multi_attach:
        return None
    pair = (("InstanceId", volume.instance_ids[0]), ("VolumeId", volume.ref.resource_id))
    return Query(namespace="AWS/EBS", metric=metric, dimensions=pair, statistic=statistic)


def of_instance(instance_id: str, metric: str, statistic: Statistic) -> Query:
    """A metric of the instance itself."""
    dimensions = (("InstanceId", instance_id),)
    return Query(namespace="AWS/EC2", metric=metric, dimensions=dimensions, statistic=statistic)


def burst_balance_query(volume: Volume) -> Query | None:
    """The credits left, of types that have some."""
    if volume.configuration.volume_type not in _WITH_CREDITS:
        return None
    return of_volume(volume.ref.resource_id, "BurstBalance", "Minimum")


def queue_query(volume: Volume) -> Query:
    """The mean queue length."""
    return of_volume(volume.ref.resource_id, "VolumeQueueLength", "Average")


def _some(*queries: Query | None) -> tuple[Query, ...]:
    return tuple(query for query in queries if query is not None)


def check_queries(volume: Volume, period_s: int = 60) -> tuple[Query | None, Query | None]:
    """The Exceeded checks: 0 or 1 of a minute, in longer periods how many minutes had a 1."""
    statistic: Statistic = "Maximum" if period_s <= 60 else "Sum"
    return (
        _of_pair(volume, "VolumeIOPSExceededCheck", statistic),
        _of_pair(volume, "VolumeThroughputExceededCheck", statistic),
    )


def checks_elsewhere(volume: Volume, instance_id: str, period_s: int) -> dict[Query, Query]:
    """What the same volume published of limits under another instance, by the query of its present one."""
    there = replace(volume, instance_ids=(instance_id,))
    return {
        here: other
        for of in (check_queries, _busiest_in)
        for here, other in zip(of(volume, period_s), of(there, period_s), strict=True)
        if here is not None and other is not None
    }


def _busiest_in(volume: Volume, period_s: int) -> tuple[Query | None, Query | None]:
    return busiest_minute_queries(volume) if period_s > 60 else (None, None)


def busiest_minute_queries(volume: Volume) -> tuple[Query | None, Query | None]:
    """Operations/s and KiB/s of the busiest minute in a longer period; Nitro instances only."""
    return (
        _of_pair(volume, "VolumeAvgIOPS", "Maximum"),
        _of_pair(volume, "VolumeAvgThroughput", "Maximum"),
    )


def latency_queries(volume: Volume, instance: Instance | None) -> tuple[Query | None, Query | None]:
    """The mean latency of reads and of writes in ms, where it is published.

    Only volumes of one Nitro instance outside Local Zones have it. It replaces two metrics that
    are published of every volume, VolumeTotalReadTime and VolumeTotalWriteTime. Those are read of
    earlier days, in which the volume may have been attached to another instance.
    """
    limits = None if instance is None else instance.limits
    if limits is None or not limits.nitro or volume.in_local_zone:
        return None, None
    return (
        _of_pair(volume, "VolumeAvgReadLatency", "Average"),
        _of_pair(volume, "VolumeAvgWriteLatency", "Average"),
    )


def stalled_query(volume: Volume, instance: Instance | None) -> Query | None:
    """Whether I/O was stalled in a minute, 0 or 1; published where the latency is."""
    published = latency_queries(volume, instance) != (None, None)
    return _of_pair(volume, "VolumeStalledIOCheck", "Maximum") if published else None


def glance_queries(volume: Volume, metrics: frozenset[Metric] | None = None) -> tuple[Query, ...]:
    """What a Glance needs: 3 or 4 metrics of an attached volume, or only `metrics`; none of a detached one."""
    if not volume.instance_ids:
        return ()  # EBS publishes for attached volumes only
    iops, throughput = check_queries(volume)
    found = {
        Metric.IOPS_CHECK: iops, Metric.THROUGHPUT_CHECK: throughput,
        Metric.BALANCE: burst_balance_query(volume), Metric.QUEUE: queue_query(volume),
    }  # fmt: skip
    return _some(*(query for each, query in found.items() if metrics is None or each in metrics))


def summary_queries(volume: Volume) -> dict[str, Query]:
    """What the summary of whole days needs: 4 or 5 metrics of an attached volume, by their part in it."""
    if not volume.instance_ids:
        return {}
    iops, throughput = check_queries(volume, 86_400)
    busiest_iops, busiest_kib = busiest_minute_queries(volume)
    asked = {
        "iops_exceeded": iops, "throughput_exceeded": throughput, "busiest_iops": busiest_iops,
        "busiest_kib": busiest_kib, "burst_balance": burst_balance_query(volume),
    }  # fmt: skip
    return {name: query for name, query in asked.items() if query is not None}


def served_queries(
    volume: Volume, glance: Glance, metrics: frozenset[Metric] | None = None
) -> tuple[Query, ...]:
    """What a Glance needs besides where no Exceeded check was found: 4 metrics, else none.

    Only Nitro instances outside Local Zones have the checks. Where not even a queue was
    published there is nothing else either: the instance is stopped.
    """
    checks = (glance.iops_exceeded_minutes, glance.throughput_exceeded_minutes)
    if checks != (None, None) or not volume.instance_ids:
        return ()
    if metrics is None and glance.longest_queue is None:
        return ()
    if metrics is not None and not metrics >= {Metric.IOPS_CHECK, Metric.THROUGHPUT_CHECK}:
        return ()
    return tuple(of_volume(volume.ref.resource_id, metric, "Sum") for metric in RATES)


def volume_queries(
    volume: Volume, period_s: int = 60, instance: Instance | None = None
) -> tuple[Query, ...]:
    """What a VolumeActivity of such periods needs; with `instance`, what it publishes of the volume.

    That costs one metric more, the check for stalled I/O.
    """
    waits = latency_queries(volume, instance)
    times = ("VolumeTotalReadTime", "VolumeTotalWriteTime") if waits == (None, None) else ()
    return _some(
        *(of_volume(volume.ref.resource_id, metric, "Sum") for metric in (*RATES, *times)),
        *waits,
        stalled_query(volume, instance),
        queue_query(volume),
        burst_balance_query(volume),
        *check_queries(volume, period_s),
        *_busiest_in(volume, period_s),
    )


def profile_queries(volume: Volume, period_s: int) -> tuple[Query, ...]:
    """What the profile of the past needs of such periods: 6 metrics, 7 where there are credits."""
    rates = (of_volume(volume.ref.resource_id, metric, "Sum") for metric in RATES)
    return _some(*rates, burst_balance_query(volume), *check_queries(volume, period_s))


def instance_queries(instance: Instance) -> tuple[Query, ...]:
    """What an InstanceActivity needs at one-minute periods."""
    return (
        *(of_volume(one, metric, "Sum") for one in instance.volume_ids for metric in RATES),
        *instance_check_queries(instance),
    )


def instance_check_queries(instance: Instance) -> tuple[Query, ...]:
    """The instance's own Exceeded checks."""
    return tuple(
        of_instance(instance.instance_id, metric, "Maximum")
        for metric in ("InstanceEBSIOPSExceededCheck", "InstanceEBSThroughputExceededCheck")
    )


def balance_queries(instance: Instance) -> tuple[Query, ...]:
    """The balances, every 5 minutes: of sizes that burst, or when the limits are not known."""
    limits = instance.limits
    if limits is not None and (limits.baseline_iops, limits.baseline_mibps) == (
        limits.maximum_iops,
        limits.maximum_mibps,
    ):
        return ()
    return tuple(
        of_instance(instance.instance_id, metric, "Minimum")
        for metric in ("EBSIOBalance%", "EBSByteBalance%")
    )
