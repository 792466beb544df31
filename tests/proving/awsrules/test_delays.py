"""Delays drawn from ranges: within them, the same for everybody, different from change to change."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headroom.proving.awsrules import DelayRanges, Delays, VolumeLifecycle
from tests.proving.build import MINUTE, T0, gp3

RANGES = DelayRanges(
    effect=(5 * MINUTE, 40 * MINUTE), completed=(60 * MINUTE, 240 * MINUTE), name="a"
)
HOURS = [T0 + timedelta(hours=hour) for hour in range(200)]


def test_drawn_delays_are_whole_minutes_that_fill_their_ranges() -> None:
    found = [RANGES.at(hour) for hour in HOURS]
    for name, (low, high) in (("effect", RANGES.effect), ("completed", RANGES.completed)):
        drawn = [getattr(each, name) for each in found]
        assert low <= min(drawn) < low + (high - low) / 10
        assert high - (high - low) / 10 < max(drawn) <= high
        assert all(each % MINUTE == timedelta(0) for each in drawn)


def test_the_same_name_and_hour_draw_the_same() -> None:
    again = DelayRanges(effect=RANGES.effect, completed=RANGES.completed).named("a")
    assert [again.at(hour) for hour in HOURS] == [RANGES.at(hour) for hour in HOURS]
    assert [again.named("b").at(hour) for hour in HOURS] != [RANGES.at(hour) for hour in HOURS]
    assert RANGES.at(T0) == RANGES.at(T0 + 59 * MINUTE)


def test_a_change_takes_effect_and_completes_after_what_was_drawn_for_it() -> None:
    lifecycle = VolumeLifecycle(gp3(), created_at=T0, delays=RANGES)
    for start in (T0 + timedelta(hours=6), T0 + timedelta(hours=12)):
        target = gp3(100, 4_000 if start.hour == 6 else 5_000)
        lifecycle.change_to(start, target)
        drawn = lifecycle.delays_at(start)
        assert lifecycle.effective(start + drawn.effect - MINUTE) != target
        assert lifecycle.effective(start + drawn.effect) == target
        change = lifecycle.modification(start + drawn.completed)
        assert change is not None
        assert change.ended_at == start + drawn.completed


def test_fixed_delays_are_the_same_whenever_a_change_starts() -> None:
    assert {Delays().at(hour) for hour in HOURS} == {Delays()}
    assert Delays().named("b") == Delays()


@pytest.mark.parametrize(
    ("effect", "completed", "words"),
    [((9, 5), (60, 60), "must ascend"), ((5, 90), (10, 60), "later than completed"),
     ((-1, 5), (10, 60), "must ascend")],
)  # fmt: skip
def test_ranges_that_contradict_themselves_are_refused(
    effect: tuple[int, int], completed: tuple[int, int], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        DelayRanges(
            effect=(effect[0] * MINUTE, effect[1] * MINUTE),
            completed=(completed[0] * MINUTE, completed[1] * MINUTE),
        )
