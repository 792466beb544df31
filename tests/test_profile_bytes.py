"""The profile as bytes: exact, small, and no profile where they are damaged."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.state import (
    HOUR,
    IOPS_LEVELS,
    MIBPS_LEVELS,
    MOST_HOURS,
    LoadProfile,
    ProfileHour,
    hour_of,
)
from headroom.serialization import UnreadableProfile, profile_from_bytes, profile_to_bytes
from tests.builders import NOW

LARGEST_ITEM = 100_000
"""Bytes that an item may have at most."""
IOPS, MIBPS = st.sampled_from(IOPS_LEVELS), st.sampled_from(MIBPS_LEVELS)
LIMIT = st.sampled_from((0.0, 100.0, 3_000.0, 12_345.678, 64_000.0))
MINUTES = st.integers(0, 60)
SINCE_1970_H = int(NOW.timestamp()) // 3_600
"""No profile begins earlier."""
HOURS = st.builds(
    ProfileHour, IOPS, MIBPS, IOPS, MIBPS, MINUTES, MINUTES, LIMIT, LIMIT, st.booleans()
)


@given(st.lists(st.none() | HOURS, max_size=30), st.integers(0, SINCE_1970_H))
def test_there_and_back_is_the_same(hours: list[ProfileHour | None], start: int) -> None:
    profile = LoadProfile(start=hour_of(NOW) - start * HOUR, hours=tuple(hours))
    assert profile_from_bytes(profile_to_bytes(profile)) == profile


def test_400_days_of_nothing_but_noise_fit_into_an_item() -> None:
    chance = random.Random(1)
    noise = tuple(
        ProfileHour(
            chance.choice(IOPS_LEVELS), chance.choice(MIBPS_LEVELS), chance.choice(IOPS_LEVELS),
            chance.choice(MIBPS_LEVELS), chance.randrange(61), chance.randrange(61),
            chance.choice((0.0, 3_000.0, 16_000.0)), chance.choice((0.0, 125.0)),
            chance.random() < 0.5,
        )
        for _ in range(MOST_HOURS)
    )  # fmt: skip
    profile = LoadProfile(start=hour_of(NOW), hours=noise)
    data = profile_to_bytes(profile)
    assert len(data) < LARGEST_ITEM
    assert profile_from_bytes(data) == profile


DATA = profile_to_bytes(
    LoadProfile(
        start=hour_of(NOW), hours=(None, ProfileHour(3_000.0, 125.0, 0.0, 0.0, 5, 7, 1.0, 0.0))
    )
)


@pytest.mark.parametrize(
    "data",
    [b"", b"\x01", DATA[:-3], DATA[:9] + b"x" + DATA[10:], b"\x02" + DATA[1:], b"\x00" + DATA[1:]],
    ids=["empty", "no body", "cut", "damaged", "newer", "older"],
)
def test_what_is_not_a_profile_of_this_format_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableProfile):
        profile_from_bytes(data)


@given(st.binary(max_size=200))
def test_any_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(UnreadableProfile):
        profile_from_bytes(b"\x01" + data)


def test_profiles_that_the_first_release_stored_are_still_read() -> None:
    """A raised format reads this too: add another text, leave this one."""
    stored = bytes.fromhex(STORED)
    assert profile_from_bytes(stored) == LoadProfile(
        start=hour_of(NOW),
        hours=(
            None,
            ProfileHour(3_000.0, 125.0, IOPS_LEVELS[400], 0.0, 15, 9, 3_000.0, 0.0),
            ProfileHour(IOPS_LEVELS[1], 0.0, 0.0, 0.0, 60, 0, 0.0, 0.0, True),
        ),
    )


STORED = (
    "0178dafb53cbcec0ccc0c4000605cb1d18700181bd9c0c0c8c40062313430188fecff0bf80e11f0300cf620794"
)
