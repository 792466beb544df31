"""Which metrics tell what about a volume and its instance, and under which dimensions.

The Exceeded checks of a volume exist only under the pair of InstanceId and VolumeId; asked for by
VolumeId alone they are silently empty. Source: EBS User Guide, "CloudWatch metrics for EBS";
EC2 User Guide, "EBS metrics for Nitro-based instances" (2026-10).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from headroom.adapters.cloudwatch.disk_metrics import DiskSpace
from headroom.adapters.cloudwatch.metric_data import Query, Statistic, Window
from headroom.domain.detection import Glance, Metric
from headroom.domain.resources import (
    Instance,
    InstanceActivity,
    Series,
    Volume,
    VolumeActivity,
    VolumeType,
)

_MIB = 1024 * 1024
_KIB_PER_MIB = 1024
_WITH_CREDITS = (VolumeType.GP2, VolumeType.ST1, VolumeType.SC1)
"""Types that publish BurstBalance."""
_RATES = ("VolumeReadOps", "VolumeWriteOps", "VolumeReadBytes", "VolumeWriteBytes")


def _of_volume(volume_id: str, metric: str, statistic: Statistic) -> Query:
    dimensions = (("VolumeId", volume_id),)
    return Query(namespace="AWS/EBS", metric=metric, dimensions=dimensions, statistic=statistic)


def _of_pair(volume: Volume, metric: str, statistic: Statistic) -> Query | None:
    """A metric under the pair: only with exactly one instance."""
    if len(volume.instance_ids) != 1 or volume.multi_attach:
        return None
    pair = (("InstanceId", volume.instance_ids[0]), ("VolumeId", volume.ref.resource_id))
    return Query(namespace="AWS/EBS", metric=metric, dimensions=pair, statistic=statistic)


def _of_instance(instance_id: str, metric: str, statistic: Statistic) -> Query:
    dimensions = (("InstanceId", instance_id),)
    return Query(namespace="AWS/EC2", metric=metric, dimensions=dimensions, statistic=statistic)


def _burst_balance(volume: Volume) -> Query | None:
    if volume.configuration.volume_type not in _WITH_CREDITS:
        return None
    return _of_volume(volume.ref.resource_id, "BurstBalance", "Minimum")


def _queue(volume: Volume) -> Query:
    return _of_volume(volume.ref.resource_id, "VolumeQueueLength", "Average")


def _some(*queries: Query | None) -> tuple[Query, ...]:
    return tuple(query for query in queries if query is not None)


def _checks(volume: Volume, period_s: int = 60) -> tuple[Query | None, Query | None]:
    """The Exceeded checks: 0 or 1 of a minute, in longer periods how many minutes had a 1."""
    statistic: Statistic = "Maximum" if period_s <= 60 else "Sum"
    return (
        _of_pair(volume, "VolumeIOPSExceededCheck", statistic),
        _of_pair(volume, "VolumeThroughputExceededCheck", statistic),
    )


def _busiest_minutes(volume: Volume) -> tuple[Query | None, Query | None]:
    """Operations/s and KiB/s of the busiest minute in a longer period; Nitro instances only."""
    return (
        _of_pair(volume, "VolumeAvgIOPS", "Maximum"),
        _of_pair(volume, "VolumeAvgThroughput", "Maximum"),
    )


def _waits(volume: Volume, instance: Instance | None) -> tuple[Query | None, Query | None]:
    """The mean latency of reads and of writes in ms, where it is published.

    Only volumes of one Nitro instance outside Local Zones have it. It replaces two metrics that
    are published of every volume, VolumeTotalReadTime and VolumeTotalWriteTime. Those are read of
    earlier days, in which the volume may have been attached to another instance.
    """
    limits = None if instance is None else instance.limits
    local_zone = len(volume.availability_zone) != len(volume.ref.region) + 1
    if limits is None or not limits.nitro or local_zone:
        return None, None
    return (
        _of_pair(volume, "VolumeAvgReadLatency", "Average"),
        _of_pair(volume, "VolumeAvgWriteLatency", "Average"),
    )


def _stalled(volume: Volume, instance: Instance | None) -> Query | None:
    """Whether I/O was stalled in a minute, 0 or 1; published where the latency is."""
    published = _waits(volume, instance) != (None, None)
    return _of_pair(volume, "VolumeStalledIOCheck", "Maximum") if published else None


def glance_queries(volume: Volume, metrics: frozenset[Metric] | None = None) -> tuple[Query, ...]:
    """What a Glance needs: 3 or 4 metrics of an attached volume, or only `metrics`; none of a detached one."""
    if not volume.instance_ids:
        return ()  # EBS publishes for attached volumes only
    iops, throughput = _checks(volume)
    found = {
        Metric.IOPS_CHECK: iops, Metric.THROUGHPUT_CHECK: throughput,
        Metric.BALANCE: _burst_balance(volume), Metric.QUEUE: _queue(volume),
    }  # fmt: skip
    return _some(*(query for each, query in found.items() if metrics is None or each in metrics))


def summary_queries(volume: Volume) -> dict[str, Query]:
    """What the summary of whole days needs: 4 or 5 metrics of an attached volume, by their part in it."""
    if not volume.instance_ids:
        return {}
    iops, throughput = _checks(volume, 86_400)
    busiest_iops, busiest_kib = _busiest_minutes(volume)
    asked = {
        "iops_exceeded": iops, "throughput_exceeded": throughput, "busiest_iops": busiest_iops,
        "busiest_kib": busiest_kib, "burst_balance": _burst_balance(volume),
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
    return tuple(_of_volume(volume.ref.resource_id, metric, "Sum") for metric in _RATES)


def volume_queries(
    volume: Volume, period_s: int = 60, instance: Instance | None = None
) -> tuple[Query, ...]:
    """What a VolumeActivity of such periods needs; with `instance`, what it publishes of the volume.

    That costs one metric more, the check for stalled I/O.
    """
    waits = _waits(volume, instance)
    times = ("VolumeTotalReadTime", "VolumeTotalWriteTime") if waits == (None, None) else ()
    return _some(
        *(_of_volume(volume.ref.resource_id, metric, "Sum") for metric in (*_RATES, *times)),
        *waits,
        _stalled(volume, instance),
        _queue(volume),
        _burst_balance(volume),
        *_checks(volume, period_s),
        *(_busiest_minutes(volume) if period_s > 60 else ()),
    )


def profile_queries(volume: Volume, period_s: int) -> tuple[Query, ...]:
    """What the profile of the past needs of such periods: 6 metrics, 7 where there are credits."""
    rates = (_of_volume(volume.ref.resource_id, metric, "Sum") for metric in _RATES)
    return _some(*rates, _burst_balance(volume), *_checks(volume, period_s))


def instance_queries(instance: Instance) -> tuple[Query, ...]:
    """What an InstanceActivity needs at one-minute periods."""
    return (
        *(_of_volume(one, metric, "Sum") for one in instance.volume_ids for metric in _RATES),
        *instance_check_queries(instance),
    )


def instance_check_queries(instance: Instance) -> tuple[Query, ...]:
    """The instance's own Exceeded checks."""
    return tuple(
        _of_instance(instance.instance_id, metric, "Maximum")
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
        _of_instance(instance.instance_id, metric, "Minimum")
        for metric in ("EBSIOBalance%", "EBSByteBalance%")
    )


def glance_of(volume: Volume, found: Mapping[Query, Series], span: Window) -> Glance:
    """The Glance that `found` holds; None where nothing was published."""
    iops, throughput = (_values(found, check, span) for check in _checks(volume))
    balance = _values(found, _burst_balance(volume), span)
    queue = _values(found, _queue(volume), span)
    return Glance(
        iops_exceeded_minutes=sum(v >= 1 for v in iops) if iops else None,
        throughput_exceeded_minutes=sum(v >= 1 for v in throughput) if throughput else None,
        lowest_burst_balance_percent=min(balance, default=None),
        longest_queue=max(queue, default=None),
    )


def with_served(
    volume: Volume, glance: Glance, found: Mapping[Query, Series], span: Window
) -> Glance:
    """The Glance with the busiest minute that `found` holds: what reads and writes took together.

    A minute counts with what is known of it: this wakes a look and never decides.
    """
    reads, writes, read_bytes, written_bytes = (
        _series(found, _of_volume(volume.ref.resource_id, metric, "Sum"), span) for metric in _RATES
    )
    return replace(
        glance,
        peak_iops=_busiest(_per_second(reads, 1), _per_second(writes, 1)),
        peak_mibps=_busiest(_per_second(read_bytes, _MIB), _per_second(written_bytes, _MIB)),
    )


def _busiest(reads: Series, writes: Series) -> float | None:
    minutes = zip(reads.values, writes.values, strict=True)
    both = [(r, w) for r, w in minutes if r is not None or w is not None]
    return max(((r or 0.0) + (w or 0.0) for r, w in both), default=None)


def _series(found: Mapping[Query, Series], query: Query | None, span: Window) -> Series:
    return span.nothing() if query is None else found.get(query, span.nothing())


def _values(found: Mapping[Query, Series], query: Query | None, span: Window) -> tuple[float, ...]:
    return _series(found, query, span).known()


def volume_activity(
    volume: Volume,
    found: Mapping[Query, Series],
    span: Window,
    instance: Instance | None = None,
    disk: DiskSpace | None = None,
) -> VolumeActivity:
    """A volume\'s activity from what was found, None where nothing was; rates per second."""

    def total(metric: str) -> Series:
        return _series(found, _of_volume(volume.ref.resource_id, metric, "Sum"), span)

    iops_check, throughput_check = _checks(volume, span.period_s)
    busiest_ops, busiest_kib = (_series(found, q, span) for q in _busiest_minutes(volume))
    longer = span.period_s > 60
    operations = total("VolumeReadOps"), total("VolumeWriteOps")
    means = [_series(found, query, span) for query in _waits(volume, instance) if query is not None]
    spent = [_spent(mean, ops) for mean, ops in zip(means, operations, strict=False)] or [
        total("VolumeTotalReadTime"), total("VolumeTotalWriteTime"),
    ]  # fmt: skip
    stalled = _series(found, _stalled(volume, instance), span)
    return VolumeActivity(
        read_iops=_per_second(total("VolumeReadOps"), 1),
        write_iops=_per_second(total("VolumeWriteOps"), 1),
        read_mibps=_per_second(total("VolumeReadBytes"), _MIB),
        write_mibps=_per_second(total("VolumeWriteBytes"), _MIB),
        queue_length=_series(found, _queue(volume), span),
        latency_ms=_latency(*zip(spent, operations, strict=True)),
        burst_balance_percent=_series(found, _burst_balance(volume), span),
        iops_exceeded=_series(found, iops_check, span),
        throughput_exceeded=_series(found, throughput_check, span),
        busiest_iops=busiest_ops if longer else None,
        busiest_mibps=_divided(busiest_kib, _KIB_PER_MIB) if longer else None,
        stalled=stalled if stalled.known() else None,
        free_gib=None if disk is None else disk.free_gib(found, span),
        file_system_gib=None if disk is None else disk.size_gib(found, span),
    )


def _per_second(total: Series, unit: int) -> Series:
    return _divided(total, total.period_s * unit)


def _divided(series: Series, divisor: float) -> Series:
    values = tuple(None if v is None else v / divisor for v in series.values)
    return Series(start=series.start, period_s=series.period_s, values=values)


def _spent(mean_ms: Series, operations: Series) -> Series:
    """Seconds that the operations of each period took together."""
    pairs = zip(mean_ms.values, operations.values, strict=True)
    values = tuple(None if ms is None or n is None else ms * n / 1_000 for ms, n in pairs)
    return Series(start=mean_ms.start, period_s=mean_ms.period_s, values=values)


def _latency(*directions: tuple[Series, Series]) -> Series:
    """Milliseconds per operation over the directions that have both; None without operations."""
    grid = directions[0][0]
    values: list[float | None] = []
    periods = (zip(spent.values, ops.values, strict=True) for spent, ops in directions)
    for period in zip(*periods, strict=True):
        seconds = operations = 0.0
        for spent_s, number in period:
            if spent_s is not None and number is not None:
                seconds += spent_s
                operations += number
        values.append(seconds / operations * 1_000 if operations > 0 else None)
    return Series(start=grid.start, period_s=grid.period_s, values=tuple(values))


def instance_activity(
    instance: Instance,
    found: Mapping[Query, Series],
    span: Window,
    slow: Mapping[Query, Series],
    slow_span: Window,
) -> InstanceActivity:
    """An instance\'s activity: sums over its volumes, its own checks, and its balances."""

    def together(*metrics: str) -> Series:
        return _sum(
            [found[_of_volume(v, m, "Sum")] for v in instance.volume_ids for m in metrics], span
        )

    def own(metric: str) -> Series:
        return _series(found, _of_instance(instance.instance_id, metric, "Maximum"), span)

    def balance(metric: str) -> Series:
        return _series(slow, _of_instance(instance.instance_id, metric, "Minimum"), slow_span)

    return InstanceActivity(
        iops=_per_second(together("VolumeReadOps", "VolumeWriteOps"), 1),
        mibps=_per_second(together("VolumeReadBytes", "VolumeWriteBytes"), _MIB),
        iops_exceeded=own("InstanceEBSIOPSExceededCheck"),
        throughput_exceeded=own("InstanceEBSThroughputExceededCheck"),
        io_balance_percent=balance("EBSIOBalance%"),
        byte_balance_percent=balance("EBSByteBalance%"),
    )


def _sum(parts: Iterable[Series], span: Window) -> Series:
    """Their sum where all are known; one with no value in the whole window counts for nothing.

    A hole in a volume that does publish makes a hole in the sum: half a sum would understate
    how close the instance is to its limit.
    """
    alive = [part.values for part in parts if part.known()]
    if not alive:
        return span.nothing()
    values = tuple(
        None if None in minute else sum(v for v in minute if v is not None)
        for minute in zip(*alive, strict=True)
    )
    return Series(start=span.start, period_s=span.period_s, values=values)
