"""Adaptive detection over a fleet under load: what it reads, and how soon it sees pressure."""

from __future__ import annotations

from functools import cache
from statistics import median

from headroom.running_cost import Rates
from tools.fleet_week import Week, play


@cache
def simulated(volumes: int = 100, at_risk: float = 0.05) -> Week:
    return play(volumes, 2.0, at_risk=at_risk)


def test_a_quiet_volume_costs_little_more_than_a_metric_an_hour() -> None:
    week, rates = simulated(), Rates()
    quiet = week.volumes - week.at_risk
    assert (
        24 <= week.metrics_quiet / week.days / quiet < 1.2 * float(rates.quiet_metrics_per_day[1])
    )
    assert 24 <= week.glances_quiet / week.days / quiet < 1.2 * float(rates.quiet_glances_per_day)


def test_a_volume_at_risk_costs_about_what_the_bill_says() -> None:
    week, rates = simulated(), Rates()
    assert week.at_risk == 5
    metrics = (week.metrics - week.metrics_quiet) / week.days / week.at_risk
    assert 100 < metrics < 1.2 * float(rates.risk_metrics_per_day[1])


def test_pressure_is_seen_within_five_minutes_at_risk_and_within_the_hour_elsewhere() -> None:
    week = simulated(40, at_risk=0.3)
    assert week.waits_at_risk
    assert median(week.waits_at_risk) <= 5
    assert len(week.waits_quiet) > 5
    assert median(week.waits_quiet) < 60
    assert max(week.waits_quiet) <= 65, "an hour, and three minutes until metrics are published"
    assert sum(week.missed) <= 0.01 * week.exceeded


def test_alarms_on_those_that_were_seen_late_see_pressure_within_minutes() -> None:
    without = simulated(40, at_risk=0.3)
    week = play(40, 2.0, at_risk=0.3, alarm_budget_usd=1.0)
    assert 0 < week.alarms <= 10
    assert len(week.waits_alarmed) > len(week.waits_quiet)
    assert median(week.waits_alarmed) <= 3
    assert len(week.waits_quiet) < len(without.waits_quiet)
    assert week.metrics == without.metrics, "glances go on as if there were none"
    assert week.reconciliations <= 1.3 * without.reconciliations
