"""Controllers on a load series: what they read, what guardrails and AWS allow, what it costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np
import pytest

from headroom.domain.resources import Configuration, VolumeType
from headroom.proving.trials import (
    STARTS,
    Conditions,
    PublishedSoFar,
    TrialRun,
    run_rule,
    run_schedule,
    score_usd,
)
from headroom.proving.trials.trial import held_usd
from headroom.proving.vectorized import pain_if_static
from tests.proving.series import load_series_of

BALANCED = Conditions()
DAY = 1_440


def gp3(iops: int, mibps: int = 125) -> Configuration:
    return Configuration(
        volume_type=VolumeType.GP3, size_gib=400, iops=iops, throughput_mibps=mibps
    )


@dataclass
class Asked:
    """A rule that keeps what it received and asks for what it is given."""

    answer: Callable[[int], Configuration | None]
    every_min: int = 60
    name: str = "asked"
    received: list[PublishedSoFar] = field(default_factory=list)
    at: list[datetime] = field(default_factory=list)

    def desired(self, published: PublishedSoFar, now: datetime) -> Configuration | None:
        self.received.append(published)
        self.at.append(now)
        return self.answer(len(self.at) - 1)


def test_nothing_done_is_the_static_run_and_its_price():
    load_series = load_series_of([4_000.0] * DAY)
    run = run_schedule(load_series, STARTS["gp3"], (), BALANCED)
    assert np.array_equal(run.starved, pain_if_static(load_series, STARTS["gp3"]).starved)
    assert run.storage_usd == pytest.approx(32.0 * 24 / 730)
    assert run.changes == ()


def test_a_target_is_billed_from_its_start_and_works_from_ten_minutes_later():
    load_series = load_series_of([4_000.0] * DAY)
    run = run_schedule(load_series, STARTS["gp3"], [(100, gp3(12_000))], BALANCED)
    assert run.starved[:110].all()
    assert not run.starved[145:].any()
    hours = (100 / 60, (DAY - 100) / 60)
    assert run.storage_usd == pytest.approx((32.0 * hours[0] + 77.0 * hours[1]) / 730)
    (change,) = run.changes
    assert (change.minute, change.target, change.usd_change) == (100, gp3(12_000), 45.0)


def test_a_rule_sees_what_was_published_and_nothing_later():
    load = np.arange(1.0, 301.0)
    rule = Asked(lambda n: None)
    run_rule(load_series_of(load), STARTS["gp3"], rule, BALANCED)
    assert [len(seen.iops) for seen in rule.received] == [0, 58, 118, 178, 238]
    assert np.allclose(rule.received[-1].iops, load[:238])
    assert rule.at[1] - rule.at[0] == timedelta(hours=1)


def test_a_rule_sees_the_configuration_as_it_is_described_and_the_change_in_flight():
    rule = Asked(lambda n: gp3(6_000) if n == 0 else None)
    run_rule(load_series_of([1.0] * 400), STARTS["gp3"], rule, BALANCED)
    assert rule.received[0].configuration == STARTS["gp3"]
    assert rule.received[1].configuration == gp3(6_000)
    assert [seen.in_flight for seen in rule.received[:3]] == [False, True, False]


def test_one_slot_of_four_stays_in_reserve():
    rule = Asked(lambda n: gp3(4_000 + n), every_min=180)
    run = run_rule(load_series_of([1.0] * (2 * DAY)), STARTS["gp3"], rule, BALANCED)
    assert [change.minute for change in run.changes] == [0, 180, 360, 1440, 1620, 1800]
    assert (run.held, run.aws_refusals, run.guardrail_violations) == (10, 0, 0)


def test_aws_refuses_a_change_while_one_is_in_flight():
    rule = Asked(lambda n: gp3(4_000 + n))
    run = run_rule(load_series_of([1.0] * 240), STARTS["gp3"], rule, BALANCED)
    assert [change.minute for change in run.changes] == [0, 120]
    assert run.aws_refusals == 2


def test_targets_are_cut_to_the_ceilings():
    run = run_schedule(
        load_series_of([1.0] * 600), STARTS["gp2"], [(0, gp3(80_000, 2_000))], BALANCED
    )
    assert [change.target for change in run.changes] == [gp3(12_000, 1_000)]
    assert run.guardrail_violations == 0


@pytest.mark.parametrize(("name", "grown", "violations"), [("grow-gp2", 1, 1), ("asked", 0, 0)])
def test_only_the_rule_that_is_nothing_without_it_may_grow_and_that_is_a_violation(
    name, grown, violations
):
    larger = Configuration(
        volume_type=VolumeType.GP2, size_gib=440, iops=None, throughput_mibps=None
    )
    rule = Asked(lambda n: larger if n == 0 else None, name=name)
    run = run_rule(load_series_of([1.0] * 240), STARTS["gp2"], rule, BALANCED)
    assert (len(run.changes), run.guardrail_violations) == (grown, violations)


def test_a_schedule_after_the_end_of_the_series_is_dropped():
    run = run_schedule(load_series_of([1.0] * 60), STARTS["gp3"], [(60, gp3(6_000))], BALANCED)
    assert run.changes == ()


def test_shortfall_that_nothing_could_save_costs_nothing():
    shortfall = np.array([1.0, 1.0, 0.0, 0.75])
    run = TrialRun(
        starved=shortfall > 0, shortfall=shortfall, changes=(), storage_usd=2.0, aws_refusals=0,
        guardrail_violations=0, held=0,
    )  # fmt: skip
    unavoidable = np.array([0.0, 1.0, 1.0, 0.25])
    assert score_usd(run, unavoidable, BALANCED) == pytest.approx(2.0 + 0.10 * 1.5)
    assert score_usd(run, unavoidable, Conditions(preset="performance")) == pytest.approx(3.5)


def test_a_month_costs_the_list_price():
    minutes = 730 * 60
    assert held_usd(STARTS["io1"], [], minutes, BALANCED.monthly) == pytest.approx(1_090.0)
    half = [(minutes // 2, gp3(3_000))]
    assert held_usd(STARTS["io1"], half, minutes, BALANCED.monthly) == pytest.approx(561.0)
