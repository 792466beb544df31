"""How much of a known event is IOPS, and how much MiB/s."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headroom.domain.policy import Occurrence
from headroom.domain.resources import VolumeActivity
from headroom.domain.state import ProfileHour
from headroom.domain.workload.known_load import SMALL_IO_MIB, mib_per_op
from tests.builders import activity
from tests.domain.earlier import CALM_HOUR, MONDAY, by_hour

KIB = 1 / 1024
LARGE = ProfileHour(9_000.0, 2_250.0, 9_000.0, 2_250.0, 60, 0, 0.0, 0.0)
"""Operations of 256 KiB."""
SMALL = ProfileHour(900.0, 7.03125, 900.0, 7.03125, 60, 0, 0.0, 0.0)
"""Operations of 8 KiB."""
NOTHING = activity([None] * 180)
NOW_32_KIB = activity([300.0] * 180, io_kib=32)


def night(day: int, hours: int = 2) -> Occurrence:
    start = MONDAY + timedelta(days=day, hours=2)
    return Occurrence(
        start=start, end=start + timedelta(hours=hours), iops=9_000, mibps=0, name="nightly"
    )


@pytest.mark.parametrize(
    ("hours", "minutes", "times", "mib"),
    [
        pytest.param([], NOTHING, [], SMALL_IO_MIB, id="nothing was measured"),
        pytest.param([], NOW_32_KIB, [], 32 * KIB, id="the minutes that there are"),
        pytest.param([SMALL] * 24, NOW_32_KIB, [], 8 * KIB, id="all hours"),
        pytest.param(
            [SMALL, SMALL, LARGE, LARGE, *[SMALL] * 20], NOW_32_KIB, [night(0)], 256 * KIB,
            id="the hours in which it came",
        ),
        pytest.param(
            [SMALL] * 24, NOW_32_KIB, [night(1)], 8 * KIB, id="not measured when it came"
        ),
        pytest.param(
            [SMALL, SMALL, None, LARGE, *[SMALL] * 20], NOW_32_KIB, [night(0), night(-1)],
            256 * KIB, id="as far as it was measured",
        ),
    ],
)  # fmt: skip
def test_the_operations_of_an_event_are_as_large_as_they_were(
    hours: list[ProfileHour | None], minutes: VolumeActivity, times: list[Occurrence], mib: float
) -> None:
    past = by_hour(hours or [None])
    assert mib_per_op(past, minutes, times) == pytest.approx(mib)


def test_hours_without_operations_have_no_size() -> None:
    idle = CALM_HOUR._replace(mean_iops=0.0, mean_mibps=0.0)
    assert mib_per_op(by_hour([idle] * 24), NOTHING, []) == SMALL_IO_MIB
