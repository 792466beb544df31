"""Latencies of many operations: the mean exactly, percentiles within one percent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.proving.physics import LatencyHistogram
from headroom.proving.physics.minute_facts import Waits

WAIT = st.builds(
    lambda ops, low, more: Waits(float(ops), low, low + more),
    st.integers(1, 1_000), st.floats(0.1, 1e5), st.floats(0, 1e5),
)  # fmt: skip


def filled(*waits: Waits) -> LatencyHistogram:
    histogram = LatencyHistogram()
    histogram.add(waits)
    return histogram


def test_nothing_served_has_no_latency() -> None:
    empty = LatencyHistogram()
    assert (empty.mean_ms, empty.percentile_ms(50)) == (None, None)


def test_equal_latencies_are_reported_exactly() -> None:
    histogram = filled(Waits(99, 0.5, 0.5), Waits(1, 80, 80))
    assert histogram.mean_ms == pytest.approx(1.295)
    assert histogram.percentile_ms(50) == 0.5
    assert histogram.percentile_ms(99) == 0.5
    assert histogram.percentile_ms(99.9) == 80


@given(waits=st.lists(WAIT, min_size=1, max_size=20))
def test_percentiles_are_within_one_percent_of_the_operations_themselves(
    waits: list[Waits],
) -> None:
    histogram = filled(*waits)
    each = max(1, 20_000 // int(sum(w.ops for w in waits)))
    spread = [np.linspace(w.low_ms, w.high_ms, int(w.ops) * each) for w in waits]
    every = np.concatenate(spread)
    assert histogram.mean_ms == pytest.approx(
        sum(w.ops * (w.low_ms + w.high_ms) / 2 for w in waits) / sum(w.ops for w in waits)
    )
    for percent in (1, 50, 99):
        low, high = np.percentile(every, [max(0, percent - 1), min(100, percent + 1)])
        found = histogram.percentile_ms(percent)
        assert found is not None
        assert low * 0.98 <= found <= high * 1.02
