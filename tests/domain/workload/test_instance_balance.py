"""The instance's own EBS balance run forward: forecast before it is gone, once it matters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from headroom.domain.catalog.ebs import capability
from headroom.domain.decision.diagnose import diagnose
from headroom.domain.resources import Instance, Observation
from headroom.domain.workload import (
    BalanceForecast,
    Binding,
    estimate,
    forecast_balance,
    given_in_bursts,
    imminent,
    minutes,
)
from tests.builders import (
    NOW,
    activity,
    gp3,
    instance,
    instance_activity,
    observation,
    series,
    volume,
)

BASELINE, MAXIMUM = 12_000, 40_000
LARGE = volume(gp3(400, 16_000, 1_000))


def seen(
    iops: Sequence[float],
    balance: Sequence[float | None],
    *,
    others: float = 0.0,
    hung: Instance | None = None,
    check: float = 0,
) -> Observation:
    """A large gp3 volume at these IOPS; balances every five minutes, the last ends now."""
    together = replace(
        instance_activity([i + others for i in iops], [i / 64 for i in iops], iops_check=check),
        io_balance_percent=series(balance, period_s=300),
    )
    return observation(
        activity(iops, io_kib=4), LARGE, instance_activity=together, instance=hung or instance()
    )


def found(what: Observation, past: Sequence[float] = ()) -> BalanceForecast | None:
    can = capability(what.volume.configuration)
    history = activity(past, io_kib=4, period_s=300) if past else None
    earlier = () if history is None else minutes(history, can)
    return forecast_balance(what, minutes(what.activity, can), earlier)


def test_the_balance_is_run_forward_at_the_slope_it_has() -> None:
    forecast = found(seen([15_000.0] * 60, [80.0, 70.0, 60.0, 50.0]))
    assert forecast is not None
    assert forecast.binding is Binding.INSTANCE_IOPS
    assert forecast.empty_at - NOW == timedelta(minutes=25)
    assert (forecast.drain_percent_per_min, forecast.draining_minutes) == (2.0, 15.0)


def test_one_balance_is_run_forward_by_the_documented_bucket() -> None:
    """3,500 IOPS over the baseline empty a bucket of 30 minutes at 28,000 in four hours."""
    forecast = found(seen([15_500.0] * 60, [None, None, None, 100.0]))
    assert forecast is not None
    assert (forecast.empty_at - NOW).total_seconds() == pytest.approx(4 * 3600)


@pytest.mark.parametrize(
    ("iops", "balance", "why"),
    [
        ([12_000.0] * 60, [60.0, 50.0], "the load is back at the baseline"),
        ([8_000.0] * 60, [60.0, 50.0], "it fills again"),
        ([15_000.0] * 60, [None, None], "an instance size that does not burst has none"),
        ([15_000.0] * 60, [50.0, None, None, None, None, None], "half an hour old"),
    ],
)
def test_a_balance_that_does_not_run_out_is_not_reported(
    iops: list[float], balance: list[float | None], why: str
) -> None:
    assert found(seen(iops, balance)) is None, why


def test_without_the_instances_limits_the_slope_alone_decides() -> None:
    unknown = replace(instance(), limits=None)
    forecast = found(seen([15_000.0] * 60, [90.0, 60.0, 30.0], hung=unknown))
    assert forecast is not None
    assert forecast.empty_at - NOW == timedelta(minutes=5)


@pytest.mark.parametrize(
    ("balance", "near"),
    [
        ([100.0, 90.0], False),  # falling for 5 minutes, 45 left
        ([100.0, 90.0, 80.0, 70.0], False),  # 15 and 35
        ([100.0, 90.0, 80.0, 70.0, 60.0, 50.0], True),  # 25 and 25
        ([30.0, 25.0, 20.0], False),  # 10 and 20
        ([20.0, 10.0], True),  # less than ten minutes are left whatever happens
    ],
)
def test_a_balance_is_as_good_as_gone_once_no_more_is_left_than_it_has_fallen_for(
    balance: list[float], near: bool
) -> None:
    assert imminent(found(seen([15_000.0] * 60, balance)), NOW) is near


def test_a_burst_that_ends_every_day_with_balance_to_spare_is_left_alone() -> None:
    night = [4_000.0] * 288
    busy = seen([15_000.0] * 60, [70.0, 65.0, 60.0, 55.0, 50.0])
    assert found(busy) is not None
    assert found(busy, night * 4) is None


def test_a_burst_that_goes_on_every_day_is_reported_three_quarters_of_an_hour_before() -> None:
    always = [15_500.0] * 288
    forecast = found(seen([15_500.0] * 60, [51.0, 50.0, 49.0, 42.0]), always * 4)
    assert forecast is not None
    assert forecast.basis == "earlier_days"


def test_no_money_is_spent_on_a_volume_whose_instance_is_about_to_be_the_limit() -> None:
    unknown = replace(instance(), limits=None)
    what = replace(
        seen([3_000.0] * 60, [30.0, 20.0, 10.0], hung=unknown),
        activity=activity([3_000.0] * 60, iops_check=1), volume=volume(gp3()),
    )  # fmt: skip
    diagnosis = diagnose(what, estimate(what))
    assert diagnosis.binding is Binding.INSTANCE_IOPS
    assert "runs out in 5 min" in diagnosis.explanation
    assert diagnosis.instance_balance is not None


@pytest.mark.parametrize(("others", "binding"), [(1_000.0, Binding.INSTANCE_IOPS),
                                                 (30_000.0, Binding.NOTHING)])  # fmt: skip
def test_the_volumes_that_use_the_balance_up_are_reported_and_not_the_others(
    others: float, binding: Binding
) -> None:
    shared = instance(volumes=("vol-2",))
    what = seen([14_000.0] * 60, [30.0, 20.0, 10.0], others=others, hung=shared)
    assert diagnose(what, estimate(what)).binding is binding


def test_of_two_balances_the_first_to_go_is_reported() -> None:
    what = seen([15_000.0] * 60, [60.0, 55.0, 50.0])
    assert what.instance_activity is not None
    both = replace(
        what.instance_activity,
        mibps=series([700.0] * 60), byte_balance_percent=series([60.0, 40.0, 20.0], period_s=300),
    )  # fmt: skip
    forecast = found(replace(what, instance_activity=both))
    assert forecast is not None
    assert forecast.binding is Binding.INSTANCE_THROUGHPUT


@pytest.mark.parametrize(
    ("io", "size", "pressed", "given"),
    [
        ([100.0], [100.0], 0, (40_000, 1_200)),
        ([100.0], [100.0], 30, (40_000, 1_200)),
        ([100.0], [100.0], 60, (26_000, 900)),  # an hour so far, and an hour to come
        ([50.0], [100.0], 60, (19_000, 900)),
        ([10.0], [100.0], 0, (12_000, 1_200)),  # less than a quarter more
        ([100.0], [100.0], 300, None),
        ([0.0], [0.0], 0, None),
        ([0.0], [50.0], 0, (12_000, 900)),
        ([100.0], [], 0, None),  # not published: no more than what is sustained
        ([100.0, None, None, None, None], [100.0] * 5, 0, None),
    ],
)
def test_bursts_count_by_what_the_balances_hold_and_how_long_the_load_has_lasted(
    io: list[float | None],
    size: list[float | None],
    pressed: int,
    given: tuple[float, float] | None,
) -> None:
    what = seen([3_000.0] * 60, io)
    assert what.instance_activity is not None
    published = replace(what.instance_activity, byte_balance_percent=series(size, period_s=300))
    assert given_in_bursts(replace(what, instance_activity=published), pressed) == given


@pytest.mark.parametrize(("percent", "iops"), [(100.0, 26_000), (75.0, 19_000), (50.0, 12_000)])
def test_half_of_a_balance_is_for_the_other_volumes(percent: float, iops: float) -> None:
    what = seen([3_000.0] * 60, [percent], hung=instance(volumes=("vol-2",)))
    assert what.instance_activity is not None
    published = replace(what.instance_activity, byte_balance_percent=series([100.0], period_s=300))
    assert given_in_bursts(replace(what, instance_activity=published), 0) == (iops, 900)


def test_where_nothing_bursts_and_nothing_is_known_of_the_instance_no_bursts_count() -> None:
    plain = seen([3_000.0] * 60, [], hung=instance(baseline_iops=40_000, baseline_mibps=1_200.0))
    assert given_in_bursts(plain, 0) is None
    assert given_in_bursts(replace(plain, instance=None), 0) is None
