"""The chance that the coming hours starve at a configuration: earlier load and the present one."""

from __future__ import annotations

from datetime import timedelta

from headroom.domain.planning import starvation_chances
from headroom.domain.planning.coming_hours import LEAD
from headroom.domain.state import hour_of
from tests.builders import NOW, gp3
from tests.domain.planning.test_value import calm, pressed, situation

SIZES = (gp3(400, 3_000, 125), gp3(400, 6_000, 250), gp3(400, 12_000, 500))


def test_a_present_overload_is_likely_to_last_and_less_likely_above_a_higher_limit() -> None:
    chances, first = starvation_chances(situation(pressed(10)), SIZES)
    assert first == hour_of(NOW + LEAD)
    low, middle, high = chances[0]
    assert 0.3 < low <= 1.0
    assert high < middle < low
    assert chances[8][0] < chances[0][0]


def test_a_quiet_volume_is_likely_to_starve_only_at_the_hour_of_its_nightly_load() -> None:
    chances, first = starvation_chances(situation(calm()), SIZES)
    by_hour = {first + timedelta(hours=ahead): row for ahead, row in enumerate(chances)}
    tonight = next(hour for hour in by_hour if hour.hour == 2)
    assert by_hour[tonight][0] > 0.9
    assert by_hour[tonight][2] < 0.1
    assert max(row[0] for hour, row in by_hour.items() if hour != tonight) < 0.2
