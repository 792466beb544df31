"""What is given back only once the load that uses it has ended."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from math import inf

import pytest

from headroom.domain.decision import Act
from headroom.domain.planning.restoring import ENDED_DAYS, has_ended
from headroom.domain.policy import Freeze
from headroom.domain.resources import VolumeType
from headroom.domain.state import ProfileHour
from tests.builders import NOW, io
from tests.domain.decision.test_deciding_ahead import decided, idle
from tests.domain.earlier import CALM_HOUR, by_hour, hour_at

BUSY = hour_at(9_000.0)
WEEK = [*[CALM_HOUR] * 167, BUSY]
FIVE_WEEKS = int(ENDED_DAYS) * 24


@pytest.mark.parametrize(
    ("hours", "ended"),
    [
        pytest.param([CALM_HOUR] * 48, True, id="never seen"),
        pytest.param([BUSY, *[CALM_HOUR] * (FIVE_WEEKS - 1)], False, id="once, not five weeks ago"),
        pytest.param([BUSY, *[CALM_HOUR] * FIVE_WEEKS], True, id="once, five weeks ago"),
        pytest.param([*WEEK * 3, *[CALM_HOUR] * FIVE_WEEKS], False, id="each week until lately"),
        pytest.param([*WEEK * 3, *[CALM_HOUR] * (FIVE_WEEKS + 168)], True, id="and a week more"),
    ],
)
def test_load_has_ended_five_weeks_after_its_longest_pause(
    hours: list[ProfileHour | None], ended: bool
) -> None:
    assert has_ended(by_hour(hours), 4_000.0, inf) is ended


@pytest.mark.parametrize(("days", "lowered"), [(5.2, False), (34.0, False), (36.0, True)])
def test_what_a_person_would_have_to_approve_again_waits_for_five_weeks(
    days: float, lowered: bool
) -> None:
    own = io(VolumeType.IO2, 400, 16_000)
    decision = decided(NOW, own, load=idle, days=days, approve_above_usd=Decimal(25))
    assert isinstance(decision.answer, Act) is lowered


@pytest.mark.parametrize(("begins", "lowered"), [(2, False), (20, True)])
def test_nothing_used_is_lowered_shortly_before_a_freeze(begins: int, lowered: bool) -> None:
    def weekly(at: datetime) -> float:
        return 9_000.0 if at.weekday() == 2 and at.hour == 20 else 100.0

    freeze = Freeze(begins=NOW + timedelta(days=begins), until=NOW + timedelta(days=begins + 14))
    own = io(VolumeType.IO2, 400, 10_000)
    decision = decided(NOW, own, load=weekly, days=21.0, freezes=(freeze,))
    assert isinstance(decision.answer, Act) is lowered, decision.summary
