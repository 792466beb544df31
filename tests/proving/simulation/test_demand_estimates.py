"""What the engine makes of loads whose truth is known: simulated by the physics, seen as published."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from headroom.domain.decision import Decision, Escalate, Hold
from headroom.domain.resources import VolumeType
from headroom.domain.workload import Binding, LoadShape, estimate
from headroom.proving.scenarios import parse_scenario
from headroom.proving.simulation import Result, simulate
from tests.proving.build import T0, gp3, loop, steps, volume
from tests.proving.observed import observed

QUIET_S, DAY_S = 1_800, 86_400


def simulated(document: dict[str, object]) -> Result:
    return simulate(parse_scenario(document, source="case", base=Path()))


@pytest.mark.parametrize("times", [1.3, 2.0, 5.0])
def test_an_open_overload_lies_in_the_stated_band_after_five_minutes(times: float) -> None:
    """Nothing distinguishes x1.3 from x5 while the device cuts the queue off: the band says so."""
    demand = estimate(observed(steps((QUIET_S, 1_500, 16), (3_600, 3_000 * times, 16)), gp3(), 35))
    assert demand.shape is LoadShape.CENSORED
    assert demand.pressed_minutes == 5
    assert demand.iops.floor == demand.iops.least == pytest.approx(3_000)
    assert demand.iops.floor <= 3_000 * times <= demand.iops.upper
    assert demand.iops.likely / 3 <= 3_000 * times <= demand.iops.likely * 3
    assert demand.confidence < 0.5
    assert 0 < demand.probability_within(iops=3_000 * times, mibps=1_000) < 1


@pytest.mark.parametrize("times", [1.3, 2.0, 5.0])
def test_an_overload_of_every_day_is_known_from_the_days_it_ran_free(times: float) -> None:
    lowered = volume(gp3(200, 16_000, 500))
    lowered.modify(
        T0 + timedelta(days=2, hours=2), volume_type=VolumeType.GP3, iops=3_000,
        throughput_mibps=125,
    )  # fmt: skip
    days = [(DAY_S - 3_600.0, 800.0, 16.0), (3_600.0, 3_000 * times, 16.0)] * 4
    seen = observed(steps(*days), lowered, 3 * 1_440 + 23 * 60 + 5, earlier_days=True)
    demand = estimate(seen)
    assert demand.iops.likely == pytest.approx(3_000 * times, rel=0.05)
    assert demand.iops.least == pytest.approx(3_000 * times, rel=0.05)
    assert demand.confidence > 0.8
    assert demand.backlog_ops == pytest.approx(5 * 60 * 3_000 * (times - 1), rel=0.1)


def test_a_slight_overload_is_measured_by_the_growth_of_its_queue() -> None:
    demand = estimate(observed(steps((QUIET_S, 1_500, 16), (3_600, 3_004, 16)), gp3(), 34))
    assert demand.iops.likely == pytest.approx(3_004, abs=1)
    assert demand.iops.weight >= 0.5


def test_a_queue_that_drains_after_a_raise_reveals_the_earlier_demand() -> None:
    """4,000 IOPS at a limit of 3,000 for 40 minutes, then 6,000: drained after 20 more."""
    raised = volume(gp3(200))
    raised.modify(
        T0 + timedelta(minutes=60), volume_type=VolumeType.GP3, iops=6_000, throughput_mibps=125
    )
    load = steps((QUIET_S, 1_500, 16), (7_200, 4_000, 16))
    draining = estimate(observed(load, raised, 89))
    assert draining.pressed_minutes > 0
    assert draining.iops.least == pytest.approx(4_000, rel=0.03), "not the 6,000 it serves"
    assert estimate(observed(load, raised, 100)).iops.likely == pytest.approx(4_000)


@pytest.mark.parametrize("rate", [3_100, 3_250])
def test_a_burst_of_three_seconds_a_minute_is_measured_inside_the_minute(rate: float) -> None:
    minute = [(3.0, rate, 16.0), (57.0, 600.0, 16.0)]
    load = steps((QUIET_S, 600, 16), *(minute * 10))
    demand = estimate(observed(load, gp3(), 40))
    assert demand.pressed_minutes == 10
    assert demand.iops.likely == pytest.approx(rate, rel=0.03)


@pytest.mark.parametrize("rate", [4_500, 6_000])
def test_a_burst_whose_queue_is_cut_off_lies_in_the_stated_band(rate: float) -> None:
    minute = [(20.0, rate, 16.0), (40.0, 300.0, 16.0)]
    load = steps((QUIET_S, 300, 16), *(minute * 10))
    demand = estimate(observed(load, gp3(), 40))
    assert demand.iops.likely / 1.6 <= rate <= demand.iops.likely * 1.6
    assert demand.iops.floor <= rate <= demand.iops.upper


@pytest.mark.parametrize("outstanding", [64, 256, 800])
def test_a_pool_is_recognised_by_its_second_minute_and_ever_more_surely(outstanding: float) -> None:
    sure = []
    for minutes in range(2, 8):
        demand = estimate(observed(loop(outstanding, 4, 0.5), gp3(), minutes))
        assert demand.shape is LoadShape.CLOSED_LOOP
        sure.append(demand.pool)
    assert sure == sorted(sure)
    assert sure[0] >= 0.75
    assert sure[-1] > 0.95
    assert demand.iops.likely == pytest.approx(3_000)


@pytest.mark.parametrize("times", [1.01, 1.3, 5.0])
def test_an_open_overload_is_never_taken_for_a_pool(times: float) -> None:
    """One within a percent of the limit grows its queue as slowly as noise does."""
    for minutes in (32, 33, 35, 40, 60, 90):
        load = steps((QUIET_S, 1_500, 16), (7_200, 3_000 * times, 16))
        assert estimate(observed(load, gp3(), minutes)).shape is LoadShape.CENSORED


def test_case_b_gains_little_by_each_further_step() -> None:
    """256 outstanding at 3,000 and then at 6,000 IOPS: the same queue, and its free rate is far off."""
    raised = volume(gp3(50))
    raised.modify(
        T0 + timedelta(minutes=20), volume_type=VolumeType.GP3, iops=6_000, throughput_mibps=250
    )
    for minutes in (10, 25, 40, 100, 160):
        demand = estimate(observed(loop(256, 4, 0.5, 14_400), raised, minutes))
        assert demand.shape is LoadShape.CLOSED_LOOP
        assert demand.iops.likely <= 6_000 * 1.01
        late = [demand.expected_shortfall(iops=n, mibps=1_000) for n in (6_000, 9_000, 12_000)]
        assert late[0] - late[1] > late[1] - late[2] > 0
        assert late[2] > 0.25


NO_GP3 = {"defaults": {"types": ["io2"]}}
"""Without it gp2 becomes gp3 in the first minutes, which costs less."""


def instance_decisions(result: Result) -> list[Decision]:
    limits = (Binding.INSTANCE_IOPS, Binding.INSTANCE_THROUGHPUT)
    return [d for d in result.decisions if d.diagnosis.binding in limits]


def test_a_draining_instance_balance_is_reported_once_in_time_and_nothing_is_bought() -> None:
    result = simulated(
        {
            "policy": NO_GP3,
            "resource": {"type": "gp2", "size_gib": 400, "tags": {"headroom": "auto"}},
            "workload": {
                "steps": [
                    {"for": "30m", "iops": 800, "io_kib": 16},
                    {"for": "90m", "iops": 2_900, "io_kib": 16},
                ]
            },
            "attachment": {
                "baseline_iops": 1_200, "baseline_throughput_mbps": 200, "maximum_iops": 2_900,
                "maximum_throughput_mbps": 600,
            },
        }
    )  # fmt: skip
    first, *later = instance_decisions(result)
    empty = next(m for m in result.minutes if m.facts.instance_io_balance_percent == 0)
    assert isinstance(first.answer, Escalate)
    assert "balance runs out in" in first.diagnosis.explanation
    assert first.at < empty.facts.start
    assert all(isinstance(d.answer, Hold) for d in later), "the owner is notified once"
    assert result.changes == ()


def test_a_volume_that_is_next_after_its_instance_is_foreseen_as_well() -> None:
    """The instance sustains 2,000 IOPS, gp2 without credits 1,200: first notified, then the credits."""
    result = simulated(
        {
            "policy": NO_GP3,
            "resource": {"type": "gp2", "size_gib": 400, "tags": {"headroom": "auto"}},
            "workload": {
                "steps": [
                    {"for": "30m", "iops": 1_000, "io_kib": 16},
                    {"for": "150m", "iops": 2_900, "io_kib": 16},
                ]
            },
            "attachment": {
                "baseline_iops": 2_000, "baseline_throughput_mbps": 200, "maximum_iops": 2_900,
                "maximum_throughput_mbps": 600,
            },
        }
    )  # fmt: skip
    escalation = instance_decisions(result)[0]
    assert isinstance(escalation.answer, Escalate)
    dry = next(m.facts.start for m in result.minutes if m.facts.burst_balance_percent == 0)
    next_limit = [d.at for d in result.decisions if d.diagnosis.binding is Binding.BURST_CREDITS]
    assert any(escalation.at < at < dry for at in next_limit)
