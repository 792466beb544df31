"""Which metrics describe a database's storage, and under which dimension.

ReadIOPS and the like are rates already (operations/s, bytes/s, seconds): their average is the rate,
not their sum over the period. Nothing says that a limit was exceeded; EBSIOBalance% and
EBSByteBalance% come every five minutes, of classes that burst. Source: RDS User Guide, "Amazon
CloudWatch metrics for Amazon RDS" (2026-10).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType

from headroom.adapters.cloudwatch.metric_data import Dimensions, Query, Statistic, Window
from headroom.domain.detection import Glance, Metric
from headroom.domain.resources import (
    Instance,
    InstanceActivity,
    Series,
    Volume,
    VolumeActivity,
    VolumeType,
)
from headroom.domain.workload import slowest_ms

_MIB = 1024 * 1024
_GIB = 1024**3
_MS_PER_S = 1_000
_FREE = "FreeStorageSpace"
_RATES = ("ReadIOPS", "WriteIOPS", "ReadThroughput", "WriteThroughput")
_WAITS = ("ReadLatency", "WriteLatency", "DiskQueueDepth")
_BALANCES = ("EBSIOBalance%", "EBSByteBalance%")


PerVolume = Mapping[tuple[str, str], Dimensions]
"""Dimensions of the metrics of each volume of an instance that has several, by instance and volume name in lower case."""
NOTHING: PerVolume = MappingProxyType({})
_UNPUBLISHED: Dimensions = ()


def members(volume: Volume) -> tuple[str, ...]:
    """The DB instances that a database's metrics are published of."""
    return () if volume.facts is None else volume.facts.members


def several_volumes(volume: Volume) -> bool:
    """Whether the instance has additional storage volumes: its own metrics then add up all of them."""
    return volume.facts is not None and bool(volume.facts.additional)


def per_volume(listed: Iterable[Iterable[Mapping[str, str]]]) -> PerVolume:
    """Dimensions as ListMetrics spells them, of metrics with an instance and a volume name and nothing else.

    The RDS User Guide spells the pair `DbInstanceIdentifier, VolumeName`, but the instance's own dimension
    `DBInstanceIdentifier`, and CloudWatch is case-sensitive. So it is read and not guessed.
    """
    found = {}
    for dimensions in listed:
        pair = tuple(sorted((each["Name"], each["Value"]) for each in dimensions))
        named = {name.lower(): value.lower() for name, value in pair}
        if set(named) == {"dbinstanceidentifier", "volumename"} and len(pair) == 2:
            found[named["dbinstanceidentifier"], named["volumename"]] = pair
    return found


def _metered(volume: Volume, volumes: PerVolume) -> tuple[Dimensions, ...]:
    """The dimensions of the metrics that say what this storage did, of each member.

    None where the instance has several volumes and CloudWatch lists no metrics of this one.
    """
    if not several_volumes(volume):
        return _instances(volume)
    assert volume.facts is not None
    keys = ((each, volume.facts.volume_name or "") for each in members(volume))
    return tuple(volumes[key] for key in keys if key in volumes)


def _instances(volume: Volume) -> tuple[Dimensions, ...]:
    return tuple((("DBInstanceIdentifier", each),) for each in members(volume))


def _of(dimensions: Dimensions, metric: str, statistic: Statistic = "Average") -> Query:
    return Query(namespace="AWS/RDS", metric=metric, dimensions=dimensions, statistic=statistic)


def _balance(volume: Volume, member: Dimensions) -> tuple[Query, ...]:
    """gp2's own credits; no other type of a database has any."""
    gp2 = volume.configuration.volume_type is VolumeType.GP2
    return (_of(member, "BurstBalance", "Minimum"),) if gp2 else ()


def glance_queries(
    volume: Volume, metrics: frozenset[Metric] | None = None, volumes: PerVolume = NOTHING
) -> tuple[Query, ...]:
    """What a Glance needs: 6 metrics of each member, 7 where there are credits; or only `metrics`.

    RDS publishes no Exceeded check: instead of them the load that was served is read.
    """
    asked = frozenset(Metric) if metrics is None else metrics
    rates = asked & {Metric.IOPS_CHECK, Metric.THROUGHPUT_CHECK}
    return tuple(
        query
        for one in _metered(volume, volumes)
        for query in (
            *(_of(one, metric) for metric in _RATES if rates),
            *([_of(one, "DiskQueueDepth")] if Metric.QUEUE in asked else []),
            *([_of(one, _FREE, "Minimum")] if Metric.FREE in asked else []),
            *(_balance(volume, one) if Metric.BALANCE in asked else ()),
        )
    )


def summary_queries(volume: Volume, volumes: PerVolume = NOTHING) -> tuple[dict[str, Query], ...]:
    """What the summary of whole days needs of each member: 6 metrics by name, 7 where there are credits."""
    return tuple(
        {
            **{metric: _of(one, metric, "Maximum") for metric in (*_RATES, "DiskQueueDepth")},
            _FREE: _of(one, _FREE, "Minimum"),
            **{query.metric: query for query in _balance(volume, one)},
        }
        for one in _metered(volume, volumes)
    )


def storage_queries(
    volume: Volume, period_s: int = 60, volumes: PerVolume = NOTHING
) -> tuple[Query, ...]:
    """What a VolumeActivity of such periods needs, of every member."""
    return tuple(
        query
        for one in _metered(volume, volumes)
        for query in (
            *(_of(one, metric) for metric in (*_RATES, *_WAITS)),
            *(_of(one, metric, "Maximum") for metric in _RATES if period_s > 60),
            _of(one, _FREE, "Minimum"),
            *_balance(volume, one),
        )
    )


def profile_queries(volume: Volume, volumes: PerVolume = NOTHING) -> tuple[Query, ...]:
    """What the profile of the past needs: 4 metrics of each member, 5 where there are credits."""
    return tuple(
        query
        for one in _metered(volume, volumes)
        for query in (*(_of(one, metric) for metric in _RATES), *_balance(volume, one))
    )


def balance_queries(volume: Volume, instance: Instance) -> tuple[Query, ...]:
    """The balances of the class: of one that bursts, or when its limits are not known."""
    limits = instance.limits
    if limits is not None and (limits.baseline_iops, limits.baseline_mibps) == (
        limits.maximum_iops,
        limits.maximum_mibps,
    ):
        return ()
    return tuple(_of(one, m, "Minimum") for one in _instances(volume) for m in _BALANCES)


def instance_queries(volume: Volume) -> tuple[Query, ...]:
    """The traffic of all volumes of an instance, where it is not that of this one alone."""
    if not several_volumes(volume):
        return ()
    return tuple(_of(one, metric) for one in _instances(volume) for metric in _RATES)


def glance_of(
    volume: Volume, found: Mapping[Query, Series], span: Window, volumes: PerVolume = NOTHING
) -> Glance:
    """The Glance that `found` holds, of the busiest member; None where nothing was published."""
    seen = [_activity(volume, one, found, span) for one in _metered(volume, volumes)]

    def highest(series: Callable[[VolumeActivity], Series]) -> float | None:
        return max((v for each in seen for v in series(each).known()), default=None)

    balances = (v for each in seen for v in each.burst_balance_percent.known())
    free = [() if each.free_gib is None else each.free_gib.known() for each in seen]
    return Glance(
        iops_exceeded_minutes=None,
        throughput_exceeded_minutes=None,
        lowest_burst_balance_percent=min(balances, default=None),
        longest_queue=highest(lambda a: a.queue_length),
        peak_iops=highest(lambda a: _added(a.read_iops, a.write_iops)),
        peak_mibps=highest(lambda a: _added(a.read_mibps, a.write_mibps)),
        slowest_ms=slowest_ms(
            minute
            for each in seen
            for minute in zip(
                each.read_iops.values, each.write_iops.values, each.queue_length.values, strict=True
            )
        ),
        lowest_free_gib=min((v for one in free for v in one), default=None),
        filled_gib=max((one[0] - one[-1] for one in free if one), default=None),
    )


def storage_activity(
    volume: Volume, found: Mapping[Query, Series], span: Window, volumes: PerVolume = NOTHING
) -> VolumeActivity:
    """A database's activity; of a cluster, in every period that of its busiest member.

    Each member has a copy of the storage to itself: their loads do not add up.
    """
    metered = _metered(volume, volumes) or (_UNPUBLISHED,) * bool(members(volume))
    seen = [_activity(volume, one, found, span) for one in metered]
    return seen[0] if len(seen) == 1 else _busiest_member(seen, span)


def instance_activity(
    volume: Volume, own: VolumeActivity, found: Mapping[Query, Series], span: Window,
    slow: Mapping[Query, Series], slow_span: Window,
) -> InstanceActivity:  # fmt: skip
    """What the database's instance did: the traffic of all its volumes, `found` of several, `own` of one."""
    nothing = _alike(own.read_iops, (None,) * len(own.read_iops.values))
    balances = (
        _lowest(
            [slow.get(_of(one, m, "Minimum"), slow_span.nothing()) for one in _instances(volume)]
        )
        for m in _BALANCES
    )
    every = own
    if several_volumes(volume):
        every = _activity(volume, _instances(volume)[0], found, span)
    io_balance, byte_balance = (b or slow_span.nothing() for b in balances)
    return InstanceActivity(
        iops=_added(every.read_iops, every.write_iops),
        mibps=_added(every.read_mibps, every.write_mibps),
        iops_exceeded=nothing,
        throughput_exceeded=nothing,
        io_balance_percent=io_balance,
        byte_balance_percent=byte_balance,
    )


def _activity(
    volume: Volume, member: Dimensions, found: Mapping[Query, Series], span: Window
) -> VolumeActivity:
    def of(metric: str, statistic: Statistic = "Average", unit: float = 1.0) -> Series:
        series = found.get(_of(member, metric, statistic), span.nothing())
        return _each(series, lambda v: v / unit)

    reads, writes = of("ReadIOPS"), of("WriteIOPS")
    read, written = of("ReadThroughput", unit=_MIB), of("WriteThroughput", unit=_MIB)
    longer = span.period_s > 60
    peaks = [of(m, "Maximum", 1 if m.endswith("IOPS") else _MIB) for m in _RATES if longer]
    balance = _balance(volume, member)
    return VolumeActivity(
        read_iops=reads,
        write_iops=writes,
        read_mibps=read,
        write_mibps=written,
        queue_length=of("DiskQueueDepth"),
        latency_ms=_latency((reads, of("ReadLatency")), (writes, of("WriteLatency"))),
        burst_balance_percent=found.get(balance[0], span.nothing()) if balance else span.nothing(),
        iops_exceeded=span.nothing(),
        throughput_exceeded=span.nothing(),
        busiest_iops=_busiest(reads, writes, peaks[0], peaks[1]) if longer else None,
        busiest_mibps=_busiest(read, written, peaks[2], peaks[3]) if longer else None,
        free_gib=of(_FREE, "Minimum", _GIB),
    )


def _busiest(reads: Series, writes: Series, most_read: Series, most_written: Series) -> Series:
    """At least what the busiest minute took: the busiest of one direction, the other's average."""
    return _lifted(
        max, _added(most_read, writes), _added(reads, most_written), _added(reads, writes)
    )


def _busiest_member(seen: Sequence[VolumeActivity], span: Window) -> VolumeActivity:
    if not seen:
        raise ValueError("a database without a member publishes nothing")
    took = [_added(each.read_iops, each.write_iops).values for each in seen]
    chosen = [
        max(range(len(seen)), key=lambda one: (took[one][i] is not None, took[one][i] or 0.0))
        for i in range(span.periods)
    ]

    def pick(name: str) -> Series | None:
        parts: list[Series | None] = [getattr(each, name) for each in seen]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        return _alike(known[0], tuple(known[one].values[i] for i, one in enumerate(chosen)))

    chosen_of = {
        f.name: pick(f.name)
        for f in fields(VolumeActivity)
        if f.name not in ("free_gib", "file_system_gib")
    }
    free = _lowest(each.free_gib for each in seen if each.free_gib is not None)
    return VolumeActivity(**chosen_of, free_gib=free)  # type: ignore[arg-type]


def _latency(*directions: tuple[Series, Series]) -> Series:
    """Milliseconds per operation over both directions; RDS publishes none for a direction at rest."""
    grid = directions[0][0]
    values: list[float | None] = []
    for i in range(len(grid.values)):
        pairs = [(rate.values[i], wait.values[i]) for rate, wait in directions]
        known = [(rate, wait) for rate, wait in pairs if rate and wait is not None]
        operations = sum(rate for rate, _ in known)
        spent = sum(rate * wait for rate, wait in known)
        values.append(spent / operations * _MS_PER_S if operations > 0 else None)
    return _alike(grid, tuple(values))


def _added(one: Series, other: Series) -> Series:
    """Their sum with what is known of each; None where neither is."""
    return _alike(
        one,
        tuple(
            None if a is None and b is None else (a or 0.0) + (b or 0.0)
            for a, b in zip(one.values, other.values, strict=True)
        ),
    )


def _lowest(parts: Iterable[Series]) -> Series | None:
    found = list(parts)
    return _lifted(min, *found) if found else None


def _lifted(choose: Callable[[Iterable[float]], float], *parts: Series) -> Series:
    columns = zip(*(part.values for part in parts), strict=True)
    values = [[v for v in column if v is not None] for column in columns]
    return _alike(parts[0], tuple(choose(known) if known else None for known in values))


def _each(series: Series, change: Callable[[float], float]) -> Series:
    return _alike(series, tuple(None if v is None else change(v) for v in series.values))


def _alike(series: Series, values: tuple[float | None, ...]) -> Series:
    return Series(start=series.start, period_s=series.period_s, values=values)
