"""gp2 of a database below its striping threshold: gp3 is taken unless its throughput is needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import Act, Reason, decide
from headroom.domain.guardrails import Case, Guardrail, judge
from headroom.domain.planning.gp2_to_gp3 import late_minutes, least_gp3
from headroom.domain.resources import Configuration, Engine, Observation, VolumeType
from headroom.domain.state import HOUR, LoadProfile, ProfileHour
from headroom.domain.workload import Minute, estimate
from tests.builders import (
    NOW,
    activity,
    decision_input,
    gp2,
    gp3,
    observation,
    policy,
    series,
    volume,
)
from tests.domain.databases import rds
from tests.domain.decision.test_rds_planning import decided, starved
from tests.domain.earlier import history

GP2, GP3, IO1 = VolumeType.GP2, VolumeType.GP3, VolumeType.IO1
Load = Callable[[datetime], float]


def steady(_: datetime) -> float:
    return 250.0


def drained(
    size: int,
    *,
    io_kib: float = 16,
    before: Load = steady,
    days: float = 14,
    engine: Engine = Engine.MYSQL,
) -> Observation:
    """A gp2 database whose credits are gone, at its baseline for half an hour."""
    configuration = rds(GP2, size, engine=engine)
    limit = 3.0 * size
    load = activity(
        [limit / 2] * 30 + [limit] * 30, io_kib=io_kib,
        queue=[1.0] * 30 + [900.0 + limit / 20 * i for i in range(30)],
        iops_check=None, mibps_check=None, latency_ms=[1.0] * 30 + [300.0] * 30, balance=0.0,
    )  # fmt: skip
    metrics = history(before, days=days, end=NOW - timedelta(hours=3), io_kib=io_kib, check=None,
                   balance=80.0)  # fmt: skip
    return replace(starved(configuration, limit), activity=load, history=metrics)


@pytest.mark.parametrize("size", [100, 200, 300, 399])
@pytest.mark.parametrize("engine", [Engine.MYSQL, Engine.POSTGRESQL, Engine.MARIADB])
def test_gp2_below_the_threshold_out_of_credits_becomes_gp3_of_its_size_at_its_price(
    size: int, engine: Engine
) -> None:
    decision = decided(drained(size, engine=engine))
    assert isinstance(decision.answer, Act)
    plan = decision.answer.plan
    assert plan.target == rds(GP3, size, engine=engine)
    assert (plan.price_change_usd, plan.full_copy, plan.reversible) == (Decimal(0), False, True)
    assert decision.answer.reason is Reason.STARVED
    # What else it could be stands beside it, priced.
    assert {j.plan.target.volume_type for j in decision.judgements} >= {GP3, IO1}


def test_throughput_that_a_night_needs_is_not_traded_for_iops() -> None:
    def nightly(at: datetime) -> float:
        return 800.0 if at.hour == 3 else 20.0

    seen = drained(300, io_kib=240, before=nightly)  # 800 x 240 KiB: 188 MiB/s at night
    decision = decided(seen)
    assert rds(GP3, 300, engine=Engine.MYSQL) not in {j.plan.target for j in decision.judgements}


def test_a_load_of_large_operations_without_credits_moves_where_gp3_serves_more_of_it() -> None:
    decision = decided(drained(300, io_kib=64, before=lambda _: 100.0))
    # 64 KiB x 900 IOPS are 56 MiB/s without credits; no load so far came above gp3's 125.
    assert isinstance(decision.answer, Act)
    assert decision.answer.plan.target == rds(GP3, 300, engine=Engine.MYSQL)


def test_a_load_of_large_operations_stays_where_gp3_serves_less_of_it() -> None:
    decision = decided(drained(300, io_kib=240, before=lambda _: 100.0))
    # 240 KiB x 900 IOPS are 211 MiB/s, also without credits.
    assert rds(GP3, 300, engine=Engine.MYSQL) not in {j.plan.target for j in decision.judgements}


CREDITS = ProfileHour(2_900.0, 181.25, 2_900.0, 181.25, 60, 0, 0.0, 0.0)
"""An hour of 64 KiB operations that gp2 serves while it has credits."""
EMPTY = ProfileHour(750.0, 46.875, 750.0, 46.875, 60, 60, 750.0, 0.0)
"""The next ones, without: 250 GiB."""
QUIET = ProfileHour(50.0, 0.8, 50.0, 0.8, 60, 0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("hours", "before", "after"),
    [
        ([], 0, 0),
        ([QUIET], 0, 0),
        ([QUIET._replace(peak_mibps=122.5, mean_mibps=122.5)], 0, 0),
        ([CREDITS], 0, 86.79),
        # 125 may be 126 before it was rounded: what waits in an hour waits in the next ones too.
        ([CREDITS._replace(peak_mibps=125.0, mean_mibps=125.0, mean_iops=2_000.0)], 0, 18.6),
        ([CREDITS._replace(peak_mibps=125.0, mean_mibps=125.0, mean_iops=2_000.0)] * 3, 0, 131.8),
        ([EMPTY], 60, 22.5),
        ([QUIET, CREDITS, EMPTY, QUIET], 60, 109.29),
        ([CREDITS, EMPTY, EMPTY, EMPTY], 180, 154.29),
        # At 3,000 IOPS gp3 is at its limit as long at least; at gp2's own MiB/s nothing may wait.
        ([EMPTY._replace(limit_iops=3_000.0)], 60, 60),
        ([EMPTY._replace(limit_mibps=128.0)], 0, 22.5),
        ([CREDITS._replace(touched_minutes=60, limit_iops=3_000.0)], 60, 87),
        # Large operations: gp2 without credits moves more than gp3's 125 MiB/s.
        ([EMPTY._replace(peak_mibps=175.0, mean_mibps=175.0)], 60, 84),
        # Half an hour above 125 MiB/s takes as long as its bytes do.
        ([CREDITS._replace(mean_iops=1_450.0, mean_mibps=90.625)], 0, 43.5),
        # What is 2 % above 125 MiB/s for ten minutes of an hour waits for seconds.
        ([CREDITS._replace(peak_mibps=127.5, mean_iops=320.0, mean_mibps=20.0, busy_minutes=10)], 0, 0.002),
        # The hour in which the credits end: a quarter without, and three of 9 % too much.
        ([CREDITS._replace(peak_mibps=136.0, mean_iops=2_390.0, mean_mibps=112.0, touched_minutes=15, limit_iops=900.0)], 15, 53.76),
    ],
)  # fmt: skip
def test_what_came_late_on_gp2_and_would_at_most_on_gp3(
    hours: list[ProfileHour], before: float, after: float
) -> None:
    assert late_minutes(hours, (), capability(rds(GP3, 250))) == pytest.approx(
        (before, after), abs=0.01
    )


@pytest.mark.parametrize(
    ("iops", "mibps", "limit", "pressed", "before", "after"),
    [
        (750.0, 46.875, 750.0, True, 1, 0.375),
        (750.0, 46.875, 750.0, False, 0, 0),
        (2_731.0, 128.0, 3_000.0, True, 1, 1.024),
        (2_900.0, 181.25, 3_000.0, False, 0, 0.3103),
        (1_860.0, 116.25, 3_000.0, False, 0, 0),
        # A burst inside the minute touched the limit: nothing waited by its end.
        (500.0, 31.25, 750.0, True, 0, 0.25),
    ],
)
def test_the_latest_minutes_count_as_hours_do(
    iops: float, mibps: float, limit: float, pressed: bool, before: float, after: float
) -> None:
    minute = Minute(
        at=NOW, iops=iops, mibps=mibps, queue=9.0, latency_ms=5.0, iops_pressed=pressed,
        mibps_pressed=False, iops_limit=limit, mibps_limit=128.0, checked=False, ssd_iops=iops,
    )  # fmt: skip
    late = late_minutes((), [minute], capability(rds(GP3, 250)))
    assert late == pytest.approx((before, after), abs=0.01)


@pytest.mark.parametrize(("served_above", "moves"), [(0, True), (100, False)])
def test_the_guardrails_judge_by_the_same_hours(served_above: int, moves: bool) -> None:
    seen = drained(300, io_kib=64, before=lambda _: 100.0)
    decision = decided(seen)
    assert isinstance(decision.answer, Act)
    hours = (CREDITS,) * served_above + (QUIET,) * 24
    profile = LoadProfile(start=NOW - len(hours) * HOUR, hours=hours)
    judged = judge(
        Case(
            plan=decision.answer.plan, observation=seen, demand=decision.demand,
            diagnosis=decision.diagnosis, policy=policy(), effective=decision.effective,
            resource_state=replace(decision.resource_state, profile=profile),
        )
    )  # fmt: skip
    blocking = {v.guardrail for v in judged.blocking}
    late = {Guardrail.GIVE_BACK_DATA, Guardrail.GIVE_BACK_STABILIZATION}
    assert blocking & late == (set() if moves else late)


def test_more_iops_for_the_same_money_need_no_day_of_measurements() -> None:
    decision = decided(drained(300, days=0.25), types=(GP3,))
    assert isinstance(decision.answer, Act)
    assert decision.answer.plan.target == rds(GP3, 300, engine=Engine.MYSQL)
    assert decision.answer.plan.price_change_usd == 0


def test_an_owner_who_lets_nothing_be_given_back_keeps_the_throughput() -> None:
    decision = decided(drained(300), types=(GP3,), give_back=False)
    assert not isinstance(decision.answer, Act)


@pytest.mark.parametrize("days", [None, 20])
def test_an_hdd_type_at_its_iops_becomes_gp3_at_once_and_keeps_the_throughput_it_bursts_to(
    days: float | None,
) -> None:
    """st1: 20 operations of 1 MiB a second, then random ones of 16 KiB that use up its 244."""
    before, now = activity([20.0] * 150, io_kib=1024), activity([244.0] * 30, io_kib=16)
    load = replace(
        activity([20.0] * 150 + [244.0] * 30, queue=[1.0] * 150 + [900.0] * 30,
                 latency_ms=[5.0] * 150 + [2_000.0] * 30, balance=99.0, iops_check=[0.0] * 150 + [1.0] * 30),
        **{
            name: series(getattr(before, name).values + getattr(now, name).values)
            for name in ("read_iops", "write_iops", "read_mibps", "write_mibps")
        },
    )  # fmt: skip
    st1 = Configuration(
        volume_type=VolumeType.ST1, size_gib=1_000, iops=None, throughput_mibps=None
    )
    earlier = days and history(lambda _: 20.0, io_kib=1024, days=days, check=None)
    decision = decide(decision_input(observation(load, volume(st1), history=earlier or None)))
    assert isinstance(decision.answer, Act), decision.answer
    assert decision.answer.plan.target == gp3(1_000, 3_000, 245)


def least(current: Configuration, *, mibps: float = 1.0) -> Configuration | None:
    """The trade of a load of 100 IOPS that once moved `mibps`."""
    load = activity([100.0] * 60, io_kib=mibps * 1024 / 100)
    demand = estimate(observation(load, volume(current)))
    return least_gp3(current, demand, (), spare=1.1)


@pytest.mark.parametrize(
    ("current", "mibps", "target"),
    [
        (gp2(100), 1.0, gp3(100, 3_000, 125)),
        (gp2(171), 150.0, gp3(171, 3_000, 165)),
        (gp2(2_000), 1.0, gp3(2_000, 6_000, 125)),
        (rds(GP2, 300, engine=Engine.MYSQL), 1.0, rds(GP3, 300, engine=Engine.MYSQL)),
        # None can be bought at this size: it has 125 MiB/s whatever was used.
        (rds(GP2, 150), 118.0, rds(GP3, 150)),
        (rds(GP2, 350), 200.0, rds(GP3, 350)),
        # Striped: the same money brings 12,000 IOPS and 500 MiB/s.
        (rds(GP2, 400), 1.0, rds(GP3, 400, 12_000, 500)),
        (rds(GP2, 1_000), 1.0, rds(GP3, 1_000, 12_000, 500)),
    ],
    ids=str,
)
def test_the_least_gp3_has_all_iops_of_gp2_and_the_throughput_that_was_used(
    current: Configuration, mibps: float, target: Configuration
) -> None:
    found = least(current, mibps=mibps)
    assert found is not None
    assert capability(found) == capability(target)
    assert (found.volume_type, found.size_gib) == (GP3, current.size_gib)


@pytest.mark.parametrize("other", [gp3(100), rds(GP3, 300), rds(IO1, 300, 3_000)], ids=str)
def test_only_gp2_has_such_a_trade(other: Configuration) -> None:
    assert least(other) is None


@given(size=st.integers(20, 399), io_kib=st.floats(4, 256), most=st.floats(1, 3_000))
def test_no_trade_leaves_less_throughput_than_was_ever_used(
    size: int, io_kib: float, most: float
) -> None:
    seen = drained(size, io_kib=io_kib, before=lambda at: most if at.hour == 3 else 20.0, days=2)
    answer = decided(seen).answer
    if isinstance(answer, Act) and answer.plan.target == rds(GP3, size, engine=Engine.MYSQL):
        assert most * io_kib / 1024 <= 125
