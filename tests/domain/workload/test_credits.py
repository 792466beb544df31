from __future__ import annotations

from datetime import timedelta

import pytest

from headroom.domain.catalog.ebs import capability
from headroom.domain.resources import Configuration, VolumeType
from headroom.domain.workload import minutes
from headroom.domain.workload.credits import forecast_credits
from headroom.domain.workload.demand import CreditForecast
from tests.builders import NOW, activity, gp2, gp3
from tests.domain.earlier import history


def credit_forecast(
    configuration: Configuration, load: list[float], balance: list[float | None], io_kib: float = 16
) -> CreditForecast | None:
    seen = activity(load, balance=balance, io_kib=io_kib)
    can = capability(configuration)
    return forecast_credits(
        now=NOW, seen=minutes(seen, can), balance=seen.burst_balance_percent, history=None, can=can
    )


@pytest.mark.parametrize(
    ("size", "load", "percent", "seconds"),
    [  # balance / (driven - baseline): EBS User Guide, I/O credits and burst performance
        (100, 3000, 100, 2000),
        (334, 3000, 100, 2702.7),
        (750, 3000, 100, 7200),
        (400, 2500, 50, 2_700_000 / 1300),
        (100, 1000, 10, 540_000 / 700),
    ],
)
def test_the_bucket_is_run_forward_at_driven_minus_baseline(
    size: int, load: float, percent: float, seconds: float
) -> None:
    found = credit_forecast(gp2(size), [load] * 30, [percent] * 30)
    assert found is not None
    assert found.empty_at is not None
    assert (found.empty_at - NOW).total_seconds() == pytest.approx(seconds, rel=0.001)


def test_a_bucket_that_fills_does_not_run_out() -> None:
    found = credit_forecast(gp2(400), [1000.0] * 30, [40.0] * 30)
    assert found is not None
    assert found.empty_at is None
    assert found.drain_per_s == pytest.approx(-200)


def test_a_balance_read_long_ago_is_run_forward_to_now() -> None:
    stale: list[float | None] = [50.0] * 20 + [None] * 10
    fresh = credit_forecast(gp2(400), [2500.0] * 30, [50.0] * 30)
    old = credit_forecast(gp2(400), [2500.0] * 30, stale)
    assert fresh is not None
    assert fresh.empty_at is not None
    assert old is not None
    assert old.empty_at is not None
    assert fresh.empty_at - old.empty_at == pytest.approx(
        timedelta(minutes=10), abs=timedelta(seconds=1)
    )


@pytest.mark.parametrize("configuration", [gp3(), gp2(1000)])
def test_a_volume_without_a_bucket_has_no_forecast(configuration: Configuration) -> None:
    assert credit_forecast(configuration, [3000.0] * 30, [None] * 30) is None


def test_no_balance_is_not_an_empty_bucket() -> None:
    assert credit_forecast(gp2(100), [3000.0] * 30, [None] * 30) is None


def test_a_dry_bucket_under_load_is_empty_now() -> None:
    found = credit_forecast(gp2(400), [1200.0] * 30, [0.0] * 30)
    assert found is not None
    assert found.empty_at == NOW
    assert found.starved_minutes > 0


def test_an_hdd_bucket_is_believed_where_small_io_costs_a_whole_mebibyte() -> None:
    st1 = Configuration(volume_type=VolumeType.ST1, size_gib=1024, iops=None, throughput_mibps=None)
    falling: list[float | None] = [100 - i for i in range(60)]
    found = credit_forecast(st1, [100.0] * 60, falling, io_kib=64)
    assert found is not None
    assert found.empty_at is not None
    assert (found.empty_at - NOW) < timedelta(minutes=45)


def test_load_that_earlier_days_did_not_have_at_this_hour_does_not_end_in_half_an_hour() -> None:
    """It has drained the bucket for three hours; after half an hour earlier days would have refilled it."""
    drained = [40.0 - 20.0 * i / 180 for i in range(180)]
    seen = activity([2000.0] * 180, balance=drained)
    can = capability(gp2(400))
    found = [
        forecast_credits(
            now=NOW, seen=minutes(seen, can), balance=seen.burst_balance_percent,
            history=history(lambda at, usual=usual: usual, days=5.0), can=can,
        )
        for usual in (300.0, 1300.0)
    ]  # fmt: skip
    unknown, known = found
    assert unknown is not None
    assert unknown.empty_at is not None
    assert (unknown.empty_at - NOW).total_seconds() == pytest.approx(1_080_000 / 800, rel=0.01)
    assert known is not None
    assert known.basis == unknown.basis == "earlier_days"
