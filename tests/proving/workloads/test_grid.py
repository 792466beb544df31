"""Timestamps with noise: the grid they were meant for is found, or the file is refused."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.proving.inputs import BadInput
from headroom.proving.workloads import TraceWorkload, read_trace
from headroom.proving.workloads.grid import JITTER, OffGrid, on_grid

FIRST = datetime(2020, 3, 1, tzinfo=UTC)
REAL = (0.1, 1, 5, 10, 15, 30, 60, 300, 900, 3600)


def trace(seconds: list[float]) -> TraceWorkload:
    """A file with a row at each instant; the n-th row has n reads."""
    lines = [
        f"{(FIRST + timedelta(seconds=at)).isoformat()},{n + 1},0,{4096 * (n + 1)},0\n"
        for n, at in enumerate(seconds)
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "load.csv"
        header = "timestamp,read_ops,write_ops,read_bytes,write_bytes\n"
        file.write_text(header + "".join(lines), encoding="ascii")
        return read_trace(file)


def spaced(gaps: Sequence[float]) -> list[float]:
    return list(accumulate(gaps, initial=0.0))


def noisy(interval: float, places: list[int], share: float, shape: str, seed: int) -> list[float]:
    rng = random.Random(seed)
    if shape == "late or early":
        offs = [rng.choice((-share, share)) for _ in places]
    else:
        low, high = {"even": (-share, share), "late": (0, share)}.get(shape, (0, 0))
        offs = [rng.uniform(low, high) for _ in places]
    if shape == "first row only":
        offs[0] = share
    return [(place + off) * interval for place, off in zip(places, offs, strict=True)]


@settings(max_examples=150, deadline=None)
@given(
    interval=st.sampled_from(REAL),
    rows=st.integers(40, 120),
    missing=st.floats(0, 0.25),
    share=st.floats(0, 0.2),
    shape=st.sampled_from(("even", "late or early", "late", "first row only")),
    seed=st.integers(0, 10**6),
)
def test_noise_of_a_fifth_of_the_interval_gives_what_the_clean_grid_gives(
    interval: float, rows: int, missing: float, share: float, shape: str, seed: int
) -> None:
    rng = random.Random(seed)
    inner = [n for n in range(1, rows - 1) if rng.random() >= missing]
    places = [0, *inner, rows - 1]
    clean = trace([n * interval for n in places])
    found = trace(noisy(interval, places, share, shape, seed))
    assert found.interval_s == clean.interval_s == interval
    whole = clean.duration_s
    assert found.segments(0, whole + 60) == clean.segments(0, whole + 60)
    assert abs(found.start - clean.start) <= timedelta(seconds=0.2 * interval)


@settings(max_examples=200, deadline=None)
@given(seconds=st.lists(st.integers(1, 400_000), min_size=2, max_size=40, unique=True).map(sorted))
def test_whatever_is_accepted_keeps_every_row_within_a_quarter(seconds: list[int]) -> None:
    times = [float(second - seconds[0]) for second in seconds]
    try:
        grid = on_grid(times)
    except OffGrid:
        return
    off = (np.asarray(times) - grid.origin_s) / grid.interval_s - grid.places
    assert np.abs(off).max() <= JITTER + 1e-9
    assert (np.diff(grid.places) > 0).all()


@pytest.mark.parametrize(
    ("interval", "noise"), [(1, 0.03), (1, 0.1), (60, 10), (10, 0.5), (0.5, 0.02)]
)
def test_a_samplers_noise_neither_stretches_nor_moves_the_trace(
    interval: float, noise: float
) -> None:
    rng = random.Random(7)
    found = trace([n * interval + rng.uniform(-noise, noise) for n in range(3_600)])
    assert (found.interval_s, found.duration_s) == (interval, 3_600 * interval)
    assert found.start == FIRST
    assert "off a grid" in found.notes[0]


def test_a_row_that_is_early_and_one_that_is_late_stay_in_their_places() -> None:
    found = trace([0, 60, 120, 180 - 14, 240 + 14, 300, 360, 420])
    assert (found.interval_s, found.duration_s, found.start) == (60, 480, FIRST)


def test_a_clean_grid_is_itself_round_or_not() -> None:
    for interval in (0.125, 7, 61, 60.35, 4_000):
        found = trace([n * interval for n in (0, 1, 2, 5, 6, 7, 11)])
        assert (found.interval_s, found.start, len(found.notes)) == (interval, FIRST, 1)


def test_a_sampler_that_drifts_keeps_its_true_interval() -> None:
    rng = random.Random(3)
    times = [n * 60.35 + rng.uniform(-1, 1) for n in range(1_000)]
    assert trace(times).duration_s == pytest.approx(60_350, abs=15)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (spaced([60, 60, 60, 72, 72] * 12), "load.csv line 7 is 24 s off its place on the file's"),
        (spaced([60, 60, 90, 60, 60]), "load.csv line 5 is 30 s off its place"),
        (spaced([60] * 5 + [5] + [60] * 5), "load.csv line 8 falls into the same interval of 60 s"),
        (spaced([1.0, 1.0, 3e7]), "line 5 lies too far from the row before it"),
    ],
)
def test_rows_off_every_grid_are_refused_with_their_line(seconds: list[float], words: str) -> None:
    with pytest.raises(BadInput) as caught:
        trace(seconds)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_spacings_of_sixty_and_seventy_two_seconds_are_no_minute_grid() -> None:
    rng = random.Random(5)
    with pytest.raises(BadInput, match="put the rows on a regular grid"):
        trace(spaced([72.0 if rng.random() < 0.4 else 60.0 for _ in range(200)]))
