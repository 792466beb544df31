"""The load behind a past: nothing invented, nothing later than it was served, nothing overstated."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from headroom.domain.resources import (
    Configuration,
    InstanceActivity,
    Modification,
    ModificationState,
    VolumeActivity,
    VolumeType,
)
from headroom.proving.replay.demand import ReconstructedLoad, reconstruct_load
from headroom.proving.replay.history import history_periods
from headroom.proving.vectorized import pain_if_static
from headroom.proving.workloads import LoadSeries
from tests.builders import activity, gp2, gp3, instance, io, series, volume
from tests.proving.histories import lived, published
from tests.proving.series import START, load_series_of

DAY = 1_440


def reconstructed(
    past: VolumeActivity,
    configuration: Configuration,
    *,
    modification: Modification | None = None,
    checks: InstanceActivity | None = None,
    baseline_iops: int = 1_000_000,
) -> ReconstructedLoad:
    limits = instance(baseline_iops=baseline_iops, baseline_mibps=1e6).limits
    found = reconstruct_load(
        [(past, checks)], volume(configuration), modification, limits, since=past.read_iops.start
    )
    assert found is not None
    return found


def again(load_series: LoadSeries, configuration: Configuration, **how: int) -> ReconstructedLoad:
    return reconstructed(published(lived(load_series, configuration), **how), configuration)


def starved(found: ReconstructedLoad, configuration: Configuration) -> int:
    return int(pain_if_static(found.load_series, configuration).starved.sum())


def cumulated(values: np.ndarray) -> np.ndarray:
    return np.cumsum(np.nan_to_num(values))


loads = st.lists(
    st.tuples(
        st.integers(1, 40),
        st.one_of(st.none(), st.integers(0, 9_000)),
        st.sampled_from([4, 16, 64]),
    ),
    min_size=1,
    max_size=12,
)


def load_series(steps: list[tuple[int, int | None, int]], *, step_s: int = 60) -> LoadSeries:
    """Open load in stretches of (steps, IOPS or None for not measured, KiB per operation)."""
    rates = [np.nan if iops is None else float(iops) for n, iops, _ in steps for _ in range(n)]
    sizes = [float(kib) for n, _, kib in steps for _ in range(n)]
    return load_series_of(rates, io_kib=sizes, step_s=step_s)


@settings(max_examples=60)
@given(loads, st.sampled_from([gp3(400), gp2(400), io(VolumeType.IO1, 400, 2_000)]),
       st.sampled_from([1, 5]), st.booleans(), st.sampled_from([15, 60, 300]))  # fmt: skip
def test_every_operation_and_byte_comes_once_and_none_later_than_it_was_served(
    steps: list[tuple[int, int | None, int]], configuration: Configuration, period: int,
    checks: bool, step_s: int,
) -> None:  # fmt: skip
    assume(sum(count for count, _, _ in steps) * step_s >= 300)
    made = load_series(steps, step_s=step_s)
    past = published(lived(made, configuration), period_min=period, checks=checks)
    assume(past.read_iops.known())
    found = reconstructed(past, configuration)
    per = 60 * period // found.load_series.step_s
    (whole,) = history_periods([(past, None)], configuration, None)
    served = np.repeat(whole.reads + whole.writes, per)
    size = np.repeat(whole.read_bytes + whole.write_bytes, per)
    over = np.repeat(whole.refuted & (whole.utilisation > 1), per)
    for then, now in ((served, found.load_series.ops), (size, found.load_series.bytes)):
        assert np.array_equal(np.isnan(then), np.isnan(now))
        if not over.any():
            assert np.nansum(now) == pytest.approx(np.nansum(then), rel=1e-9)
            slack = 1e-6 * max(1.0, float(np.nansum(then)))
            assert (cumulated(now) >= cumulated(then) - slack).all()
        else:  # what a check refuted is put just under the limit
            assert np.nansum(now) <= np.nansum(then)


@settings(max_examples=40)
@given(loads, st.sampled_from([gp3(400), io(VolumeType.IO1, 400, 2_000)]), st.sampled_from([1, 5]))
def test_left_alone_it_starves_no_more_than_it_did(
    steps: list[tuple[int, int | None, int]], configuration: Configuration, period: int
) -> None:
    assume(sum(count for count, _, _ in steps) >= 5)
    # Just under a limit for minutes on end looks like the limit in a mean over five of them.
    assume(not any(iops and iops % 1_000 >= 700 and iops < 3_000 for _, iops, _ in steps))
    made = load_series(steps)
    truth = lived(made, configuration)
    past = published(truth, period_min=period)
    assume(past.read_iops.known())
    # A run may end within a minute of where it did: one minute each way, not more.
    runs = int((np.diff(truth.starved.astype(int)) == 1).sum()) + 1
    assert starved(reconstructed(past, configuration), configuration) <= truth.starved.sum() + runs


@pytest.mark.parametrize(
    ("iops", "configuration"),
    [
        ([1_000] * 60 + [4_500] * 40 + [1_000] * 80, gp3(400)),
        ([1_000] * 60 + [9_000] * 20 + [500] * 200, gp3(400)),
        ([1_000] * 60 + [3_100] * 240 + [1_000] * 80, gp3(400)),
        (([500] * 10 + [4_000] * 5) * 12 + [100] * 60, gp3(400)),
        ([2_400] * 300 + [100] * 600, gp2(400)),
    ],
)
def test_left_alone_it_starves_as_it_did(iops: list[float], configuration: Configuration) -> None:
    made = load_series_of(iops)
    truth = int(lived(made, configuration).starved.sum())
    assert truth > 10
    found = again(made, configuration)
    assert found.known.held == pytest.approx(truth, rel=0.05)
    assert starved(found, configuration) == pytest.approx(truth, rel=0.05)


def test_without_checks_what_touched_the_limit_counts() -> None:
    made = load_series_of([1_000] * 60 + [4_500] * 40 + [1_000] * 80)
    found = again(made, gp3(400), checks=False)
    truth = int(lived(made, gp3(400)).starved.sum())
    assert starved(found, gp3(400)) == pytest.approx(truth, rel=0.05)
    assert found.known.unchecked == made.minutes
    assert again(made, gp3(400)).known.unchecked == 0


def test_with_twice_the_limit_it_starves_less_and_ends_sooner() -> None:
    made = load_series_of([1_000] * 60 + [4_500] * 40 + [1_000] * 80)
    found = again(made, gp3(400))
    faster = [gp3(400, 3_000 * n // 2, 125 * n // 2) for n in (2, 3, 4, 6, 8)]
    left = [starved(found, each) for each in faster]
    assert left == sorted(left, reverse=True)
    assert left[2] < left[0] / 2
    assert left[-1] == 0


def test_a_burst_inside_the_minute_is_rebuilt_as_the_mildest_that_the_check_allows() -> None:
    minute = [7_000.0, 0.0, 0.0, 0.0]  # 15 s of it: 1,750 IOPS on average
    made = load_series_of(minute * 30 + [100.0] * 400, step_s=15)
    truth = lived(made, gp3(400))
    assert truth.starved[:30].all()
    found = reconstructed(published(truth), gp3(400))
    assert found.load_series.step_s == 10
    assert pain_if_static(found.load_series, gp3(400)).starved[:30].all()
    assert np.nanmax(found.load_series.ops) == pytest.approx(1.05 * 3_000)
    assert starved(found, gp3(400, 4_000)) == 0


def test_a_burst_too_short_to_be_rebuilt_is_counted_and_left_as_it_was() -> None:
    past = activity([100.0] * 60, iops_check=[1.0] + [0.0] * 59)
    found = reconstructed(past, gp3(400))
    assert found.known.not_rebuilt == found.known.held == 1
    assert starved(found, gp3(400)) == 0


def test_five_minutes_whose_check_saw_something_are_sure_of_one_minute() -> None:
    past = activity([1_500.0] * 60, iops_check=[1.0] + [0.0] * 59, period_s=300)
    found = reconstructed(past, gp3(400))
    assert found.known.held == 1
    assert found.known.measured == 300
    assert starved(found, gp3(400)) == 1


def test_a_check_that_counts_minutes_is_sure_of_as_many() -> None:
    past = activity([1_500.0] * 60, iops_check=[3.0, 5.0] + [0.0] * 58, period_s=300)
    found = reconstructed(past, gp3(400))
    assert found.known.held == 8
    assert starved(found, gp3(400)) == 8


def test_what_the_check_refutes_is_never_starved() -> None:
    """AWS lets a little more through than a limit says; its own check knows better."""
    found = reconstructed(activity([3_060.0] * 60), gp3(400))
    assert found.known.held == 0
    assert starved(found, gp3(400)) == 0


def test_missing_minutes_stay_missing() -> None:
    found = reconstructed(activity([None] * 20 + [3_000.0] * 20, iops_check=1.0), gp3(400))
    assert np.isnan(found.load_series.ops[: 20 * 6]).all()
    assert found.known.minutes == 40
    assert found.known.measured == 20


def test_a_direction_that_was_not_published_makes_the_minute_unknown() -> None:
    past = activity([1_000.0] * 10)
    half = replace(past, write_iops=replace(past.write_iops, values=(None,) * 5 + (500.0,) * 5))
    assert reconstructed(half, gp3(400)).known.measured == 5


def test_nothing_measured_is_no_load() -> None:
    past = activity([None] * 60)
    assert (
        reconstruct_load([(past, None)], volume(), None, None, since=past.read_iops.start) is None
    )


def test_history_before_the_replay_is_kept_and_not_counted() -> None:
    past = activity([3_000.0] * 60 + [100.0] * 60, iops_check=[1.0] * 60 + [0.0] * 60)
    since = past.read_iops.start + timedelta(minutes=90)
    found = reconstruct_load([(past, None)], volume(gp3(400)), None, None, since=since)
    assert found is not None
    assert (found.since_minute, found.known.minutes, found.known.held) == (90, 30, 0)
    assert found.known.start == since
    assert found.load_series.minutes == 120


def checks_of(count: int, *, at_limit: float) -> InstanceActivity:
    flags, nothing = series([at_limit] * count), series([None] * count)
    return InstanceActivity(
        iops=nothing,
        mibps=nothing,
        iops_exceeded=flags,
        throughput_exceeded=nothing,
        io_balance_percent=nothing,
        byte_balance_percent=nothing,
    )


def test_where_the_instance_was_the_limit_nothing_is_rebuilt() -> None:
    past = activity([3_000.0] * 60, iops_check=1.0)
    held = reconstructed(past, gp3(400), checks=checks_of(60, at_limit=1.0)).known
    assert (held.by_instance, held.held) == (60, 0)
    free = reconstructed(past, gp3(400), checks=checks_of(60, at_limit=0.0)).known
    assert (free.by_instance, free.held) == (0, 60)


def test_no_load_is_rebuilt_above_the_instances_baseline() -> None:
    past = activity([1_000.0] * 60 + [3_000.0] * 60, iops_check=[0.0] * 60 + [1.0] * 60)
    free = reconstructed(past, gp3(400))
    tight = reconstructed(past, gp3(400), baseline_iops=3_050)
    assert np.nanmax(free.load_series.ops) > 3_100
    assert np.nanmax(tight.load_series.ops) <= 3_050 * (1 + 1e-9)


def test_where_the_instance_let_all_through_load_is_rebuilt_up_to_its_maximum() -> None:
    """A volume at its own limit starved, though the instance sustains less than that."""
    past = activity([1_000.0] * 60 + [3_000.0] * 60, iops_check=[0.0] * 60 + [1.0] * 60)
    nothing = series([None] * 120)
    free = replace(
        checks_of(120, at_limit=0.0), iops_exceeded=series([0.0] * 120),
        throughput_exceeded=series([0.0] * 120), iops=nothing,
    )  # fmt: skip
    found = reconstructed(past, gp3(400), checks=free, baseline_iops=2_000)
    assert np.nanmax(found.load_series.ops) > 3_100
    assert starved(found, gp3(400)) > 50
    unknown = reconstructed(past, gp3(400), checks=None, baseline_iops=2_000)
    assert np.nanmax(unknown.load_series.ops) <= 3_000 * (1 + 1e-9)


def test_before_a_modification_the_limits_of_its_origin_count() -> None:
    past = activity([2_950.0] * 60 + [4_000.0] * 60, iops_check=None, mibps_check=None)
    change = Modification(
        state=ModificationState.COMPLETED,
        started_at=past.read_iops.start + timedelta(minutes=60),
        ended_at=None,
        origin=gp3(400),
        target=gp3(400, 6_000),
        progress_percent=100,
    )
    assert reconstructed(past, gp3(400, 6_000), modification=change).known.held == 60
    assert reconstructed(past, gp3(400, 6_000)).known.held == 0


def test_a_bucket_begins_where_its_balance_was() -> None:
    past = activity([100.0] * 60, balance=[None] * 5 + [37.0] * 55)
    assert reconstructed(past, gp2()).balance_percent == 37.0
    assert reconstructed(activity([100.0] * 60), gp2()).balance_percent == 100.0


def test_what_came_before_a_bucket_ran_dry_is_what_comes_after() -> None:
    made = load_series_of([300.0] * 100 + [2_400.0] * 300 + [100.0] * 600)
    found = again(made, gp2(400))
    assert starved(found, gp2(400)) == pytest.approx(lived(made, gp2(400)).starved.sum(), rel=0.05)
    assert np.nanmax(found.load_series.ops) == pytest.approx(2_400, rel=0.02)
    assert starved(found, gp3(400)) == 0


def test_parts_of_different_periods_make_one_load() -> None:
    older = activity([600.0] * 12, end=START, period_s=300)
    newer = activity([1_200.0] * 30, end=START + timedelta(minutes=30))
    found = reconstruct_load(
        [(older, None), (newer, None)], volume(gp3(400)), None, None, since=older.read_iops.start
    )
    assert found is not None
    assert found.known.periods_s == (300, 60)
    assert found.load_series.minutes == 90
    assert found.load_series.ops.tolist() == [600.0] * 60 + [1_200.0] * 30


def test_a_very_long_past_is_rebuilt_in_minutes() -> None:
    older = activity([600.0] * 24 * 110, iops_check=1.0, end=START, period_s=3_600)
    newer = activity([600.0] * 30 + [3_000.0] * 30, iops_check=[1.0] * 60,
                     end=START + timedelta(hours=1))  # fmt: skip
    found = reconstruct_load(
        [(older, None), (newer, None)], volume(gp3(400)), None, None, since=older.read_iops.start
    )
    assert found is not None
    assert found.load_series.step_s == 60
    assert found.known.not_rebuilt == 24 * 110 + 30
    assert starved(found, gp3(400)) == pytest.approx(30, abs=2)
