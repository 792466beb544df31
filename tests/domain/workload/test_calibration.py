"""Of the hours forecast with a probability, that share comes, at each level, of loads of many rhythms."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from random import Random

import pytest

from headroom.domain.state import ProfileHour
from headroom.domain.workload import HOURS, Level, chances_from_history, short_minutes
from tests.domain.earlier import CALM_HOUR, MONDAY, by_hour, hour_at

KINDS = {"daily": 70, "working days": 70, "weekly": 70, "twice a day": 70, "any time": 70,
         "day of month": 200, "every 10 days": 120}  # fmt: skip
"""Days that each kind of load is followed for."""
LEARNING_DAYS = 21
LEVELS = (3_000.0, 7_000.0, 11_000.0)
PEAKS = (5_000.0, 9_000.0, 16_000.0)
BANDS = ((0.05, 0.2), (0.35, 0.65), (0.8, 1.0))


def load(kind: str, draw: Random) -> list[ProfileHour]:
    """A load with its rhythm, of hours that begin late or early, and of times left out."""
    found = [CALM_HOUR] * (24 * KINDS[kind])
    jitter, left_out = draw.choice((0, 0, 1)), draw.choice((0, 0.1, 0.3))
    long, hour, peak = draw.choice((1, 1, 2, 3)), draw.randrange(24), draw.choice(PEAKS)
    per_hour = draw.choice((0.5, 1, 2)) / 24
    for day in range(KINDS[kind]):
        at = MONDAY + timedelta(days=day)
        begins = {
            "daily": [hour], "twice a day": [hour, hour + 9],
            "working days": [hour] * (at.weekday() < 5), "weekly": [hour] * (at.weekday() == 6),
            "day of month": [hour] * (at.day == 1 + hour), "every 10 days": [hour] * (day % 10 == 3),
            "any time": [one for one in range(24) if draw.random() < per_hour],
        }[kind]  # fmt: skip
        for begin in begins:
            if kind == "any time" or draw.random() >= left_out:
                first = 24 * day + begin + draw.randint(-jitter, jitter)
                for place in range(max(0, first), min(len(found), first + long)):
                    found[place] = hour_at(peak)
    return found


def forecast(hours: list[ProfileHour], now: int) -> Iterator[tuple[float, bool]]:
    """The probability that each coming hour starves at each level, and whether it did."""
    past = by_hour(hours[:now])
    levels = [Level(iops=iops, mibps=1e6, usd_per_hour=0.01) for iops in LEVELS]
    for ahead, chances in enumerate(chances_from_history(past, levels, past.profile.end)):
        for level, chance in zip(levels, chances, strict=True):
            yield chance, short_minutes(hours[now + ahead], level.iops, level.mibps) > 0


@pytest.fixture(scope="module")
def forecasts() -> list[tuple[float, bool]]:
    found: list[tuple[float, bool]] = []
    for kind, days in KINDS.items():
        for seed in range(4):
            draw = Random(f"{kind} {seed}")
            hours = load(kind, draw)
            for day in range(LEARNING_DAYS, days - 1, 3):
                found += forecast(hours, min(24 * day + draw.randrange(24), len(hours) - HOURS))
    return found


@pytest.mark.parametrize("band", BANDS)
def test_of_the_hours_forecast_with_a_probability_that_share_starves(
    forecasts: list[tuple[float, bool]], band: tuple[float, float]
) -> None:
    inside = [(chance, starved) for chance, starved in forecasts if band[0] <= chance < band[1]]
    assert len(inside) > 150
    expected = sum(chance for chance, _ in inside) / len(inside)
    came = sum(starved for _, starved in inside) / len(inside)
    assert came == pytest.approx(expected, abs=0.07)


def test_hours_without_a_forecast_stay_quiet(forecasts: list[tuple[float, bool]]) -> None:
    quiet = [starved for chance, starved in forecasts if chance < 0.05]
    assert sum(quiet) / len(quiet) < 0.02


def test_most_of_what_comes_was_forecast_above_its_mean_rate(
    forecasts: list[tuple[float, bool]],
) -> None:
    mean = sum(starved for _, starved in forecasts) / len(forecasts)
    came = [chance for chance, starved in forecasts if starved]
    assert sum(chance > 2 * mean for chance in came) > 0.8 * len(came)
