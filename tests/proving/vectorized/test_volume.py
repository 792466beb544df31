"""The fast volume equals the exact physics, minute by minute, whatever happens to it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.catalog.ebs import MIB
from headroom.domain.resources import Configuration, VolumeType
from headroom.proving.awsrules import Delays, ModificationRefused, VolumeLifecycle
from headroom.proving.physics import MinuteFacts, VolumePhysics
from headroom.proving.vectorized import VectorizedVolume, pain_if_static
from headroom.proving.workloads import LoadSeries
from tests.proving.series import LoadSeriesWorkload, load_series_of


def volume(
    kind: VolumeType, size: int = 400, iops: int | None = None, mibps: int | None = None
) -> Configuration:
    return Configuration(volume_type=kind, size_gib=size, iops=iops, throughput_mibps=mibps)


GP2, SMALL_GP2 = volume(VolumeType.GP2), volume(VolumeType.GP2, 30)
GP3, IO1 = volume(VolumeType.GP3, 400, 3_000, 125), volume(VolumeType.IO1, 400, 1_000)
CONFIGURATIONS = (GP2, SMALL_GP2, volume(VolumeType.GP2, 2_000), GP3, IO1)
TARGETS = (
    volume(VolumeType.GP3, 2_000, 6_000, 500), volume(VolumeType.IO2, 2_000, 4_000),
    volume(VolumeType.GP2, 2_100), volume(VolumeType.IO1, 2_000, 500),
)  # fmt: skip
KINDS_OF_VALUES = {
    "served_ebs_iops": (lambda f: f.ebs_iops, 1e-4),
    "served_mibps": (lambda f: (f.served_read_bytes + f.served_write_bytes) / 60 / MIB, 1e-5),
    "served_read_iops": (lambda f: f.served_read_ops / 60, 1e-4),
    "queue": (lambda f: f.queue_seen_avg, 1e-3),
    "backlog": (lambda f: f.backlog_end, 1e-2),
    "iops_exceeded": (lambda f: f.iops_exceeded, 0.0),
    "throughput_exceeded": (lambda f: f.throughput_exceeded, 0.0),
    "starved": (lambda f: f.starved, 0.0),
    "shortfall": (lambda f: f.shortfall, 1e-5),
    "measured": (lambda f: not f.unknown, 0.0),
    "published": (lambda f: f.published, 0.0),
    "balance_percent": (
        lambda f: np.nan if f.burst_balance_percent is None else f.burst_balance_percent,
        1e-5,
    ),
}


def exactly(
    load_series: LoadSeries,
    configuration: Configuration,
    changes: Mapping[int, Configuration],
    delays: Delays,
    percent: float,
) -> list[MinuteFacts]:
    lifecycle = VolumeLifecycle(
        configuration, created_at=load_series.start - timedelta(days=365), delays=delays
    )
    physics = VolumePhysics(LoadSeriesWorkload(load_series), burst_balance_percent=percent)
    facts = []
    for minute in range(load_series.minutes):
        now = load_series.start + timedelta(minutes=minute)
        if minute in changes:
            ask(lifecycle, now, changes[minute])
        facts.append(physics.minute(now, lifecycle))
    return facts


def ask(lifecycle: VolumeLifecycle, now, target: Configuration) -> None:
    with contextlib.suppress(ModificationRefused):
        lifecycle.modify(
            now,
            volume_type=target.volume_type,
            size_gib=target.size_gib,
            iops=target.iops,
            throughput_mibps=target.throughput_mibps,
        )


def quickly(load_series, configuration, changes, delays, percent) -> VectorizedVolume:
    fast = VectorizedVolume(
        load_series, configuration, delays=delays, burst_balance_percent=percent
    )
    for minute, target in sorted(changes.items()):
        fast.run(minute)
        with contextlib.suppress(ModificationRefused):
            fast.modify(target)
    fast.run(load_series.minutes)
    return fast


rates = st.one_of(
    st.just(0.0), st.just(float("nan")), st.just(3_000.0), st.just(1_200.0),
    st.floats(1.0, 12_000.0),
)  # fmt: skip


@st.composite
def any_load_series(draw: st.DrawFn) -> LoadSeries:
    step_s = draw(st.sampled_from([15, 60, 300]))
    count = draw(st.integers(max(2, 120 // step_s), {15: 120, 60: 90, 300: 60}[step_s]))
    return load_series_of(
        draw(st.lists(rates, min_size=count, max_size=count)),
        step_s=step_s,
        io_kib=draw(
            st.lists(
                st.sampled_from([4.0, 16.0, 64.0, 256.0, 700.0]), min_size=count, max_size=count
            )
        ),
        read_share=draw(st.sampled_from([0.0, 0.3, 1.0])),
        service_ms=draw(st.sampled_from([None, None, 4.0])),
    )


@settings(max_examples=120)
@given(
    load_series=any_load_series(),
    configuration=st.sampled_from(CONFIGURATIONS),
    changes=st.dictionaries(st.integers(0, 299), st.sampled_from(TARGETS), max_size=3),
    delays=st.sampled_from(
        [
            Delays(),
            Delays(
                modifying=timedelta(seconds=30),
                effect=timedelta(seconds=200),
                completed=timedelta(minutes=7),
            ),
            Delays(modifying=timedelta(0), effect=timedelta(0), completed=timedelta(minutes=1)),
        ]
    ),
    percent=st.sampled_from([0.0, 0.02, 1.0, 100.0]),
)
def test_every_minute_equals_the_exact_physics(
    load_series, configuration, changes, delays, percent
):
    changes = {minute: target for minute, target in changes.items() if minute < load_series.minutes}
    facts = exactly(load_series, configuration, changes, delays, percent)
    fast = quickly(load_series, configuration, changes, delays, percent)
    for name, (value_of, tolerance) in KINDS_OF_VALUES.items():
        expected = np.array([value_of(minute) for minute in facts], dtype=float)
        found = getattr(fast, name).astype(float)
        assert np.allclose(found, expected, rtol=1e-7, atol=tolerance, equal_nan=True), name


@settings(max_examples=60)
@given(
    load_series=any_load_series(),
    stop_state=st.lists(st.integers(0, 299), max_size=6),
    configuration=st.sampled_from(CONFIGURATIONS),
)
def test_it_does_not_matter_in_how_many_steps_time_passes(load_series, stop_state, configuration):
    whole = VectorizedVolume(load_series, configuration, burst_balance_percent=1.0)
    whole.run(load_series.minutes)
    stepped = VectorizedVolume(load_series, configuration, burst_balance_percent=1.0)
    for stop in sorted(min(stop, load_series.minutes) for stop in stop_state):
        stepped.run(stop)
    stepped.run(load_series.minutes)
    assert np.array_equal(whole.starved, stepped.starved)
    assert np.allclose(whole.queue, stepped.queue)


def test_a_month_with_a_change_every_eight_hours_equals_the_exact_physics():
    hours = np.arange(30 * 24 * 12) / 12
    rng = np.random.default_rng(4)
    load = 2_500 * (1 + np.sin(hours / 24 * 2 * np.pi)) * rng.lognormal(0, 0.5, len(hours))
    load_series = load_series_of(load[: 12 * 24 * 4], step_s=300, io_kib=40.0)
    targets = (volume(VolumeType.GP3, 400, 6_000, 300), volume(VolumeType.GP3, 400, 3_000, 125))
    changes = {480 * n + 7: targets[n % 2] for n in range(11)}
    facts = exactly(load_series, GP2, changes, Delays(), 100.0)
    fast = quickly(load_series, GP2, changes, Delays(), 100.0)
    assert [f.starved for f in facts] == fast.starved.tolist()
    assert 100 < fast.starved.sum() < load_series.minutes


def test_a_minute_less_than_half_measured_is_not_starved():
    overload = [9_000.0] * 8
    seen = load_series_of([*overload, *([float("nan")] * 3), 9_000.0], step_s=15)
    half = load_series_of([*overload, *([float("nan")] * 2), 9_000.0, 9_000.0], step_s=15)
    assert pain_if_static(seen, GP3).starved.tolist() == [True, True, False]
    assert pain_if_static(half, GP3).starved.tolist() == [True, True, True]


def test_a_minute_not_wholly_measured_publishes_nothing():
    load_series = load_series_of([100.0] * 4 + [float("nan")] + [100.0] * 3, step_s=15)
    fast = VectorizedVolume(load_series, GP3)
    fast.run(2)
    iops = fast.published_series()[8]
    assert iops[0] == 100.0
    assert np.isnan(iops[1])


def test_burst_balance_ends_when_the_volume_is_described_as_another_type():
    fast = VectorizedVolume(load_series_of([2_000.0] * 60), GP2)
    fast.run(20)
    fast.modify(GP3)
    fast.run(60)
    balance = fast.published_series()[5]
    assert not np.isnan(balance[:21]).any()
    assert np.isnan(balance[21:]).all()
    assert fast.balance_percent[25] < 100  # the bucket is still what limits it
    assert np.isnan(fast.balance_percent[40])


@pytest.mark.parametrize("minute", [-1, 61])
def test_time_does_not_run_backwards_or_beyond_the_series(minute):
    fast = VectorizedVolume(load_series_of([1.0] * 60), GP3)
    with pytest.raises(ValueError, match="is not in"):
        fast.run(minute)


def test_a_refused_change_changes_nothing():
    fast = VectorizedVolume(load_series_of([5_000.0] * 100), GP3)
    fast.modify(volume(VolumeType.GP3, 400, 8_000, 125))
    fast.run(30)
    with pytest.raises(ModificationRefused, match="modification state"):
        fast.modify(GP3)
    fast.run(100)
    assert fast.starved[:10].all()
    assert not fast.starved[30:].any()
    assert len(fast.lifecycle.starts) == 1


def test_a_hard_disk_type_is_not_for_the_fast_physics():
    with pytest.raises(ValueError, match="st1 is no SSD type"):
        VectorizedVolume(load_series_of([1.0] * 60), volume(VolumeType.ST1, 500))


@settings(max_examples=40)
@given(st.data())
def test_to_look_ahead_changes_nothing(data: st.DataObject) -> None:
    """The alarms' next minute is looked for ahead of time; a change may then come before it."""
    minutes = 4_000
    ops = np.repeat(data.draw(st.lists(st.sampled_from([100.0, 2_900.0, 4_000.0, 9_000.0]),
                                       min_size=8, max_size=8)), minutes // 8)  # fmt: skip
    load_series = load_series_of(ops.tolist(), step_s=60)
    configuration = data.draw(st.sampled_from([GP3, GP2, volume(VolumeType.GP2, 1_100)]))
    at = sorted(data.draw(st.sets(st.integers(1, minutes - 1), min_size=1, max_size=3)))
    looks = data.draw(st.lists(st.integers(0, 3_000), min_size=3, max_size=3))
    straight, looking = (VectorizedVolume(load_series, configuration) for _ in range(2))
    target = configuration
    for minute, ahead in zip(at, looks, strict=False):
        target = volume(VolumeType.GP3, target.size_gib, 6_000 + minute, 500)
        for each in (straight, looking):
            each.run(minute)
        looking.run_ahead(minute + ahead)
        for each in (straight, looking):
            with contextlib.suppress(ModificationRefused):
                each.modify(target)
    for each in (straight, looking):
        each.run(minutes)
    for name in ("served_iops", "backlog", "shortfall", "starved", "queue"):
        np.testing.assert_allclose(
            getattr(looking, name), getattr(straight, name), atol=1e-3, err_msg=name
        )
