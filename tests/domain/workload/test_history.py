"""What a load wanted on earlier days, read by the limits it then had."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from headroom.domain.workload.busy_periods import CENSORED
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.resources import Configuration, VolumeType
from headroom.domain.state import KnownModification
from headroom.domain.workload import demand_levels, load_history
from headroom.domain.workload.history import NOTHING
from tests.builders import NOW, activity, gp2, gp3, io, modification, observation
from tests.domain.earlier import BIG, changed, history, nightly, past_of, seen_over

SMALL = gp3(400, 3_000, 125)
NIGHT = (NOW - timedelta(days=2)).replace(hour=2)
"""Two nights before now, two o'clock."""


def spike(
    high: float, *, when: datetime = NIGHT, minutes: float = 5, idle: float = 300.0
) -> Callable[[datetime], float]:
    """`high` from `when` on for so many minutes, `idle` before and after."""
    until = when + timedelta(minutes=minutes)
    return lambda instant: high if when <= instant < until else idle


def test_without_a_history_nothing_is_known() -> None:
    found = load_history(observation(), (), least_iops=3_000, least_mibps=125)
    assert found == NOTHING
    assert found.days == 0


def test_load_that_ran_free_is_what_was_wanted() -> None:
    found = past_of(history(nightly, days=3))
    assert found.days == pytest.approx(3)
    assert len(found.busy) == 3 * 12
    assert {p.peak_iops for p in found.busy} == {9_000.0}
    assert {p.touched_iops for p in found.busy} == {0.0}
    assert found.most_iops == 9_000


def test_periods_below_what_every_volume_has_are_not_busy() -> None:
    assert past_of(history(lambda _: 2_999.0, days=1)).busy == ()


def test_large_operations_count_for_as_many_as_an_ssd_volume_makes_of_them() -> None:
    """100 operations/s of 4 MiB are 1,600 of 256 KiB, and 400 MiB/s."""
    found = past_of(history(lambda _: 100.0, days=1, io_kib=4096))
    assert found.iops[0] == pytest.approx(1_600)
    assert found.mibps[0] == pytest.approx(400)


def test_what_was_not_measured_is_neither_known_nor_busy_nor_idle() -> None:
    half = past_of(history(lambda i: None if i < NOW - timedelta(days=1) else 9_000.0, days=4))
    assert half.days == pytest.approx(1)
    assert len(half.busy) == 288
    assert half.clear_days[0][2] == pytest.approx(1)


# --- which limits were in force


@pytest.mark.parametrize(
    ("known", "limit"),
    [
        ((), 16_000.0),  # nothing else known: as it is today
        ((changed(NOW - timedelta(days=1), SMALL, BIG),), 3_000.0),
        ((changed(NOW - timedelta(days=3), SMALL, BIG),), 16_000.0),
        (
            (
                changed(NOW - timedelta(days=5), BIG, gp3(400, 6_000, 250)),
                changed(NOW - timedelta(days=1), gp3(400, 6_000, 250), BIG),
            ),
            6_000.0,
        ),
        # Of a change nobody knows the target of, nothing follows.
        ((KnownModification(started_at=NOW - timedelta(days=1), by="other"),), 16_000.0),
    ],
)
def test_a_touched_limit_is_the_one_that_was_in_force_then(
    known: tuple[KnownModification, ...], limit: float
) -> None:
    told = history(spike(1_500.0), days=4, check=spike(1.0, idle=0.0))
    touched = [p for p in past_of(told, known=known).busy if p.touched_iops]
    assert [p.touched_iops for p in touched] == [limit]
    assert touched[0].peak_iops == limit


def test_the_latest_change_aws_tells_of_counts_though_the_ledger_never_heard_of_it() -> None:
    told = history(spike(1_500.0), days=4, check=spike(1.0, idle=0.0))
    latest = modification(BIG, origin=SMALL, started_at=NOW - timedelta(days=1))
    (touched,) = past_of(told, modification=latest).busy
    assert touched.touched_iops == 3_000
    same = (changed(latest.started_at, SMALL, BIG),)
    assert past_of(told, known=same, modification=latest) == past_of(told, modification=latest)


def test_an_empty_bucket_lowers_the_limit_to_what_is_sustained() -> None:
    told = history(spike(1_200.0, minutes=60), days=3, check=None, balance=0.0)
    found = load_history(seen_over(told, gp2(400)), (), least_iops=100, least_mibps=25)
    assert {p.pressed_minutes for p in found.busy if p.peak_iops > 1_000} == {5.0}
    full = history(spike(1_200.0, minutes=60), days=3, check=None, balance=90.0)
    free = load_history(seen_over(full, gp2(400)), (), least_iops=100, least_mibps=25)
    assert {p.pressed_minutes for p in free.busy} == {0.0}


def test_days_are_counted_under_the_limits_they_ran_clear_under() -> None:
    known = (changed(NOW - timedelta(days=1), SMALL, BIG),)
    found = past_of(history(nightly, days=4), known=known)
    assert found.clear_days == ((3_000.0, 125.0, 3.0), (16_000.0, 1_000.0, 1.0))
    pressed = past_of(history(nightly, days=4, check=1.0), known=known)
    assert pressed.clear_days == ()


@pytest.mark.parametrize(
    ("minutes_after", "served", "limit"),
    [
        (10, 2_950.0, 3_000.0),  # still held back by the old limit
        (10, 4_000.0, 12_000.0),  # more than the old one let through: the new one is in force
        (90, 2_000.0, 12_000.0),  # long landed
    ],
)
def test_while_a_change_lands_what_was_served_tells_which_limit_was_in_force(
    minutes_after: int, served: float, limit: float
) -> None:
    large = gp3(400, 12_000, 500)
    raised = NIGHT - timedelta(minutes=minutes_after)
    told = history(spike(served), days=4, check=spike(2.0, idle=0.0))
    found = past_of(told, large, known=(changed(raised, SMALL, large),))
    assert [p.touched_iops for p in found.busy if p.touched_iops] == [limit]


# --- what a limit held back


def test_a_touched_limit_says_that_at_least_so_much_was_wanted() -> None:
    told = history(spike(1_500.0), days=4, check=spike(2.0, idle=0.0))
    (period,) = past_of(told, SMALL).busy
    assert period.peak_iops == 3_000
    assert period.pressed_minutes == 2


def test_bursts_that_were_seen_to_touch_a_limit_tell_how_sharp_the_others_were() -> None:
    """Three times 1,500 a minute touched 3,000: a mean of 2,500 on a larger volume peaks at 5,000."""
    raised = NOW - timedelta(days=2)
    hours = [NOW - timedelta(days=4, hours=h) for h in (1, 5, 9)]

    def load(instant: datetime) -> float:
        if instant > raised:
            return 2_500.0
        return 1_500.0 if instant in hours else 300.0

    told = history(load, days=5, check=lambda i: 1.0 if i in hours else 0.0)
    found = past_of(told, known=(changed(raised, SMALL, BIG),))
    later = [p for p in found.busy if found.start + p.place * timedelta(minutes=5) > raised]
    assert {p.peak_iops for p in later} == {5_000.0}
    two = past_of(
        history(load, days=5, check=lambda i: 1.0 if i in hours[:2] else 0.0),
        known=(changed(raised, SMALL, BIG),),
    )
    assert not [p for p in two.busy if p.peak_iops == 5_000]


def test_no_burst_is_taken_for_more_than_a_limit_that_was_not_touched() -> None:
    hours = [NOW - timedelta(days=2, hours=h) for h in (1, 5, 9)]
    told = history(
        lambda i: 1_000.0 if i in hours else 2_000.0, days=3,
        check=lambda i: 1.0 if i in hours else 0.0,
    )  # fmt: skip
    assert max(p.peak_iops for p in past_of(told, SMALL).busy) == 3_000


def test_the_busiest_minute_of_five_is_what_peaks_are_told_from() -> None:
    told = history(spike(2_000.0), days=3, busiest=spike(8_000.0))
    (period,) = past_of(told).busy
    assert period.peak_iops == 8_000


def test_a_backlog_served_late_is_not_demand() -> None:
    """Half an hour at 3,000, then raised: ten minutes at 12,000 until the backlog is gone."""
    raised = NIGHT + timedelta(minutes=30)

    def load(instant: datetime) -> float:
        if NIGHT <= instant < raised:
            return 3_000.0
        return 12_000.0 if raised <= instant < raised + timedelta(minutes=10) else 300.0

    told = history(load, days=4, check=lambda i: 0.0 if load(i) == 300 else 5.0)
    found = past_of(
        told, gp3(400, 12_000, 500), known=(changed(raised, SMALL, gp3(400, 12_000, 500)),)
    )
    mean = (30 * 3_000 + 10 * 12_000) / 40
    assert len(found.busy) == 8
    assert {p.touched_iops for p in found.busy} == {0.0}
    assert all(found.iops[p.place] == pytest.approx(mean) for p in found.busy)
    assert found.most_iops < 12_000 / 1.5


def test_pressure_that_is_not_over_wanted_more_than_it_got() -> None:
    begun = NOW - timedelta(minutes=30)
    told = history(spike(3_000.0, when=begun, minutes=30), days=2, check=spike(5.0, when=begun, minutes=30, idle=0.0))  # fmt: skip
    found = past_of(told, SMALL)
    assert found.iops[found.busy[-1].place] == pytest.approx(CENSORED * 3_000)


def test_a_touch_in_passing_is_not_taken_for_a_limit_used_up() -> None:
    """Four clear minutes of five say that the mean is what was wanted, near the limit or not."""
    told = history(spike(2_800.0), days=3, check=spike(1.0, idle=0.0))
    found = past_of(told, SMALL)
    assert found.iops[found.busy[0].place] == pytest.approx(2_800)


# --- minutes


@pytest.mark.parametrize("minutes", [1.0, 2.0, 4.0, 5.0])
def test_a_check_counts_the_minutes_of_its_period_it_was_set_in(minutes: float) -> None:
    told = history(spike(1_500.0), days=3, check=spike(minutes, idle=0.0))
    assert [p.pressed_minutes for p in past_of(told, SMALL).busy] == [minutes]


def test_where_no_check_is_published_a_mean_at_the_limit_is_pressure_for_the_whole_period() -> None:
    near = past_of(history(spike(2_900.0, minutes=60), days=3, check=None), SMALL)
    assert {p.pressed_minutes for p in near.busy} == {5.0}
    below = past_of(history(spike(2_000.0, minutes=60), days=3, check=None), SMALL)
    assert below.busy == ()


# --- levels worth weighing


@settings(max_examples=40, deadline=None)
@given(hours=st.lists(st.sampled_from([300.0, 2_900.0, 4_000.0, 7_000.0, 11_000.0]), min_size=24,
                      max_size=24))  # fmt: skip
def test_the_levels_go_from_nothing_to_more_than_was_ever_seen(hours: list[float]) -> None:
    found = past_of(history(lambda i: hours[i.hour], days=2))
    levels = demand_levels(found, lambda i, m: 0.005 * i + 0.04 * m)
    assert levels[0] == (0.0, 0.0)
    assert any(i > found.most_iops and m > found.most_mibps for i, m in levels)
    assert (found.most_iops, found.most_mibps) in levels
    enough = [sum(p.peak_iops <= i and p.peak_mibps <= m for p in found.busy) for i, m in levels]
    assert max(enough) == len(found.busy)
    assert len(levels) == len(set(levels))


@pytest.mark.parametrize(
    "configuration", [SMALL, BIG, io(VolumeType.IO1, 400, 4_000), gp2(400), gp2(2_000)]
)
@settings(max_examples=30, deadline=None)
@given(
    hours=st.lists(
        st.one_of(st.none(), st.floats(0, 20_000)), min_size=24, max_size=24
    ),
    check=st.sampled_from([None, 0.0, 1.0, 5.0]),
)  # fmt: skip
def test_what_was_wanted_is_never_less_than_a_limit_that_was_touched_nor_than_its_mean(
    configuration: Configuration, hours: list[float | None], check: float | None
) -> None:
    told = history(lambda i: hours[i.hour], days=1, check=check)
    found = load_history(seen_over(told, configuration), (), least_iops=3_000, least_mibps=125)
    assert found.known == sum(v is not None for v in told.read_iops.values)
    for period in found.busy:
        assert period.peak_iops >= max(period.touched_iops, found.iops[period.place]) - 1e-9
        assert period.peak_mibps >= max(period.touched_mibps, found.mibps[period.place]) - 1e-9
        assert 0 <= period.pressed_minutes <= 5
        assert not (period.touched_iops and period.touched_mibps)
    assert found.days <= 1
    assert sum(days for _, _, days in found.clear_days) <= found.days + 1e-9


def test_a_grid_of_minutes_is_read_as_one() -> None:
    told = activity([300.0] * 1400 + [9_000.0] * 40, iops_check=[0.0] * 1400 + [1.0] * 40)
    found = past_of(told, gp3(400, 9_000, 500))
    assert found.days == pytest.approx(1)
    assert len(found.busy) == 40
    assert {p.pressed_minutes for p in found.busy} == {1.0}
