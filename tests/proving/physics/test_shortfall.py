"""Shortfall: what came in a minute and was not served by its end because of the volume."""

from __future__ import annotations

import pytest

from headroom.proving.physics import MinuteFacts
from headroom.proving.workloads import Steps, Stretch, closed_load, open_load
from tests.proving.build import T0, gp3, instance, play, steps

POOL = closed_load(outstanding=64, io_kib=16, service_ms=4, think_ms=10)
FREE = 64 / 0.014


def pool(seconds: float = 600) -> Steps:
    return Steps(T0, [Stretch(duration_s=seconds, load=POOL)])


def shares(facts: list[MinuteFacts]) -> list[float]:
    return [round(fact.shortfall, 6) for fact in facts]


def test_of_an_open_load_it_is_the_backlog_over_what_came_in_the_minute() -> None:
    load = steps((120, 4_000, 16), (60, 1_000, 16), (120, 0, 16))
    facts = play(load, gp3(), 4)
    assert shares(facts) == [0.25, 0.5, 0.0, 0.0]
    assert [fact.starved for fact in facts] == [True, True, True, False]


def test_it_is_never_above_one_and_one_where_only_the_backlog_is_left() -> None:
    facts = play(steps((60, 30_000, 16), (600, 0, 16)), gp3(), 3)
    assert shares(facts) == [0.9, 1.0, 1.0]


def test_what_is_served_within_its_minute_is_no_shortfall_though_it_waited() -> None:
    load = steps((15, 9_000, 16), (45, 100, 16))
    (fact,) = play(load, gp3(), 1)
    assert fact.starved
    assert fact.shortfall == 0


def test_a_pool_lacks_the_share_of_its_free_rate_that_it_lost() -> None:
    facts = play(pool(), gp3(), 3)
    assert shares(facts) == [round(1 - 3_000 / FREE, 6)] * 3
    assert facts[0].latency_ms_avg == pytest.approx(1_000 * (64 / 3_000 - 0.010))
    assert facts[0].queue_seen_avg == pytest.approx(64 - 3_000 * 0.010)


def test_half_the_relief_of_a_pool_is_half_the_shortfall() -> None:
    none, half, whole = (
        play(pool(), gp3(100, round(iops)), 1)[0].shortfall
        for iops in (3_000, (3_000 + FREE) / 2, FREE + 1)
    )
    assert whole == 0
    assert half == pytest.approx(none / 2, rel=1e-3)


def test_a_pool_that_the_volume_does_not_hold_back_takes_its_free_rate() -> None:
    (fact,) = play(pool(), gp3(100, 6_000, 250), 1)
    assert fact.served_ops == pytest.approx(60 * FREE)
    assert fact.latency_ms_avg == pytest.approx(4.0)
    assert (fact.starved, fact.shortfall) == (False, 0.0)


def test_what_the_instance_holds_back_is_no_shortfall_of_the_volume() -> None:
    narrow = instance(1_500, 900)
    assert shares(play(steps((120, 2_500, 16)), gp3(), 2, attachment=narrow)) == [0.0, 0.0]
    assert shares(play(pool(), gp3(), 2, attachment=narrow)) == [0.0, 0.0]
    wider = instance(4_000, 900)
    assert shares(play(pool(), gp3(), 1, attachment=wider)) == [round(1 - 3_000 / 4_000, 6)]
    (fact,) = play(steps((60, 5_000, 16)), gp3(), 1, attachment=wider)
    assert fact.shortfall == pytest.approx(1_000 / 5_000)


def test_a_pool_waits_behind_the_backlog_of_an_open_load() -> None:
    early = Stretch(duration_s=60, load=open_load(iops=6_000, io_kib=16))
    later = Stretch(duration_s=180, load=POOL)
    facts = play(Steps(T0, [early, later]), gp3(), 4)
    assert [round(fact.served_ops) for fact in facts] == [180_000] * 4
    assert [fact.backlog_end for fact in facts] == [pytest.approx(180_000), 0.0, 0.0, 0.0]
    assert shares(facts) == [0.5, 1.0, *[round(1 - 3_000 / FREE, 6)] * 2]
    assert all(fact.starved for fact in facts)
