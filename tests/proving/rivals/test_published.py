"""What each published rule does, in the words of its publication."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.catalog import why_invalid
from headroom.domain.resources import Configuration
from headroom.proving.rivals import RULES
from headroom.proving.rivals.histogram import DecayingHistogram
from headroom.proving.trials import STARTS, Conditions, TrialRun, run_rule
from tests.proving.build import configuration, gp2, gp3
from tests.proving.series import load_series_of

HOUR, DAY = 12, 288
"""Steps of five minutes."""
IO1 = STARTS["io1"]


def run(name: str, load: Sequence[float], start: Configuration, io_kib: float = 16) -> TrialRun:
    load_series = load_series_of(load, step_s=300, io_kib=io_kib)
    return run_rule(load_series, start, RULES[name](), Conditions())


def targets(found: TrialRun) -> list[Configuration]:
    return [change.target for change in found.changes]


def test_the_threshold_rule_raises_iops_by_half_and_leaves_throughput_as_it_is() -> None:
    found = run("c7n-threshold", [2_900.0] * DAY, gp3(400))
    assert targets(found)[:1] == [gp3(400, 4_500, 125)]


def test_the_threshold_rule_never_comes_down() -> None:
    found = run("c7n-threshold", [2_900.0] * HOUR * 3 + [0.0] * DAY * 2, gp3(400))
    assert len(found.changes) == 1
    assert found.storage_usd > 0


def test_the_threshold_rule_stops_only_at_the_owners_ceiling() -> None:
    found = run("c7n-threshold", [60_000.0] * DAY * 4, gp3(400), io_kib=1)
    assert [t.iops for t in targets(found)] == [4_500, 6_750, 10_125, 15_188, 16_000]
    assert found.held > 0


def test_the_threshold_rule_makes_gp3_of_gp2_that_runs_out_of_credits() -> None:
    found = run("c7n-threshold", [3_000.0] * DAY, gp2(400))
    assert targets(found)[:1] == [gp3(400, 3_000, 250)]


def test_the_migration_makes_plain_gp3_of_gp2_at_once_and_touches_nothing_else() -> None:
    found = run("gp2-to-gp3", [100.0] * DAY * 2, gp2(400))
    assert [(c.minute, c.target) for c in found.changes] == [(0, gp3(400))]
    for start in (gp3(400), IO1):
        assert run("gp2-to-gp3", [9_000.0] * DAY, start).changes == ()


def test_growing_adds_a_tenth_when_the_bucket_is_low_and_counts_as_a_violation() -> None:
    found = run("grow-gp2", [3_000.0] * DAY, gp2(400))
    assert targets(found)[:2] == [gp2(440), gp2(484)]
    assert found.guardrail_violations == len(found.changes)
    assert run("grow-gp2", [3_000.0] * DAY, gp3(400)).changes == ()


@pytest.mark.parametrize(
    ("start", "iops", "io_kib", "target"),
    [
        (gp3(400), 5_000.0, 16, gp3(400, 6_000, 125)),
        (gp3(400), 2_000.0, 256, gp3(400, 3_000, 250)),
        (gp2(400), 5_000.0, 16, gp3(400, 3_000, 250)),
        (configuration("io1", 400, 4_000), 9_000.0, 16, configuration("io1", 400, 7_846)),
    ],
)
def test_a_step_up_doubles_what_was_exceeded(
    start: Configuration, iops: float, io_kib: float, target: Configuration
) -> None:
    assert targets(run("step-up-step-down", [iops] * HOUR, start, io_kib))[:1] == [target]


def test_a_step_down_halves_after_six_idle_hours_but_never_below_what_gp3_includes() -> None:
    found = run("step-up-step-down", [10.0] * DAY * 2, gp3(400, 12_000, 500))
    assert targets(found) == [gp3(400, 6_000, 250), gp3(400, 3_000, 125)]
    assert found.changes[0].minute == 6 * 60 + 5 or found.changes[0].minute >= 6 * 60


def test_the_percentile_rule_waits_for_thirty_hours_and_takes_a_fifth_more() -> None:
    found = run("daily-percentile", [5_000.0] * DAY * 4, IO1)
    assert found.changes[0].minute == 2 * 1_440
    assert targets(found)[0] == gp3(400, 6_000, 125)


def test_the_percentile_rule_forgets_what_is_older_than_fourteen_days() -> None:
    load = [9_000.0] * DAY * 2 + [100.0] * DAY * 16
    assert targets(run("daily-percentile", load, IO1))[-1] == gp3(400)


def test_the_decaying_rule_follows_use_down_as_half_lives_pass() -> None:
    found = run("decaying-histogram", [9_000.0] * DAY + [100.0] * DAY * 6, IO1)
    assert (targets(found)[0].iops or 0) > 9_000
    assert targets(found)[-1] == gp3(400)


def test_the_decaying_rule_leaves_alone_what_is_within_a_tenth() -> None:
    assert run("decaying-histogram", [2_700.0] * DAY * 2, gp3(400)).changes == ()


LOADS = st.lists(
    st.tuples(st.integers(1, 40), st.sampled_from([0.0, 50.0, 2_500.0, 4_000.0, 30_000.0])),
    min_size=1,
    max_size=8,
)


@given(
    parts=LOADS, name=st.sampled_from(sorted(RULES)), start=st.sampled_from(sorted(STARTS)),
    io_kib=st.sampled_from([4, 64, 300]),
)  # fmt: skip
def test_no_rule_ever_asks_for_what_aws_would_refuse_as_invalid(
    parts: list[tuple[int, float]], name: str, start: str, io_kib: float
) -> None:
    load = [iops for hours, iops in parts for _ in range(hours * HOUR)]
    found = run(name, load, STARTS[start], io_kib)
    assert found.aws_refusals == 0
    assert [why_invalid(t) for t in targets(found)] == [None] * len(found.changes)
    starts = [change.minute for change in found.changes]
    assert all(b - a >= 120 for a, b in pairwise(starts))
    assert all(sum(m - 1_440 < s <= m for s in starts) <= Conditions().slots for m in starts)


def test_a_sample_loses_half_its_weight_in_a_half_life() -> None:
    histogram = DecayingHistogram(first=1.0, growth=1.05, half_life_min=60)
    histogram.add(np.full(60, 1_000.0))
    histogram.add(np.full(60, 10.0))
    # The younger hour weighs 2/3: the median is of it, the 70th percentile of the older one.
    assert histogram.percentile(50) == pytest.approx(10, rel=0.05)
    assert histogram.percentile(70) == pytest.approx(1_000, rel=0.05)


@given(
    st.lists(st.floats(0.5, 1e6), min_size=1, max_size=60), st.floats(0, 100), st.integers(1, 59)
)
def test_minutes_added_at_once_or_in_parts_weigh_the_same(
    minutes: list[float], percent: float, cut: int
) -> None:
    whole, parts = (DecayingHistogram(first=1.0, growth=1.05, half_life_min=60) for _ in "ab")
    whole.add(np.array(minutes))
    parts.add(np.array(minutes[:cut]))
    parts.add(np.array(minutes[cut:]))
    assert parts._weights == pytest.approx(whole._weights)


def test_unmeasured_minutes_have_no_weight() -> None:
    histogram = DecayingHistogram(first=1.0, growth=1.05, half_life_min=60)
    histogram.add(np.full(10, np.nan))
    assert histogram.percentile(95) is None
