"""gp2 of a database below its striping threshold: gp3 is taken unless its throughput is needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.decision import Act, Decision, Reason
from headroom.domain.guardrails import Guardrail
from headroom.domain.planning.gp2_to_gp3 import plain_gp3
from headroom.domain.resources import Configuration, Engine, Observation, VolumeType
from tests.builders import NOW, activity, gp2
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
    told = history(before, days=days, end=NOW - timedelta(hours=3), io_kib=io_kib, check=None,
                   balance=80.0)  # fmt: skip
    return replace(starved(configuration, limit), activity=load, history=told)


def blocking(decision: Decision, target: Configuration) -> set[Guardrail]:
    (judged,) = [j for j in decision.judgements if j.plan.target == target]
    return {v.guardrail for v in judged.blocking}


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


def test_a_load_of_large_operations_that_would_run_into_gp3s_throughput_is_not_moved_to_it() -> (
    None
):
    decision = decided(drained(300, io_kib=64, before=lambda _: 100.0))
    # 64 KiB x 3,000 IOPS are 188 MiB/s: gp3 would hold it at 125, gp2 with credits at 250.
    assert rds(GP3, 300, engine=Engine.MYSQL) not in {j.plan.target for j in decision.judgements}


def test_without_a_day_of_measurements_nothing_is_traded() -> None:
    seen = drained(300, days=0.25)
    decision = decided(seen, types=(GP3,))
    assert not isinstance(decision.answer, Act)
    target = rds(GP3, 300, engine=Engine.MYSQL)
    assert blocking(decision, target) == {Guardrail.GIVE_BACK_DATA}


def test_an_owner_who_lets_nothing_be_given_back_keeps_the_throughput() -> None:
    decision = decided(drained(300), types=(GP3,), give_back=False)
    assert not isinstance(decision.answer, Act)


@pytest.mark.parametrize(
    "other",
    [
        gp2(100),
        rds(GP2, 400),
        rds(GP3, 300),
        rds(IO1, 300, 3_000),
        rds(GP2, 300, engine=Engine.SQL_SERVER),
        rds(GP2, 200, engine=Engine.ORACLE),
    ],
)
def test_only_gp2_of_a_database_on_one_volume_has_such_a_trade(other: Configuration) -> None:
    assert plain_gp3(other) is None


@given(size=st.integers(20, 399), io_kib=st.floats(4, 256), most=st.floats(1, 3_000))
def test_no_trade_leaves_less_throughput_than_was_ever_used(
    size: int, io_kib: float, most: float
) -> None:
    seen = drained(size, io_kib=io_kib, before=lambda at: most if at.hour == 3 else 20.0, days=2)
    answer = decided(seen).answer
    if isinstance(answer, Act) and answer.plan.target == rds(GP3, size, engine=Engine.MYSQL):
        assert most * io_kib / 1024 <= 125
