"""Published rules for changing EBS volumes, each implemented as well as its publication allows.

A rule reads the published metrics and returns a target; the trial applies the same limits, slots
and AWS refusals to every rule. A rule keeps its own memory: one rule object runs one volume.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType

import numpy as np

from headroom.domain.catalog.ebs import LIMITS, capability, cheapest, max_iops
from headroom.domain.resources import Configuration, VolumeType
from headroom.proving.rivals.histogram import DecayingHistogram
from headroom.proving.trials import ControlRule, PublishedSoFar
from headroom.proving.workloads import Floats

HOUR, DAY = 60, 24 * 60
GP3_INCLUDED = (3_000, 125)
GP3_MOST_MIBPS = 2_000
LEAST_IOPS: Mapping[VolumeType, int] = MappingProxyType(
    {kind: limits.iops[0] for kind, limits in LIMITS.items() if limits.iops is not None}
)


class Threshold:
    """Cloud Custodian 0.9: a `metrics` filter and the action `modify` with `iops-percent: 150`.

    An hourly policy on volumes that are `modifyable`. Its documentation raises IOPS by a percentage
    of what is there and knows no ceiling and no way down; the action has no throughput. gp2
    under 20 % BurstBalance becomes gp3, as its gp2-to-gp3 policy does; with no values given, EBS
    keeps the throughput the volume had. Source: cloudcustodian.io, aws.ebs, action `modify`.
    """

    name = "c7n-threshold"
    every_min = HOUR
    BALANCE, UTILISATION, RAISE = 20.0, 0.8, 1.5

    def desired(self, published: PublishedSoFar, now: datetime) -> Configuration | None:
        """1.5 times the IOPS if five minutes of the last hour used 80 % of them."""
        current = published.configuration
        if published.in_flight:
            return None
        if current.volume_type is VolumeType.GP2:
            low = np.nanmin(published.balance[-HOUR:], initial=100.0) < self.BALANCE
            kept = capability(current).sustained_mibps
            return _gp3(current, GP3_INCLUDED[0], kept) if low else None
        used = _five_minutes(published.iops[-HOUR:], np.nanmean)
        if not used.size or used.max() < self.UTILISATION * (current.iops or 0):
            return None
        return _with_iops(current, self.RAISE * (current.iops or 0))


class Gp2ToGp3:
    """AWS's EBS migration utility: every gp2 volume becomes gp3 at 3,000 IOPS and 125 MiB/s, once.

    Other types are left as they are. Source: aws-samples/amazon-ebs-migration-utility, README.
    """

    name = "gp2-to-gp3"
    every_min = DAY

    def desired(self, published: PublishedSoFar, now: datetime) -> Configuration | None:
        """gp3 with its included rates, if the volume is gp2."""
        if published.configuration.volume_type is not VolumeType.GP2:
            return None
        iops, mibps = GP3_INCLUDED
        return replace(
            published.configuration, volume_type=VolumeType.GP3, iops=iops, throughput_mibps=mibps
        )


class GrowGp2:
    """Grow gp2 by a tenth, at least 10 GiB, whenever BurstBalance is under 20 %.

    Metricly's "Using Lambda to automate EBS burst balance" grows on a BurstBalance alarm; the
    step is that of RDS storage autoscaling (the larger of 10 GiB and 10 %). Five minutes is
    what BurstBalance alarms there are evaluated on.
    """

    name = "grow-gp2"
    every_min = 5
    BALANCE, SHARE, LEAST_GIB = 20.0, 0.10, 10

    def desired(self, published: PublishedSoFar, now: datetime) -> Configuration | None:
        """A larger gp2 volume while the bucket is low."""
        current = published.configuration
        if current.volume_type is not VolumeType.GP2 or published.in_flight:
            return None
        if not np.nanmin(published.balance[-5:], initial=100.0) < self.BALANCE:
            return None
        step = max(self.LEAST_GIB, round(self.SHARE * current.size_gib))
        most = LIMITS[VolumeType.GP2].size_gib[1]
        return replace(current, size_gib=min(most, current.size_gib + step))


class StepUpStepDown:
    """Alarms that double what was exceeded, and halve what has been idle for hours.

    Up: an Exceeded check (or, on gp2, an empty bucket) in 3 of the last 5 minutes doubles that
    dimension; gp2 becomes gp3 with twice what it sustained. Down: six hours with less than 30 %
    of both in use halve both, not below 3,000 IOPS and 125 MiB/s. Evaluated every five minutes,
    CloudWatch's default period. Source: "EBS scaling using Lambda and CloudWatch alarms" (AWS
    samples; it adds 500 IOPS, doubling takes fewer slots), with the way down that Oracle's
    performance-based autotuning and DynamoDB's autoscaling publish.
    """

    name = "step-up-step-down"
    every_min = 5
    ALARM, OF, IDLE_MIN, IDLE_SHARE = 3, 5, 6 * HOUR, 0.30

    def desired(self, published: PublishedSoFar, now: datetime) -> Configuration | None:
        """Twice what was exceeded, or half of what is idle."""
        if published.in_flight:
            return None
        current, can = published.configuration, capability(published.configuration)
        last = slice(-self.OF, None)
        iops = np.nansum(published.iops_exceeded[last]) >= self.ALARM
        mibps = np.nansum(published.throughput_exceeded[last]) >= self.ALARM
        if not (iops or mibps):
            return self._down(published, current)
        by = (2 if iops else 1, 2 if mibps else 1)
        if current.volume_type in (VolumeType.GP2, VolumeType.GP3):
            return _gp3(current, by[0] * can.sustained_iops, by[1] * can.sustained_mibps)
        return _with_iops(current, 2 * can.sustained_iops)

    def _down(self, published: PublishedSoFar, current: Configuration) -> Configuration | None:
        can = capability(current)
        if current.volume_type is VolumeType.GP2 or len(published.iops) < self.IDLE_MIN:
            return None
        iops = np.nanmax(published.iops[-self.IDLE_MIN :], initial=0.0)
        mibps = np.nanmax(published.mibps[-self.IDLE_MIN :], initial=0.0)
        if iops >= self.IDLE_SHARE * can.sustained_iops:
            return None
        if mibps >= self.IDLE_SHARE * can.sustained_mibps:
            return None
        if current.volume_type is VolumeType.GP3:
            target = _gp3(current, can.sustained_iops / 2, can.sustained_mibps / 2)
        else:
            target = _with_iops(current, max(GP3_INCLUDED[0], can.sustained_iops / 2))
        return None if target == current else target


class DailyPercentile:
    """Compute Optimizer with Automation: once a day the cheapest gp3 for 14 days of use.

    The largest minute of every five over the look-back of 14 days, of it the 99.5th percentile
    plus 20 % (the default threshold and headroom of its rightsizing preferences), after the 30
    hours of data it asks for. Source: Compute Optimizer User Guide, "Metrics analyzed",
    "Rightsizing recommendation preferences", "Resource requirements".
    """

    name = "daily-percentile"
    every_min = DAY
    LOOKBACK, LEAST_MIN, PERCENT, MARGIN = 14 * DAY, 30 * HOUR, 99.5, 1.20

    def desired(self, published: PublishedSoFar, now: datetime) -> Configuration | None:
        """gp3 for the percentile plus its margin; None while a change is in flight."""
        if published.in_flight or len(published.iops) < self.LEAST_MIN:
            return None
        wanted = []
        for series in (published.iops, published.mibps):
            peaks = _five_minutes(series[-self.LOOKBACK :], np.nanmax)
            if not peaks.size:
                return None
            wanted.append(self.MARGIN * float(np.percentile(peaks, self.PERCENT)))
        target = _gp3(published.configuration, *wanted)
        return None if target == published.configuration else target


class DecayingUse:
    """Kubernetes' Vertical Pod Autoscaler for a volume: a decaying histogram of use.

    Buckets 5 % apart, half-life 24 h, 95th percentile plus 15 %, evaluated every hour; acted on
    when it is over 10 % away, downwards not within 12 h of the last change. Source:
    kubernetes/autoscaler, recommender (`DefaultCPUHistogramDecayHalfLife`, bucket growth 0.05,
    safety margin 0.15) and updater (`pod-update-threshold` 0.1, eviction lifetime 12 h).
    """

    name = "decaying-histogram"
    every_min = HOUR
    PERCENT, MARGIN, AWAY, SETTLED = 95.0, 1.15, 0.10, 12 * HOUR

    def __init__(self) -> None:
        self._iops = DecayingHistogram(first=10.0, growth=1.05, half_life_min=DAY)
        self._mibps = DecayingHistogram(first=0.1, growth=1.05, half_life_min=DAY)
        self._read = 0

    def desired(self, published: PublishedSoFar, now: datetime) -> Configuration | None:
        """gp3 for the histograms, if it is far enough from the present configuration."""
        new = slice(self._read, len(published.iops))
        self._iops.add(published.iops[new])
        self._mibps.add(published.mibps[new])
        self._read = len(published.iops)
        iops, mibps = (h.percentile(self.PERCENT) for h in (self._iops, self._mibps))
        if published.in_flight or iops is None or mibps is None:
            return None
        target = _gp3(published.configuration, self.MARGIN * iops, self.MARGIN * mibps)
        now_can, then = capability(published.configuration), capability(target)
        rates = (
            (now_can.sustained_iops, then.sustained_iops),
            (now_can.sustained_mibps, then.sustained_mibps),
        )
        up = any(after > (1 + self.AWAY) * before for before, after in rates)
        down = any(after < (1 - self.AWAY) * before for before, after in rates)
        change = published.modification
        settled = change is None or now - change.started_at >= timedelta(minutes=self.SETTLED)
        return target if up or (down and settled) else None


_RULES: tuple[Callable[[], ControlRule], ...] = (
    Threshold, Gp2ToGp3, GrowGp2, StepUpStepDown, DailyPercentile, DecayingUse,
)  # fmt: skip
RULES: Mapping[str, Callable[[], ControlRule]] = MappingProxyType(
    {rule().name: rule for rule in _RULES}
)
"""Every published rule by its name, in the order in which tables show them."""


def _five_minutes(series: Floats, how: Callable[..., Floats]) -> Floats:
    """`how` over every whole five minutes, the latest last; those with nothing known left out."""
    whole = series[len(series) % 5 :].reshape(-1, 5)
    known = whole[~np.isnan(whole).all(axis=1)]
    return how(known, axis=1) if known.size else known.reshape(-1)


def _gp3(current: Configuration, iops: float, mibps: float) -> Configuration:
    """The cheapest gp3 of the same size for `iops` and `mibps`, or the most that gp3 has."""
    most_iops = max_iops(VolumeType.GP3, current.size_gib)
    mibps = min(mibps, GP3_MOST_MIBPS, most_iops // 4)
    target = cheapest(VolumeType.GP3, current.size_gib, iops=min(iops, most_iops), mibps=mibps)
    assert target is not None
    return target


def _with_iops(current: Configuration, iops: float) -> Configuration:
    """The same volume with other IOPS, within what its type and size take."""
    least = LEAST_IOPS[current.volume_type]
    most = max_iops(current.volume_type, current.size_gib)
    return replace(current, iops=int(min(max(least, round(iops)), most)))
