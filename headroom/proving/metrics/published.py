"""The published metrics of one volume and its instance, as a reader of CloudWatch finds them.

The same semantics as the CloudWatch adapter: rates are Sum over period, a datapoint of a minute
is there once the minute has ended and the metric delay has passed, what was never published is
None. Minutes are numbered from the epoch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from headroom.domain.catalog.ebs import MIB
from headroom.domain.resources import InstanceActivity, Series, VolumeActivity
from headroom.domain.workload import slowest_ms
from headroom.ports import Glance
from headroom.proving.metrics.minute_values import Column, MinuteValues, Values
from headroom.proving.physics import OtherLoad

ACTIVITY_MIN = 3 * 60
HISTORY_MIN = 14 * 24 * 60
GLANCE_MIN = 30
SLOW_MIN = 5
"""Period of history and of an instance's balances."""
HOUR_MIN = 60
SLOW_KEPT_HOURS = 63 * 24 - 1
"""How long periods of five minutes are kept, with an hour to spare; as the adapter asks."""
VOLUME_SERIES = (
    "read_iops", "write_iops", "read_mibps", "write_mibps", "queue_length", "latency_ms",
    "burst_balance_percent", "iops_exceeded", "throughput_exceeded",
)  # fmt: skip
INSTANCE_SERIES = {
    "iops_exceeded": "InstanceEBSIOPSExceededCheck",
    "throughput_exceeded": "InstanceEBSThroughputExceededCheck",
    "io_balance": "EBSIOBalance%",
    "byte_balance": "EBSByteBalance%",
}
RATES = VOLUME_SERIES[:4]
BUSIEST = ("busiest_iops", "busiest_mibps")
"""What only periods of more than a minute have; see VolumeActivity."""
FREE = "free_gib"


def minute_number(instant: datetime) -> int:
    """Number of the clock minute that `instant` lies in."""
    return int(instant.timestamp() // 60)


class PublishedVolume:
    """The datapoints of one volume and of its instance.

    `other_iops` and `other_mibps` are what the instance's other volumes publish, or `others` by the
    minute.
    """

    def __init__(
        self,
        *,
        delay: timedelta,
        other_iops: float,
        other_mibps: float,
        database: bool = False,
        others: OtherLoad | None = None,
    ) -> None:
        self._delay_s = delay.total_seconds()
        self._other, self._others = (other_iops, other_mibps), others
        self._database = database
        self._volume = MinuteValues(VOLUME_SERIES)
        self._instance = MinuteValues(tuple(INSTANCE_SERIES))
        self._slow = MinuteValues((*VOLUME_SERIES, *BUSIEST))
        self._free, self._slow_free = MinuteValues((FREE,)), MinuteValues((FREE,))
        self._repeated_from: int | None = None  # the first of the latest minutes that were

    def put(self, minute: int, sums: Mapping[str, float]) -> None:
        """Publish one minute: the sum of each metric that has a datapoint in it."""
        self._repeated_from = None
        self._volume.put(minute, _volume_values(sums))
        self._instance.put(minute, _instance_values(sums))
        if minute % SLOW_MIN == SLOW_MIN - 1:
            self._slow.put(minute // SLOW_MIN, self._period(minute // SLOW_MIN, minute + 1))

    def repeat(self, minute: int, until: int) -> None:
        """Publish the five minutes before `minute`, which are alike, again for all minutes until `until`."""
        for values in (self._volume, self._instance):
            values.repeat(until - minute, SLOW_MIN)  # some metrics have one datapoint in five
        if self._repeated_from is None:
            self._repeated_from = minute
        first, last = minute // SLOW_MIN, until // SLOW_MIN
        if first < last and first * SLOW_MIN < self._repeated_from:
            self._slow.put(first, self._period(first, until))
            first += 1
        if first < last:  # whole periods like the one before them
            self._slow.repeat(last - first)

    def forget_minutes(self, before: int) -> None:
        """Keep only longer periods of the minutes before `before`."""
        self._volume.forget(before)
        self._instance.forget(before)

    def put_free(self, minute: int, gib: float) -> None:
        """Publish what is free on a database's storage at the end of one minute."""
        self._free.put(minute, {FREE: gib})
        if minute % SLOW_MIN == SLOW_MIN - 1:
            period = minute // SLOW_MIN
            self._slow_free.put(period, {FREE: self._lowest_free(period, minute + 1)})

    def visible(self, now: datetime) -> int:
        """The first minute that is not readable yet at `now`."""
        return int((now.timestamp() - self._delay_s) // 60)

    def recent(self, names: Sequence[str], now: datetime, minutes: int) -> list[Column]:
        """The latest readable minutes of some of a volume's series, oldest first."""
        visible = self.visible(now)
        return [self._volume.cut(name, visible - minutes, minutes, visible) for name in names]

    def glance(self, now: datetime, minutes: int = GLANCE_MIN) -> Glance:
        """Summary of the last half hour, or of the given number of minutes."""
        first, visible = minute_number(now) - minutes, self.visible(now)
        cut = {n: self._volume.cut(n, first, minutes, visible) for n in VOLUME_SERIES}
        known = {name: [v for v in values if v is not None] for name, values in cut.items()}
        iops, throughput = known["iops_exceeded"], known["throughput_exceeded"]
        queue = known["queue_length"]
        without_checks = not iops and not throughput and bool(queue)

        def busiest(reads: str, writes: str) -> float | None:
            both = zip(cut[reads], cut[writes], strict=True) if without_checks else ()
            known = ((r or 0.0) + (w or 0.0) for r, w in both if r is not None or w is not None)
            return max(known, default=None)

        waits = zip(cut["read_iops"], cut["write_iops"], cut["queue_length"], strict=True)
        free = [v for v in self._free.cut(FREE, first, minutes, visible) if v is not None]
        return Glance(
            lowest_free_gib=min(free, default=None),
            filled_gib=free[0] - free[-1] if free else None,
            iops_exceeded_minutes=int(sum(iops)) if iops else None,
            throughput_exceeded_minutes=int(sum(throughput)) if throughput else None,
            lowest_burst_balance_percent=min(known["burst_balance_percent"], default=None),
            longest_queue=max(queue, default=None),
            peak_iops=busiest("read_iops", "write_iops"),
            peak_mibps=busiest("read_mibps", "write_mibps"),
            slowest_ms=slowest_ms(waits) if self._database else None,
        )

    def activity(self, now: datetime) -> tuple[VolumeActivity, InstanceActivity]:
        """The last three hours at one-minute periods; balances at five."""
        first, visible = minute_number(now) - ACTIVITY_MIN, self.visible(now)
        series = {
            name: _series(first, 1, self._volume.cut(name, first, ACTIVITY_MIN, visible))
            for name in VOLUME_SERIES
        }
        free = self._free_series(first, ACTIVITY_MIN, visible)
        return (
            VolumeActivity(**series, free_gib=free, stalled=_never_stalled(series)),
            self._of_instance(series, now, first, visible),
        )

    def history(self, now: datetime) -> VolumeActivity | None:
        """The last 14 days at five-minute periods; None when nothing was published."""
        count = HISTORY_MIN // SLOW_MIN
        first, visible = minute_number(now) // SLOW_MIN - count, self.visible(now)
        growing = self._period(whole := visible // SLOW_MIN, visible)
        known = whole - first if 0 <= whole - first < count else count
        columns: dict[str, Series] = {}
        for name in (*VOLUME_SERIES, *BUSIEST):
            values = self._slow.cut(name, first, known, whole)
            if known < count:
                values = (*values, growing[name], *(None,) * (count - known - 1))
            columns[name] = _series(first * SLOW_MIN, SLOW_MIN, values)
        if columns["read_iops"].values == (None,) * count:
            return None
        free = None
        if self._free.first is not None:
            lowest = self._slow_free.cut(FREE, first, known, whole)
            if known < count:
                newest = self._lowest_free(whole, visible)
                lowest = (*lowest, newest, *(None,) * (count - known - 1))
            free = _series(first * SLOW_MIN, SLOW_MIN, lowest)
        return VolumeActivity(**columns, free_gib=free)

    def older_history(
        self, now: datetime, since: datetime, until: datetime
    ) -> tuple[VolumeActivity, ...]:
        """Hours until 63 days before `now`, then five minutes of the time between."""
        until_hour = -(-minute_number(until) // HOUR_MIN)
        first = -(-minute_number(since) // HOUR_MIN)
        edge = min(max(first, minute_number(now) // HOUR_MIN - SLOW_KEPT_HOURS), until_hour)
        per_hour = HOUR_MIN // SLOW_MIN

        def slow(name: str, begin: int, end: int) -> tuple[float | None, ...]:
            count = (end - begin) * per_hour
            return self._slow.cut(name, begin * per_hour, count, end * per_hour)

        hours = _hourly({n: slow(n, first, edge) for n in VOLUME_SERIES})
        fives = {n: slow(n, edge, until_hour) for n in VOLUME_SERIES}
        parts = ((first, HOUR_MIN, hours), (edge, SLOW_MIN, fives))
        return tuple(
            VolumeActivity(
                **{
                    name: _series(begin * HOUR_MIN, period, values)
                    for name, values in found.items()
                }
            )
            for begin, period, found in parts
            if any(v is not None for v in found["read_iops"])
        )

    def _lowest_free(self, number: int, visible: int) -> float | None:
        """The lowest minute of a five-minute period, of those that are readable before `visible`."""
        minutes = self._free.cut(FREE, number * SLOW_MIN, SLOW_MIN, visible)
        return min((gib for gib in minutes if gib is not None), default=None)

    def _free_series(self, first: int, minutes: int, visible: int) -> Series | None:
        """Free space by the minute; None where none was ever published."""
        if self._free.first is None:
            return None
        return _series(first, 1, self._free.cut(FREE, first, minutes, visible))

    def _of_instance(
        self, volume: dict[str, Series], now: datetime, first: int, visible: int
    ) -> InstanceActivity:
        slow_first = minute_number(now) // SLOW_MIN * SLOW_MIN - ACTIVITY_MIN

        def check(name: str) -> Series:
            return _series(first, 1, self._instance.cut(name, first, ACTIVITY_MIN, visible))

        def balance(name: str) -> Series:
            values = self._instance.cut(
                name, slow_first, ACTIVITY_MIN, visible - visible % SLOW_MIN
            )
            return _series(slow_first, SLOW_MIN, values[::SLOW_MIN])

        others = self._other_loads(first)
        iops = _together(volume, "read_iops", "write_iops", [rates[0] for rates in others])
        mibps = _together(volume, "read_mibps", "write_mibps", [rates[1] for rates in others])
        return InstanceActivity(
            iops=_series(first, 1, iops),
            mibps=_series(first, 1, mibps),
            iops_exceeded=check("iops_exceeded"),
            throughput_exceeded=check("throughput_exceeded"),
            io_balance_percent=balance("io_balance"),
            byte_balance_percent=balance("byte_balance"),
        )

    def _other_loads(self, first: int) -> list[tuple[float, float]]:
        """What the other volumes publish in the minutes of an activity that begins at `first`."""
        if self._others is None:
            return [self._other] * ACTIVITY_MIN
        minutes = range(first, first + ACTIVITY_MIN)
        return [self._others.at(datetime.fromtimestamp(60 * each, UTC)) for each in minutes]

    def _period(self, number: int, visible: int) -> Values:
        """One five-minute period from the minutes of it that are readable before `visible`."""
        minutes = {
            name: self._volume.cut(name, number * SLOW_MIN, SLOW_MIN, visible)
            for name in VOLUME_SERIES
        }
        values = _longer(minutes)
        values["busiest_iops"] = _busiest(minutes, "read_iops", "write_iops")
        values["busiest_mibps"] = _busiest(minutes, "read_mibps", "write_mibps")
        return values


def _never_stalled(volume: Mapping[str, Series]) -> Series | None:
    """VolumeStalledIOCheck, 0 wherever the other checks are published: no volume here stalls."""
    checks = volume["iops_exceeded"]
    values = tuple([None if v is None else 0.0 for v in checks.values])
    return replace(checks, values=values) if checks.known() else None


def _busiest(
    minutes: Mapping[str, tuple[float | None, ...]], reads: str, writes: str
) -> float | None:
    """The busiest minute, published where the checks are."""
    rows = zip(minutes[reads], minutes[writes], minutes["iops_exceeded"], strict=True)
    return max(((r or 0.0) + (w or 0.0) for r, w, c in rows if c is not None), default=None)


def _longer(parts: Mapping[str, tuple[float | None, ...]]) -> Values:
    """The values of a period from its parts, as CloudWatch: rates count missing parts as zero."""
    values: Values = {}
    for name, column in parts.items():
        known = [value for value in column if value is not None]
        if not known:
            values[name] = None
        elif name in RATES:
            values[name] = sum(known) / len(column)
        elif name == "burst_balance_percent":
            values[name] = min(known)
        elif name == "queue_length":
            values[name] = sum(known) / len(known)
        elif name == "latency_ms":
            rates = zip(column, parts["read_iops"], parts["write_iops"], strict=True)
            waits = [(ms, (r or 0.0) + (w or 0.0)) for ms, r, w in rates if ms is not None]
            ops = sum(weight for _, weight in waits)
            values[name] = sum(ms * weight for ms, weight in waits) / ops if ops else None
        else:
            values[name] = sum(known)
    return values


def _hourly(fives: Mapping[str, Column]) -> dict[str, Column]:
    """Columns of whole hours from those of five minutes; reads are published whenever anything is."""
    per_hour, reads = HOUR_MIN // SLOW_MIN, fives["read_iops"]
    nothing: Values = dict.fromkeys(fives)  # most of the 400 days before a short history
    hours = [
        _longer({name: column[place : place + per_hour] for name, column in fives.items()})
        if reads[place : place + per_hour].count(None) < per_hour
        else nothing
        for place in range(0, len(reads), per_hour)
    ]
    return {name: tuple([hour[name] for hour in hours]) for name in fives}


def _volume_values(found: Mapping[str, float]) -> Values:
    def rate(name: str, unit: float = 1.0) -> float | None:
        return found[name] / (60 * unit) if name in found else None

    total = found.get
    ops = total("VolumeReadOps", 0.0) + total("VolumeWriteOps", 0.0)
    time = total("VolumeTotalReadTime", 0.0) + total("VolumeTotalWriteTime", 0.0)
    timed = "VolumeTotalReadTime" in found and ops > 0
    return {
        "read_iops": rate("VolumeReadOps"),
        "write_iops": rate("VolumeWriteOps"),
        "read_mibps": rate("VolumeReadBytes", MIB),
        "write_mibps": rate("VolumeWriteBytes", MIB),
        "queue_length": total("VolumeQueueLength"),
        "latency_ms": 1000 * time / ops if timed else None,
        "burst_balance_percent": total("BurstBalance"),
        "iops_exceeded": total("VolumeIOPSExceededCheck"),
        "throughput_exceeded": total("VolumeThroughputExceededCheck"),
    }


def _instance_values(found: Mapping[str, float]) -> Values:
    return {column: found.get(name) for column, name in INSTANCE_SERIES.items()}


def _together(
    volume: dict[str, Series], reads: str, writes: str, others: Sequence[float]
) -> tuple[float | None, ...]:
    parts = zip(volume[reads].values, volume[writes].values, others, strict=True)
    return tuple([None if r is None or w is None else r + w + other for r, w, other in parts])


def _series(minute: int, period_min: int, values: Sequence[float | None]) -> Series:
    """A series that begins at the minute of this number."""
    start = datetime.fromtimestamp(60 * minute, UTC)
    return Series(start=start, period_s=60 * period_min, values=tuple(values))
