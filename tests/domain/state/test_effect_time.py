"""How long raises took until they had their effect, from what the load was served."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from headroom.domain.resources import Configuration, Observation, VolumeType
from headroom.domain.state import (
    REMEMBERED,
    KnownModification,
    SlowEffect,
    StoredState,
    after_modifications,
    effect_takes,
)
from tests.builders import NOW, activity, gp2, gp3, observation, volume
from tests.domain.databases import rds

LOW, HIGH = gp3(500, 4_000, 250), gp3(500, 16_000, 250)
BEGAN = NOW - timedelta(hours=20)


def raised(
    origin: Configuration = LOW, target: Configuration = HIGH, at: datetime = BEGAN
) -> KnownModification:
    return KnownModification(started_at=at, by="headroom", origin=origin, target=target)


def served(
    iops: list[float], *, check: float | None = 5.0, latency_ms: float = 80.0,
    target: Configuration = HIGH,
) -> Observation:  # fmt: skip
    """200 IOPS for 14 days, and `iops` in the five-minute periods from the raise on."""
    before = 288 * 13
    values = [200.0] * before + iops + [200.0] * (240 - len(iops))
    past = activity(values, iops_check=None, mibps_check=None, period_s=300)
    grid = past.read_iops
    busy = [value >= 3_500 for value in values]
    past = replace(
        past,
        iops_exceeded=replace(
            grid, values=tuple(None if check is None else check * one for one in busy)
        ),
        throughput_exceeded=replace(
            grid, values=tuple(None if check is None else 0.0 for _ in values)
        ),
        latency_ms=replace(grid, values=tuple(latency_ms if one else 0.6 for one in busy)),
    )
    return replace(observation(vol=volume(target)), history=past)


HELD, FREE, CALM = [4_000.0], [9_000.0], [200.0]


@pytest.mark.parametrize(
    ("iops", "minutes"),
    [
        (HELD * 24 + FREE * 12, 120),
        (CALM * 12 + HELD * 6 + FREE * 12, 90),
        (CALM * 12 + FREE * 12, 0),
        (FREE * 2 + HELD * 12, 0),
        (CALM * 24, 0),
    ],
    ids=["at once", "load came later", "in time", "held afterwards", "no load"],
)
def test_a_raise_has_no_effect_while_load_is_held_at_the_earlier_limit(
    iops: list[float], minutes: int
) -> None:
    assert effect_takes(served(iops), [raised()]) == timedelta(minutes=minutes)


@pytest.mark.parametrize(("latency_ms", "minutes"), [(80.0, 120), (0.6, 0)])
def test_without_checks_only_slow_operations_were_held(latency_ms: float, minutes: int) -> None:
    before, after = rds(VolumeType.GP3, 1_000, 12_000, 500), rds(VolumeType.GP3, 1_000, 20_000, 500)
    seen = served([12_000.0] * 24 + [18_000.0], check=None, latency_ms=latency_ms, target=after)
    assert effect_takes(seen, [raised(before, after)]) == timedelta(minutes=minutes)


def test_what_lowers_is_no_raise_and_the_next_change_ends_one() -> None:
    seen = served(HELD * 24 + FREE)
    assert effect_takes(seen, [raised(HIGH, LOW)]) == timedelta(0)
    again = raised(HIGH, LOW, BEGAN + timedelta(minutes=30))
    assert effect_takes(seen, [raised(), again]) == timedelta(minutes=30)
    assert effect_takes(replace(seen, history=None), [raised()]) == timedelta(0)


@pytest.mark.parametrize(
    ("later", "minutes", "kept"),
    [
        (timedelta(days=30), 60, 120),
        (timedelta(days=30), 180, 180),
        (REMEMBERED + timedelta(days=1), 60, 60),
    ],
    ids=["a quicker one", "a slower one", "forgotten"],
)
def test_the_slowest_raise_is_remembered(later: timedelta, minutes: int, kept: int) -> None:
    state = StoredState()
    for at, took in ((NOW, 120), (NOW + later, minutes)):
        state = after_modifications(
            state, [], now=at, full_until=None, slow_effect=SlowEffect(minutes=took, seen_at=at)
        )
    assert state.slow_effect is not None
    assert state.slow_effect.minutes == kept


def test_bursts_whose_mean_is_the_earlier_limit_were_not_held_at_it() -> None:
    assert effect_takes(served(HELD * 24, check=2.0), [raised()]) == timedelta(0)
    little = gp3(500, 5_000, 250)
    assert effect_takes(served(HELD * 24, target=little), [raised(LOW, little)]) == timedelta(0)


def test_a_burst_that_the_raise_only_makes_lasting_tells_nothing() -> None:
    """gp2 with credits and gp3 are both held at 3,000 IOPS."""
    seen = served([3_000.0] * 60, target=gp3(100))
    assert effect_takes(seen, [raised(gp2(100), gp3(100))]) == timedelta(0)
