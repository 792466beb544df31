"""Headroom on a load series acts as in the minute-by-minute simulation, and no minute is missed."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import numpy as np
import pytest

from headroom.domain.decision import Act, Decision
from headroom.domain.resources import Configuration
from headroom.policy import default_policy
from headroom.proving.awsrules import Delays
from headroom.proving.physics import BOUNDLESS, QUEUE_LIMIT, Attachment
from headroom.proving.scenarios import AttachmentSettings, AwsBehaviour, Resource, Scenario
from headroom.proving.simulation import Result, simulate
from headroom.proving.trials import DRAWN_DELAYS, DRAWN_METRIC_DELAY, STARTS, Conditions, run_engine
from headroom.proving.workloads import LoadSeries
from tests.proving.series import START, LoadSeriesWorkload, load_series_of


def simulated(load_series: LoadSeries, start: Configuration, conditions: Conditions) -> Result:
    return simulate(
        Scenario(
            name=load_series.name,
            start=load_series.start,
            resource=Resource(configuration=start, burst_balance_percent=100.0, tags=()),
            attachment_settings=AttachmentSettings(
                attachment=Attachment(limits=BOUNDLESS), queue_limit=QUEUE_LIMIT
            ),
            workload=LoadSeriesWorkload(load_series),
            history=None,
            aws=AwsBehaviour(
                region=conditions.region,
                prices=conditions.prices,
                metric_delay=conditions.metric_delay_of(load_series.name),
                delays=conditions.delays.named(load_series.name),
                modified_at=(),
                known_to_ledger=True,
                refusal_names_instant=True,
            ),
            policy=conditions.policy,
        )
    )


def counted(decisions: tuple[Decision, ...]) -> Counter[tuple[object, ...]]:
    """Instant, trigger, answer, reason and target of each; the order within a minute is free."""
    found: Counter[tuple[object, ...]] = Counter()
    for decision in decisions:
        answer = decision.answer
        plan = answer.plan if isinstance(answer, Act) else answer.proposed_plan
        target = None if plan is None else str(plan.target)
        found[decision.at, decision.trigger, type(answer).__name__, answer.reason, target] += 1
    return found


def day(
    seed: int, *, base: float, peak: float, step_s: int, hours: int, late_min: int
) -> LoadSeries:
    """A noisy day with a long burst in it and minutes nobody measured."""
    rng = np.random.default_rng(seed)
    count = hours * 3600 // step_s
    at = np.arange(count) * step_s
    load = base * (1 + 0.8 * np.sin(2 * np.pi * at / 86_400)) * rng.lognormal(0, 0.3, count)
    load += peak * ((at > 5 * 3600) & (at < 6.5 * 3600))
    load[rng.random(count) < 0.01] = np.nan
    return load_series_of(
        load, step_s=step_s, io_kib=16.0, start=START + timedelta(minutes=late_min)
    )


CASES = {
    "gp2 runs dry": ("gp2", "balanced", 2, {"base": 1_300.0, "peak": 4_000.0, "step_s": 60, "late_min": 0}),
    "gp3 is short for an hour": (
        "gp3", "performance", 2, {"base": 900.0, "peak": 6_000.0, "step_s": 300, "late_min": 7},
    ),
    "gp3 that nobody would pay for": (
        "gp3", "thrift", 0, {"base": 900.0, "peak": 3_000.0, "step_s": 30, "late_min": 3},
    ),
    "io1 with room": ("io1", "balanced", 3, {"base": 900.0, "peak": 2_000.0, "step_s": 60, "late_min": 11}),
}  # fmt: skip


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("name", list(CASES))
def test_it_decides_as_in_the_simulation_of_every_minute(name, drawn):
    start, preset, metric_delay, load = CASES[name]
    late = timedelta(minutes=metric_delay)
    conditions = Conditions(
        preset=preset, metric_delay=DRAWN_METRIC_DELAY if drawn else (late, late),
        delays=DRAWN_DELAYS if drawn else Delays(),
    )  # fmt: skip
    load_series = day(len(name), hours=9, **load)
    exact = simulated(load_series, STARTS[start], conditions)
    fast = run_engine(load_series, STARTS[start], conditions)
    assert counted(fast.decisions) == counted(exact.decisions)
    assert [
        (load_series.start + timedelta(minutes=c.minute), c.origin, c.target, c.reason)
        for c in fast.changes
    ] == [(c.at, c.origin, c.target, c.reason) for c in exact.changes]
    assert fast.starved.tolist() == [minute.facts.starved for minute in exact.minutes]
    assert fast.storage_usd == pytest.approx(float(exact.storage_usd))
    assert fast.aws_refusals == len(exact.refusals)
    assert fast.guardrail_violations == len(exact.violations) == 0


def test_the_cases_above_are_not_all_quiet():
    start, preset, _, load = CASES["gp3 is short for an hour"]
    run = run_engine(day(24, hours=9, **load), STARTS[start], Conditions(preset=preset))
    assert run.changes
    assert run.starved.any()


def test_records_are_written_out_only_when_asked_for():
    load_series = day(3, base=900.0, peak=6_000.0, step_s=300, hours=8, late_min=0)
    without = run_engine(load_series, STARTS["gp3"], Conditions())
    with_them = run_engine(load_series, STARTS["gp3"], Conditions(), with_records=True)
    assert without.records == ()
    assert {r.decision_id for r in with_them.records} == {
        d.decision_id for d in with_them.decisions
    }


def test_another_policy_than_the_conditions_own_is_followed():
    load_series = day(3, base=900.0, peak=6_000.0, step_s=300, hours=8, late_min=0)
    watching = Conditions(preset="performance")
    run = run_engine(load_series, STARTS["gp3"], watching, policy=default_policy())
    assert run.changes == ()
    assert run.decisions


@pytest.mark.parametrize("iops", [6_000, 8_000])
def test_a_known_load_that_is_met_late_is_raised_for_with_room_for_what_waits(iops: int) -> None:
    """Three nights, and again after ten days without: no longer short than on the first night, when nothing was known."""
    nights, per_day = (0, 1, 2, 12), 288
    load = np.full(13 * per_day, 300.0)
    for night in nights:
        load[night * per_day + 24 : night * per_day + 48] = iops
    run = run_engine(load_series_of(load, step_s=300), STARTS["gp3"], Conditions())
    short = [float(run.shortfall[1440 * night : 1440 * (night + 1)].sum()) for night in nights]
    assert short[0] > 15
    assert short[1] + short[2] == 0
    assert short[3] < 1.1 * short[0]
