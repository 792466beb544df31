"""What the metrics that were found say about a volume and its instance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from headroom.adapters.cloudwatch.disk_metrics import DiskSpace
from headroom.adapters.cloudwatch.ebs_queries import (
    RATES,
    burst_balance_query,
    busiest_minute_queries,
    check_queries,
    latency_queries,
    of_instance,
    of_volume,
    queue_query,
    stalled_query,
)
from headroom.adapters.cloudwatch.metric_data import Query, Window
from headroom.domain.detection import Glance
from headroom.domain.resources import Instance, InstanceActivity, Series, Volume, VolumeActivity

_MIB = 1024 * 1024
_KIB_PER_MIB = 1024


def glance_of(volume: Volume, found: Mapping[Query, Series], span: Window) -> Glance:
    """The Glance that `found` holds; None where nothing was published."""
    iops, throughput = (_values(found, check, span) for check in check_queries(volume))
    balance = _values(found, burst_balance_query(volume), span)
    queue = _values(found, queue_query(volume), span)
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

    A minute counts with what is known of it: this only wakes a reconciliation, which decides.
    """
    reads, writes, read_bytes, written_bytes = (
        _series(found, of_volume(volume.ref.resource_id, metric, "Sum"), span) for metric in RATES
    )
    return replace(
        glance,
        peak_iops=_busiest(_per_second(reads, 1), _per_second(writes, 1)),
        peak_mibps=_busiest(_per_second(read_bytes, _MIB), _per_second(written_bytes, _MIB)),
    )


def together_with(
    found: Mapping[Query, Series], elsewhere: Mapping[Query, Sequence[Query]]
) -> Mapping[Query, Series]:
    """What was found, where nothing was published with what was `elsewhere`."""
    both = dict(found)
    for query, others in elsewhere.items():
        for other in others:
            pairs = zip(both[query].values, found[other].values, strict=True)
            values = tuple([there if here is None else here for here, there in pairs])
            both[query] = replace(both[query], values=values)
    return both


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
    """A volume's activity from what was found, None where nothing was; rates per second."""

    def total(metric: str) -> Series:
        return _series(found, of_volume(volume.ref.resource_id, metric, "Sum"), span)

    iops_check, throughput_check = check_queries(volume, span.period_s)
    busiest_ops, busiest_kib = (_series(found, q, span) for q in busiest_minute_queries(volume))
    longer = span.period_s > 60
    operations = total("VolumeReadOps"), total("VolumeWriteOps")
    means = [
        _series(found, query, span)
        for query in latency_queries(volume, instance)
        if query is not None
    ]
    spent = [_spent(mean, ops) for mean, ops in zip(means, operations, strict=False)] or [
        total("VolumeTotalReadTime"), total("VolumeTotalWriteTime"),
    ]  # fmt: skip
    stalled = _series(found, stalled_query(volume, instance), span)
    return VolumeActivity(
        read_iops=_per_second(total("VolumeReadOps"), 1),
        write_iops=_per_second(total("VolumeWriteOps"), 1),
        read_mibps=_per_second(total("VolumeReadBytes"), _MIB),
        write_mibps=_per_second(total("VolumeWriteBytes"), _MIB),
        queue_length=_series(found, queue_query(volume), span),
        latency_ms=_latency(*zip(spent, operations, strict=True)),
        burst_balance_percent=_series(found, burst_balance_query(volume), span),
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
    values = tuple([None if v is None else v / divisor for v in series.values])
    return Series(start=series.start, period_s=series.period_s, values=values)


def _spent(mean_ms: Series, operations: Series) -> Series:
    """Seconds that the operations of each period took together."""
    pairs = zip(mean_ms.values, operations.values, strict=True)
    values = tuple([None if ms is None or n is None else ms * n / 1_000 for ms, n in pairs])
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
    """An instance's activity: sums over its volumes, its own checks, and its balances."""

    def together(*metrics: str) -> Series:
        return _sum(
            [found[of_volume(v, m, "Sum")] for v in instance.volume_ids for m in metrics], span
        )

    def own(metric: str) -> Series:
        return _series(found, of_instance(instance.instance_id, metric, "Maximum"), span)

    def balance(metric: str) -> Series:
        return _series(slow, of_instance(instance.instance_id, metric, "Minimum"), slow_span)

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
