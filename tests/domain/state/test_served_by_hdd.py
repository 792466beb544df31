"""What an HDD type that the owner chose served, before Headroom left it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headroom.domain.resources import Configuration, VolumeType
from headroom.domain.state import (
    KnownModification,
    LoadProfile,
    ProfileHour,
    hour_of,
    served_by_hdd,
)
from tests.builders import NOW, gp3

ST1 = Configuration(volume_type=VolumeType.ST1, size_gib=1_000, iops=None, throughput_mibps=None)
SSD = gp3(1_000)
CALM = ProfileHour(80.0, 20.0, 80.0, 20.0, 60, 0, 0.0, 0.0)
BATCH = ProfileHour(800.0, 200.0, 800.0, 200.0, 60, 0, 0.0, 0.0)
HIGHER = ProfileHour(160.0, 40.0, 160.0, 40.0, 60, 0, 0.0, 0.0)
SMALL = ProfileHour(30.0, 0.5, 30.0, 0.5, 60, 0, 0.0, 0.0)
RANDOM = ProfileHour(80.0, 1.3, 80.0, 1.3, 60, 0, 0.0, 0.0)
TOUCHED = BATCH._replace(touched_minutes=30, limit_mibps=200.0)


def change(days_ago: float, origin: Configuration, target: Configuration) -> KnownModification:
    at = NOW - timedelta(days=days_ago)
    return KnownModification(started_at=at, by="headroom", origin=origin, target=target)


def profile(days: int, hours: dict[int, ProfileHour | None]) -> LoadProfile:
    """Calm days up to now; `hours` are others, by how many hours ago they began."""
    count = 24 * days
    return LoadProfile(
        start=hour_of(NOW) - timedelta(hours=count),
        hours=tuple(hours.get(count - place, CALM) for place in range(count)),
    )


LEFT = (change(8, ST1, SSD),)
AGO = 8 * 24


@pytest.mark.parametrize(
    ("known", "hours", "most"),
    [
        (LEFT, {}, 80.0),
        ((), {}, None),  # it never left, or that is forgotten
        ((change(14.5, ST1, SSD),), {}, None),  # less than a day before is known
        (LEFT, {AGO + 3: BATCH}, 80.0),  # the load for which it was left
        (LEFT, {AGO + 30: BATCH}, 800.0),
        (LEFT, {AGO + 30: TOUCHED}, 80.0),
        (LEFT, {AGO - 12: BATCH}, 80.0),  # on the SSD type
        (LEFT, {AGO - 30: BATCH}, None),  # a day of the last week took more
        (LEFT, {AGO + n: None for n in range(24 * 8)}, None),
        ((change(9.5, SSD, ST1), change(8, ST1, SSD)), {}, None),
        ((change(12, SSD, ST1), change(8, ST1, SSD)), {AGO + 24 * 5: BATCH}, 80.0),
        ((*LEFT, change(2, SSD, ST1)), {}, None),  # it is back
        (LEFT, dict.fromkeys((30, 60, 90), SMALL), 80.0),  # as many as the type sustains
        (LEFT, {30: RANDOM}, None),  # small operations now, each of which costs a MiB
        (LEFT, dict.fromkeys(range(24, 40), HIGHER), None),  # more in a day than on any day then
        (LEFT, dict.fromkeys((30, 31), HIGHER) | {AGO + 40 + n: HIGHER for n in range(3)}, 160.0),
        (LEFT, {AGO + n: SMALL for n in range(24 * 8)}, None),  # nothing large to go by
    ],
)
def test_it_is_the_most_of_the_hours_whose_type_is_known_without_the_last_day(
    known: tuple[KnownModification, ...], hours: dict[int, ProfileHour | None], most: float | None
) -> None:
    found = served_by_hdd(known, ST1, profile(20, hours), NOW)
    assert (None if found is None else found.iops / 1.05) == pytest.approx(most)


@pytest.mark.parametrize("chosen", [None, SSD])
def test_nothing_is_known_of_an_owner_of_ssd_types(chosen: Configuration | None) -> None:
    assert served_by_hdd(LEFT, chosen, profile(20, {}), NOW) is None
