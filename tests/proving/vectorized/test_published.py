"""A reader of CloudWatch finds the same of a fast volume as of one that was run minute by minute."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta

import numpy as np
import pytest

from headroom.domain.resources import Series
from headroom.proving.awsrules import VolumeLifecycle
from headroom.proving.metrics import PublishedVolume, metric_sums, minute_number
from headroom.proving.physics import BOUNDLESS, VolumePhysics
from headroom.proving.trials import STARTS
from headroom.proving.vectorized import VectorizedVolume
from headroom.proving.vectorized.published import VectorizedMetrics
from headroom.proving.workloads import LoadSeries
from tests.proving.series import START, LoadSeriesWorkload, load_series_of

DELAY = timedelta(minutes=2)
NAMES = {"volume_id": "vol-1", "instance_id": "i-1"}


def load(begin_min: int) -> LoadSeries:
    rng = np.random.default_rng(begin_min)
    iops = rng.exponential(2_500.0, 240) * (rng.random(240) > 0.2)
    iops[rng.random(240) < 0.05] = np.nan
    return load_series_of(
        iops, io_kib=rng.choice([4.0, 64.0, 300.0], 240), read_share=0.4,
        start=START + timedelta(minutes=begin_min),
    )  # fmt: skip


def both(
    load_series: LoadSeries, start: str, minutes: int
) -> tuple[PublishedVolume, VectorizedMetrics]:
    configuration = STARTS[start]
    lifecycle = VolumeLifecycle(configuration, created_at=load_series.start - timedelta(days=1))
    physics = VolumePhysics(LoadSeriesWorkload(load_series), burst_balance_percent=1.0)
    slow = PublishedVolume(delay=DELAY, other_iops=0.0, other_mibps=0.0)
    for minute in range(minutes):
        now = load_series.start + timedelta(minutes=minute)
        facts = physics.minute(now, lifecycle)
        sums = metric_sums(facts, configuration=configuration, limits=BOUNDLESS)
        slow.put(minute_number(now), sums)
    volume = VectorizedVolume(load_series, configuration, burst_balance_percent=1.0)
    fast = VectorizedMetrics(volume, delay=DELAY)
    for stop in (minutes // 3, minutes // 2, minutes):
        volume.run(stop)
        fast.publish()
    return slow, fast


def same(found: object, expected: object) -> None:
    for field in fields(expected):  # type: ignore[arg-type]
        one, other = getattr(found, field.name), getattr(expected, field.name)
        if not isinstance(other, Series):
            assert one == other, field.name
            continue
        assert (one.start, one.period_s) == (other.start, other.period_s)
        values = [
            np.array([np.nan if v is None else v for v in series.values]) for series in (one, other)
        ]
        assert np.allclose(*values, rtol=1e-6, atol=2e-5, equal_nan=True), field.name


@pytest.mark.parametrize("start", list(STARTS))
@pytest.mark.parametrize(("begin_min", "minutes"), [(0, 240), (3, 197), (4, 61), (2, 3)])
def test_activity_and_history_are_the_same(start, begin_min, minutes):
    load_series = load(begin_min)
    slow, fast = both(load_series, start, minutes)
    now = load_series.start + timedelta(minutes=minutes)
    for one, other in zip(fast.activity(now), slow.activity(now), strict=True):
        same(one, other)
    one, other = fast.history(now), slow.history(now)
    assert (one is None) == (other is None)
    if other is not None:
        same(one, other)


@pytest.mark.parametrize("start", list(STARTS))
@pytest.mark.parametrize("minutes", [1, 2, 3, 20, 31, 75, 140, 240])
def test_a_glance_is_the_same(start, minutes):
    load_series = load(1)
    slow, fast = both(load_series, start, minutes)
    now = load_series.start + timedelta(minutes=minutes)
    one, other = fast.glance(now), slow.glance(now)
    assert one.iops_exceeded_minutes == other.iops_exceeded_minutes
    assert one.throughput_exceeded_minutes == other.throughput_exceeded_minutes
    assert one.lowest_burst_balance_percent == pytest.approx(
        other.lowest_burst_balance_percent, abs=1e-5
    )
    assert one.longest_queue == pytest.approx(other.longest_queue, abs=1e-4)
