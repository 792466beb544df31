"""Published metrics over longer periods, and when a period may be read."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headroom.proving.metrics import PublishedVolume, minute_number
from tests.proving.build import T0

DELAY = timedelta(minutes=2)
HOUR = timedelta(hours=1)
FIRST = minute_number(T0)


def published() -> PublishedVolume:
    return PublishedVolume(delay=DELAY, other_iops=0, other_mibps=0)


def sums(iops: float, ms: float) -> dict[str, float]:
    """A minute of reads of 16 KiB that take `ms` each."""
    ops = 60 * iops
    return {
        "VolumeReadOps": ops, "VolumeWriteOps": 0, "VolumeReadBytes": ops * 16_384,
        "VolumeWriteBytes": 0, "VolumeQueueLength": iops * ms / 1_000,
        "VolumeTotalReadTime": ops * ms / 1_000, "VolumeTotalWriteTime": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("later", "queue"), [(sums(0, 0), 30 / 12), ({}, 30)], ids=["idle", "not measured"]
)
def test_an_old_hour_has_the_queue_of_its_known_periods_and_the_latency_of_its_operations(
    later: dict[str, float], queue: float
) -> None:
    """Five minutes with a queue of 30 and 10 ms, and nothing in the rest of the hour."""
    volume = published()
    for minute in range(60):
        volume.put(FIRST + minute, sums(3_000, 10) if minute < 5 else later)
    (hours,) = volume.older_history(T0 + timedelta(days=70), T0, T0 + HOUR)
    assert hours.latency_ms.values == pytest.approx((10,))
    assert hours.queue_length.values == pytest.approx((queue,))
    assert hours.read_iops.values == pytest.approx((250,))


def test_the_latency_of_an_old_hour_is_that_of_its_busy_minutes() -> None:
    volume = published()
    for minute in range(60):
        volume.put(FIRST + minute, sums(3_000, 10) if minute < 5 else sums(30, 1))
    (hours,) = volume.older_history(T0 + timedelta(days=70), T0, T0 + HOUR)
    busy, quiet = 5 * 3_000, 55 * 30
    assert hours.latency_ms.values == pytest.approx(((busy * 10 + quiet) / (busy + quiet),))


def test_a_balance_is_readable_once_its_five_minutes_have_ended_and_the_delay_has_passed() -> None:
    volume = published()
    known = []
    for minute in range(14):
        balance = {"EBSIOBalance%": 100.0 - minute} if minute % 5 == 0 else {}
        volume.put(FIRST + minute, sums(100, 1) | balance)
        _, instance = volume.activity(T0 + timedelta(minutes=minute + 1))
        known.append(instance.io_balance_percent.known())
    assert known == [()] * 6 + [(100.0,)] * 5 + [(100.0, 95.0)] * 3
