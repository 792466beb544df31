"""Which loads lead back to an HDD type that the owner allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from headroom.domain.planning.plans_from_history import HDD, plans_from_history
from headroom.domain.planning.situation import Situation
from headroom.domain.resources import Configuration, VolumeType
from headroom.domain.state import LoadProfile, ProfileHour, hour_of
from headroom.domain.workload import past_of
from tests.builders import NOW, activity, gp3, observation, volume
from tests.domain.planning.test_value import situation

GP3 = VolumeType.GP3
ST1, SC1 = HDD
DAY = 24


def idle_gp3(hours: Sequence[float | None], types: tuple[VolumeType, ...]) -> Situation:
    """gp3 of 1,000 GiB that is idle now; `hours` are the past's peak IOPS of 16 KiB, None unknown."""
    seen = observation(activity([2.0] * 180), volume(gp3(1_000)))
    start = hour_of(NOW) - timedelta(hours=len(hours))
    profile = LoadProfile(
        start=start,
        hours=tuple(
            None if n is None else ProfileHour(n, n / 64, n / 2, n / 128, 30, 0, 0.0, 0.0)
            for n in hours
        ),
    )
    past = past_of(profile, least_iops=3_000, least_mibps=125)
    return replace(situation(seen, types=types), past=past)


def hdd_plans(hours: Sequence[float | None], *types: VolumeType) -> list[Configuration]:
    plans = plans_from_history(idle_gp3(hours, (GP3, *types)))
    return [plan.target for plan in plans if plan.target.volume_type in HDD]


def to(kind: VolumeType) -> Configuration:
    return Configuration(volume_type=kind, size_gib=1_000, iops=None, throughput_mibps=None)


IDLE_WEEK = [2.0] * (7 * DAY)
BATCH = [3_000.0] * 4
NIGHTS = [*[2.0] * 20, *BATCH] * 14


@pytest.mark.parametrize(
    ("hours", "back"),
    [
        (IDLE_WEEK, True),
        (IDLE_WEEK[1:], False),  # less than a week is known
        ([*IDLE_WEEK[1:], None], False),
        ([*BATCH, *IDLE_WEEK], True),
        ([*IDLE_WEEK, *BATCH], False),
        ([*BATCH, *IDLE_WEEK, 50.0], False),  # st1 of 1,000 GiB sustains 39 random operations
        ([*BATCH, *IDLE_WEEK, 38.0], True),
        (NIGHTS, False),
        ([*NIGHTS, *IDLE_WEEK], True),  # it has ended
        ([*BATCH, *IDLE_WEEK * 4, *BATCH, *IDLE_WEEK * 7], False),  # monthly
        ([*BATCH, *IDLE_WEEK * 4, *BATCH, *IDLE_WEEK * 8], True),
    ],
)
def test_st1_is_a_target_once_load_beyond_what_it_sustains_has_ended(
    hours: list[float | None], back: bool
) -> None:
    assert hdd_plans(hours, ST1) == ([to(ST1)] if back else [])


def test_only_types_that_the_owner_names_and_that_sustain_the_load_are_targets() -> None:
    assert hdd_plans(IDLE_WEEK) == []
    assert hdd_plans(IDLE_WEEK, ST1, SC1) == [to(ST1), to(SC1)]
    assert hdd_plans([20.0] * (7 * DAY), ST1, SC1) == [to(ST1)]  # sc1 sustains 11
