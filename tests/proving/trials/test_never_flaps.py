"""What Headroom gives back it leaves given back, or can raise again: days of random load."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest

from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import Act, Hold
from headroom.domain.guardrails import Guardrail
from headroom.domain.state import WINDOW
from headroom.proving.trials import STARTS, Conditions, TrialChange, TrialRun, run_engine
from headroom.proving.workloads import LoadSeries
from tests.proving.series import load_series_of

DAYS, PER_DAY = 4, 288
SHORTLY = 4 * 60
"""Minutes: twice what a modification is in flight for."""


def bursts(seed: int) -> LoadSeries:
    """Overloads of any length at any time."""
    rng, load = _quiet(seed)
    at = 0
    while at < len(load):
        at += int(rng.exponential(60)) + 1
        load[at : at + int(rng.exponential(8)) + 1] += rng.choice([3_000, 5_000, 9_000])
    return load_series_of(load.tolist(), step_s=300)


def edge(seed: int) -> LoadSeries:
    """A load that goes to and fro about what the smallest gp3 serves."""
    rng = np.random.default_rng(seed)
    return load_series_of((3_000 * rng.lognormal(0, 0.15, DAYS * PER_DAY)).tolist(), step_s=300)


def nights(seed: int) -> LoadSeries:
    """An hour of 8,000 IOPS every night."""
    _, load = _quiet(seed)
    for day in range(DAYS):
        load[day * PER_DAY + 24 : day * PER_DAY + 36] += 8_000
    return load_series_of(load.tolist(), step_s=300)


def _quiet(seed: int) -> tuple[np.random.Generator, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng, rng.lognormal(np.log(800), 0.4, DAYS * PER_DAY)


CASES = {
    "bursts, thrift": (bursts(16), "thrift"),
    "bursts, balanced": (bursts(1), "balanced"),
    "edge, thrift": (edge(1), "thrift"),
    "nights, thrift": (nights(1), "thrift"),
}


@pytest.fixture(scope="module", params=list(CASES))
def run(request: pytest.FixtureRequest) -> TrialRun:
    load_series, preset = CASES[request.param]
    return run_engine(load_series, STARTS["gp3"], Conditions(preset=preset))


def gives_back(change: TrialChange) -> bool:
    before, after = capability(change.origin), capability(change.target)
    return after.burst_iops < before.burst_iops or after.burst_mibps < before.burst_mibps


def raises(change: TrialChange) -> bool:
    return not gives_back(change) and change.usd_change > 0


def test_the_runs_give_something_back(run: TrialRun) -> None:
    assert any(gives_back(change) for change in run.changes)
    assert any(raises(change) for change in run.changes)


def test_every_give_back_leaves_a_slot_for_the_raise_that_may_follow(run: TrialRun) -> None:
    """Four slots, one of them kept for people: at most one may be used before it."""
    day = WINDOW // timedelta(minutes=1)
    for change in run.changes:
        if gives_back(change):
            earlier = [c for c in run.changes if change.minute - day < c.minute < change.minute]
            assert len(earlier) <= 1


def test_in_no_24_hours_is_more_than_one_give_back_followed_by_a_raise(run: TrialRun) -> None:
    pairs = [a.minute for a, b in pairwise(run.changes) if gives_back(a) and raises(b)]
    assert all(later - earlier >= 24 * 60 for earlier, later in pairwise(pairs))


def raised_soon(run: TrialRun) -> tuple[int, int]:
    """How many give-backs were followed by a raise shortly after, and of how many."""
    given = [(a, b) for a, b in pairwise(run.changes) if gives_back(a)]
    soon = [a for a, b in given if raises(b) and b.minute - a.minute <= SHORTLY]
    return len(soon), len(given)


def test_no_run_raises_soon_after_more_than_one_give_back(run: TrialRun) -> None:
    assert raised_soon(run)[0] <= 1


def test_a_raise_soon_after_a_give_back_is_the_exception() -> None:
    """Overloads at random may come back at once: at most five times in 64 days of them, of 25 and more."""
    conditions = Conditions(preset="thrift")
    runs = [run_engine(bursts(seed), STARTS["gp3"], conditions) for seed in range(12, 28)]
    soon, given = (sum(counts) for counts in zip(*map(raised_soon, runs), strict=True))
    assert given >= 25
    assert soon <= 5


def test_no_need_that_follows_a_give_back_waits_for_a_slot(run: TrialRun) -> None:
    """The first raise after a give-back finds the slot that was left for it."""
    held_for_slots = [
        d.at
        for d in run.decisions
        if isinstance(d.answer, Hold)
        and d.demand.pressed_minutes
        and any(
            v.guardrail is Guardrail.SLOTS
            for j in d.judgements
            if j.plan == d.answer.proposed_plan
            for v in j.blocking
        )
    ]
    acts = [d for d in run.decisions if isinstance(d.answer, Act)]
    for at in held_for_slots:
        last = max((d for d in acts if d.at <= at), key=lambda d: d.at)
        assert isinstance(last.answer, Act)
        assert not last.answer.plan.lowers


def test_what_is_given_back_saves_money_and_breaks_no_limit(run: TrialRun) -> None:
    assert all(change.usd_change < 0 for change in run.changes if gives_back(change))
    assert run.guardrail_violations == 0
    assert run.aws_refusals == 0
