"""How much more than it got a load wanted, from each kind of evidence."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from headroom.domain.catalog.ebs import capability
from headroom.domain.workload import Minute, minutes
from headroom.domain.workload.demand_ratio import (
    MAX_RATIO,
    TYPICAL_RATIO,
    DemandRatio,
    combine_ratios,
    littles_law_bound,
    ratio_from_bursts,
    ratio_from_earlier_days,
    ratio_from_ended_pressure,
    ratio_from_queue_growth,
    same_hours,
)
from tests.builders import NOW, activity, gp3


def pressed(iops: Sequence[float], queue: Sequence[float] | float) -> tuple[Minute, ...]:
    return minutes(activity(iops, queue=queue, iops_check=1), capability(gp3()))


def calm(iops: float, queue: float = 0.0) -> tuple[Minute, ...]:
    return minutes(activity([iops] * 10, queue=queue), capability(gp3()))


@pytest.mark.parametrize(
    ("queue", "wanted", "weight"),
    [
        ([100, 400, 700], 3_005, 0.9),  # 300 more waiting a minute: 5 a second more came
        ([100, 700, 1024], 3_010, 0.0),  # one whole step only: more may have come
        ([100, 400, 700, 1000, 1024], 3_005, 0.5),
    ],
)
def test_served_plus_growth_of_the_queue_is_what_arrives(
    queue: list[float], wanted: float, weight: float
) -> None:
    found = ratio_from_queue_growth(pressed([3_000.0] * len(queue), queue))
    assert found is not None
    assert 3_000 * found.least >= wanted - 3
    assert 3_000 * found.likely == pytest.approx(wanted, abs=3)
    assert found.weight == weight


@pytest.mark.parametrize("queue", [[1024, 1024, 1024], [256, 256, 256], [900, 600, 300]])
def test_a_queue_that_does_not_grow_shows_no_growth(queue: list[float]) -> None:
    assert ratio_from_queue_growth(pressed([3_000.0] * 3, queue)) is None


@pytest.mark.parametrize(
    ("levels", "least", "likely", "weight"),
    [
        ((6_000, 4_500, 2_000), 1.5, 1.5, 2 / 3),
        ((6_000,), 1.0, 2.0, 1 / 2),
        ((6_000, 5_000, 5_000, 4_800, 1_000), 5 / 3, 5 / 3, 4 / 5),
    ],
)
def test_the_second_highest_of_earlier_days_is_what_the_load_is_like(
    levels: tuple[float, ...], least: float, likely: float, weight: float
) -> None:
    found = ratio_from_earlier_days(levels, 3_000)
    assert found is not None
    assert found.least == pytest.approx(least)
    assert found.likely == pytest.approx(likely)
    assert found.weight == pytest.approx(weight)


@pytest.mark.parametrize("levels", [(), (2_000, 2_500), (3_000, 3_000)])
def test_days_that_took_no_more_say_nothing_of_how_much_more(levels: tuple[float, ...]) -> None:
    assert ratio_from_earlier_days(levels, 3_000) is None


def test_the_same_hours_are_half_an_hour_before_to_an_hour_after() -> None:
    day = [100.0] * 288
    for at, iops in ((0, 900.0), (11, 800.0), (13, 5_000.0), (270, 5_000.0), (283, 700.0)):
        day[at] = iops
    past = activity(day, end=NOW, period_s=300)  # a day ago until now
    levels = same_hours(minutes(past, capability(gp3())), NOW, by_iops=True)
    assert levels == (900.0,)


def test_what_a_raised_limit_drained_shows_no_load_of_earlier_days() -> None:
    day, check = [100.0] * 288, [0.0] * 288
    day[0], day[1], day[2] = 12_000.0, 12_000.0, 6_000.0
    check[0] = check[1] = 5.0
    past = minutes(
        activity(day, iops_check=check, end=NOW, period_s=300), capability(gp3(400, 12_000))
    )
    assert same_hours(past, NOW, by_iops=True, least=3_300) == (6_000.0,)
    assert same_hours(past, NOW, by_iops=True, least=7_000) == (12_000.0,)  # all of it at a limit


def burst_minute(rate: float, seconds: float, rest: float) -> tuple[float, float]:
    """Average IOPS and queue of a minute with one burst, at a limit of 3,000."""
    backlog = (rate - 3_000) * seconds
    drain = backlog / (3_000 - rest)
    served = rest * (60 - seconds) + rate * seconds
    return served / 60, (backlog * seconds / 2 + backlog * drain / 2) / 60


@pytest.mark.parametrize("rate", [3_100, 3_200, 3_300])
@pytest.mark.parametrize("seconds", [2, 3])
def test_a_short_burst_is_measured_by_its_share_and_its_queue(rate: float, seconds: float) -> None:
    iops, queue = burst_minute(rate, seconds, 600)
    found = ratio_from_bursts(pressed([iops] * 3, queue), calm(600), by_iops=True)
    assert found is not None
    assert 3_000 * found.likely == pytest.approx(rate, rel=0.02)


def test_a_burst_whose_queue_the_clients_bound_is_no_burst_of_just_the_limit() -> None:
    """64 operations wait for 20 seconds: 0.2 % above the limit, or clients that send no more."""
    served, queue = (20 * 3_000 + 40 * 600) / 60, 64 * 20 / 60
    found = ratio_from_bursts(pressed([served] * 3, queue), calm(600), by_iops=True)
    assert found is not None
    assert found.likely == pytest.approx(1.8)


def test_queues_that_differ_from_burst_to_burst_are_no_bound_of_the_clients() -> None:
    served = (20 * 3_000 + 40 * 600) / 60
    queues = [waiting * 20 / 60 for waiting in (64, 160, 400)]
    found = ratio_from_bursts(pressed([served] * 3, queues), calm(600), by_iops=True)
    assert found is not None
    assert 1.0 < found.likely < 1.05


def test_a_burst_whose_queue_is_cut_off_is_taken_for_half_of_the_time_it_was_busy() -> None:
    found = ratio_from_bursts(pressed([1_800.0] * 3, 700.0), calm(600), by_iops=True)
    assert found is not None
    assert found.likely == pytest.approx(1.8)  # 3,000 + 2,400 for half of the time
    assert found.upper > found.likely


def test_nine_of_ten_bursts_fit_below_what_is_likely() -> None:
    found = [burst_minute(rate, 3, 600) for rate in range(3_050, 3_300, 25)]
    reach = ratio_from_bursts(
        pressed([iops for iops, _ in found], [queue for _, queue in found]), calm(600), by_iops=True
    )
    assert reach is not None
    assert 3_000 * reach.likely == pytest.approx(3_250, rel=0.01)


def test_pressure_that_ended_had_no_more_to_serve_than_it_served() -> None:
    found = ratio_from_ended_pressure([4.0], 0.25)
    assert found is not None
    assert (found.likely, found.upper) == (1.75, MAX_RATIO)
    assert ratio_from_ended_pressure([], 0.25) is None


def test_littles_law_bounds_a_load_and_a_queue_cut_off_does_not() -> None:
    free = minutes(activity([1_000.0] * 10, latency_ms=10.0), capability(gp3()))
    assert littles_law_bound(free, pressed([3_000.0] * 5, 60.0)) == pytest.approx(2.0)
    assert littles_law_bound(free, pressed([3_000.0] * 5, 1_024.0)) == MAX_RATIO
    assert littles_law_bound((), pressed([3_000.0] * 5, 60.0)) == MAX_RATIO


def test_without_evidence_a_load_wants_the_usual_excess() -> None:
    assert combine_ratios([None, None], MAX_RATIO) == DemandRatio(
        least=1.0, likely=TYPICAL_RATIO, upper=MAX_RATIO
    )
    assert combine_ratios([None], 1.4).likely == pytest.approx(1.4)


def test_of_several_kinds_of_evidence_the_highest_counts() -> None:
    found = combine_ratios(
        [
            DemandRatio(least=1.2, likely=1.2, weight=0.9, source="a"),
            DemandRatio(least=1.1, likely=2.5, weight=0.5, source="b"),
        ],
        2.0,
    )
    assert (found.least, found.likely, found.weight) == (1.2, 2.5, 0.9)
    assert found.upper >= found.likely
    assert found.source == "a, b"


def test_an_hour_of_day_is_found_across_days() -> None:
    past = activity([1_000.0 + i for i in range(288 * 3)], end=NOW, period_s=300)
    levels = same_hours(minutes(past, capability(gp3())), NOW, by_iops=True)
    assert len(levels) == 3
    assert levels[0] > levels[1] > levels[2]
    assert NOW - timedelta(days=3) == past.read_iops.start


@pytest.mark.parametrize(("highest_ago", "likely"), [(7, 4.0), (6, 2.0), (8, 2.0)])
def test_what_this_weekday_took_a_week_ago_is_no_outlier(highest_ago: int, likely: float) -> None:
    """12,000 IOPS on one of eight days that took 6,000: the second highest day counts, but for its weekday."""
    load = [6_000.0] * (9 * 288)
    then = len(load) - 288 * highest_ago
    load[then - 12 : then + 24] = [12_000.0] * 36
    past = activity(load, end=NOW, period_s=300)
    levels = same_hours(minutes(past, capability(gp3(400, 16_000, 500))), NOW, by_iops=True)
    found = ratio_from_earlier_days(levels, 3_000)
    assert found is not None
    assert found.likely == pytest.approx(likely)
